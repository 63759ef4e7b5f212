#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "particles/box.hpp"
#include "physics/green.hpp"
#include "physics/power_spectrum.hpp"

// Power of Fourier modes of two interlaced meshes, summed in shells of wave number: the inner part of the power
// spectrum (analysis/power_spectrum.hpp). Steps: transform, power of each mode, sums of each shell over the modes of
// one plane, sum over planes in order. The bodies run on CPU and CUDA. On CPUs each rank has a slab of planes.
// What always holds: a shell is a fixed set of modes, chosen with whole numbers. Sums go over rows, then planes, in
// order. So the bits do not depend on the number of threads or ranks.
namespace pergola {

/// Sums over the masses of particles.
struct MassSums {
  double sum = 0, sum2 = 0, largest = 0;
};

/// One coordinate of particle i in a box that is folded onto `side`.
struct FoldPlace {
  const double* from;
  double* to;
  double side;
  PERGOLA_HD void operator()(std::int64_t i) const { to[i] = wrap(from[i], 0.0, side); }
};

struct MassArrays {
  double *x, *y, *z, *mass;
};

/// Modes −reach … reach along each axis, x fastest, of two interlaced meshes of `cells` per side. Writes |δ|² of each
/// mode, with the window of the mass assignment divided out.
struct ModePower {
  const double* field;     // transform of first + i second: real and imaginary parts in turn
  const double* unwindow;  // scale of mode m on one axis, m = 0 … reach
  double* power;
  int cells, reach;

  PERGOLA_HD std::int64_t place(int x, int y, int z) const {
    const int at_x = x < 0 ? x + cells : x, at_y = y < 0 ? y + cells : y, at_z = z < 0 ? z + cells : z;
    return 2 * ((std::int64_t{at_z} * cells + at_y) * cells + at_x);
  }
  PERGOLA_HD double scale(int m) const { return unwindow[m < 0 ? -m : m]; }
  PERGOLA_HD void operator()(std::int64_t i) const {
    const int width = 2 * reach + 1;
    const int x = static_cast<int>(i % width) - reach, y = static_cast<int>(i / width % width) - reach;
    const int z = static_cast<int>(i / width / width) - reach;
    power[i] = of_mode(x, y, z, field + place(x, y, z), field + place(-x, -y, -z));
  }
  /// `at` and `mirror`: the field at this mode and at its opposite.
  PERGOLA_HD double of_mode(int x, int y, int z, const double* at, const double* mirror) const {
    const double amplitude = scale(x) * scale(y) * scale(z);
    return amplitude * amplitude *
           physics::interlaced_power(at[0], at[1], mirror[0], mirror[1], static_cast<double>(x + y + z) / cells);
  }
};

/// Sums over the modes of a shell. Shell s reaches from s − ½ to s + ½ in wave numbers of the mesh.
struct Shell {
  std::int64_t modes = 0;
  double k = 0, power = 0;
};

/// What the modes of one plane add to one shell, in the order of rows and modes. `sums` has the shells 0 … most of each
/// plane.
struct PlaneShell {
  const double* power;  // ModePower
  Shell* sums;
  double side;
  int reach, most;

  /// The largest whole number whose square is at most n.
  static PERGOLA_HD int root(int n) { return static_cast<int>(std::sqrt(static_cast<double>(n))); }
  PERGOLA_HD void operator()(std::int64_t i) const {
    const int s = static_cast<int>(i % (most + 1)), z = static_cast<int>(i / (most + 1)) - reach;
    const std::int64_t width = 2 * reach + 1;
    sums[i] = sum(z, s, power + (z + reach) * width * width);
  }
  /// `plane`: the powers of the plane z.
  PERGOLA_HD Shell sum(int z, int s, const double* plane) const {
    const int width = 2 * reach + 1;
    Shell found;
    for (int y = -reach; y <= reach && s > 0; ++y) {
      const int rest = z * z + y * y, last = s * s + s - rest, first = s * s - s + 1 - rest;  // of x²
      if (last < 0) continue;
      const int near = first > 0 ? root(first - 1) + 1 : 0, far = root(last);
      const double* row = plane + std::int64_t{y + reach} * width + reach;
      const auto add = [&](int x) {
        ++found.modes;
        found.k += physics::wave_number(std::sqrt(static_cast<double>(x * x + rest)), side);
        found.power += row[x];
      };
      for (int x = -far; x <= -near; ++x) add(x);
      for (int x = near > 0 ? near : 1; x <= far; ++x) add(x);
    }
    return found;
  }
};

/// Measures the shells below half the Nyquist wave number of two interlaced meshes with `cells` per side.
class ShellMeter {
 public:
  explicit ShellMeter(int cells) : cells_(cells) {}
  virtual ~ShellMeter() = default;
  int most() const { return cells_ / 4; }
  int reach() const { return most() + 1; }
  /// The shells 0 … most() of two density fields on the device, in a box of this side. `unwindow` as in ModePower.
  /// Planes are added in order: same bits for any number of threads and ranks.
  std::vector<Shell> measure(const double* first, const double* second, const std::vector<double>& unwindow,
                             double side);

 protected:
  int cells() const { return cells_; }
  std::int64_t width() const { return 2 * std::int64_t{reach()} + 1; }
  std::int64_t sum_count() const { return width() * (most() + 1); }
  /// The sums of each plane and shell, as PlaneShell writes them.
  virtual std::vector<Shell> plane_sums(const double* first, const double* second, const std::vector<double>& unwindow,
                                        double side) = 0;

 private:
  int cells_;
};
/// Several ranks only on CPUs: each has its slab of the fields (mesh/slab_planes.hpp). measure() is then collective.
std::unique_ptr<ShellMeter> make_shell_meter(const Device& device, int cells,
                                             const std::shared_ptr<Communicator>& ranks);

// Present if cuda_built is true.
MassSums mass_sums_cuda(const Device& device, std::int64_t count, const double* mass);
std::unique_ptr<ShellMeter> make_shell_meter_cuda(const Device& device, int cells);

/// Particles on a GPU, in a box that is folded again and again. Each fold sorts them by cubes of 8³ cells, so that
/// neighbours follow each other in memory.
class FoldedMasses {
 public:
  virtual ~FoldedMasses() = default;
  /// Positions in a box of this side. Null mass: all masses are equal and stay as they are.
  virtual void fold(double side, int cells, const MassArrays& to) = 0;
};
/// Copies the particles.
std::unique_ptr<FoldedMasses> make_folded_masses_cuda(const Device& device, std::int64_t count, const MassArrays& from);

}  // namespace pergola

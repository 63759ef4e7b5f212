#pragma once
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "particles/box.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

/// Of the masses of particles.
struct MassSums {
  double sum = 0, sum2 = 0, largest = 0;
};

/// Particle i of a box that is folded onto `side`, seen by a mesh that stands `shift` lower: one coordinate.
struct FoldPlace {
  const double* from;
  double* to;
  double side, shift;
  PERGOLA_HD void operator()(std::int64_t i) const { to[i] = wrap(wrap(from[i], 0.0, side) + shift, 0.0, side); }
};

/// The modes −reach … reach along each axis, x fastest, of two interlaced meshes of `cells` per side: the power |δ|² of
/// each, with the window of the assignment divided out. One body for CPU and CUDA.
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
    const std::int64_t at = place(x, y, z), mirror = place(-x, -y, -z);
    const double amplitude = scale(x) * scale(y) * scale(z);
    power[i] = amplitude * amplitude *
               physics::interlaced_power(field[at], field[at + 1], field[mirror], field[mirror + 1],
                                         static_cast<double>(x + y + z) / cells);
  }
};

/// The powers of the modes of two density fields on the device, with `unwindow` and the numbers of ModePower.
std::vector<double> mode_powers(const Device& device, const double* first, const double* second,
                                const std::vector<double>& unwindow, int cells, int reach);

// Where cuda_built is true.
MassSums mass_sums_cuda(const Device& device, std::int64_t count, const double* mass);
void fold_places_cuda(const Device& device, std::int64_t count, const FoldPlace& body);
std::vector<double> mode_powers_cuda(const Device& device, const double* first, const double* second,
                                     const std::vector<double>& unwindow, int cells, int reach);

}  // namespace pergola

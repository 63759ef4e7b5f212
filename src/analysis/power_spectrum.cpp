#include "analysis/power_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/fft/complex_fft.hpp"
#include "physics/green.hpp"
#include "physics/mesh_weights.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

namespace {

using Complex = std::complex<double>;
constexpr int assignment_order = 3;

struct Masses {
  double sum = 0, sum2 = 0, largest = 0;
};

Masses masses_of(const Particles& p) {
  Masses masses;
  for (const double m : p.mass) masses.sum += m, masses.sum2 += m * m, masses.largest = std::max(masses.largest, m);
  return masses;
}

/// What one mesh measures of the modes below half its Nyquist wave number.
class FoldedMesh {
 public:
  FoldedMesh(const Particles& particles, const Masses& masses, double side, int cells, const Device& device)
      : particles_(particles), masses_(masses), side_(side), n_(cells), device_(device) {
    grid_.cells = {n_, n_, n_};
    grid_.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
    field_.resize(static_cast<std::size_t>(grid_.cell_count()));
    deposit(0);
    deposit(1);
    ComplexFft(n_, device.threads()).forward(field_);
  }

  /// Sums of |δ|² and k over the modes of each shell of one wave number of the mesh; shell s reaches from s − ½ to
  /// s + ½.
  struct Shell {
    std::int64_t modes = 0;
    double k = 0, power = 0;
  };
  std::vector<Shell> shells() const {
    const int most = n_ / 4, reach = most + 1;
    std::vector<std::vector<Shell>> planes(static_cast<std::size_t>(2 * reach + 1));
    parallel_for(device_.threads(), 2 * reach + 1, [&](std::int64_t plane) {
      auto& sums = planes[static_cast<std::size_t>(plane)];
      sums.resize(static_cast<std::size_t>(most) + 1);
      add_plane(static_cast<int>(plane) - reach, reach, sums);
    });
    std::vector<Shell> all(static_cast<std::size_t>(most) + 1);
    for (const auto& plane : planes)
      for (std::size_t s = 0; s < all.size(); ++s)
        all[s].modes += plane[s].modes, all[s].k += plane[s].k, all[s].power += plane[s].power;
    return all;
  }

 private:
  /// The density of mesh 0 becomes the real part of the field, that of mesh 1, half a cell away, the imaginary one.
  void deposit(int mesh) {
    const double shift = mesh * 0.5 * side_ / n_;
    const auto count = static_cast<std::int64_t>(particles_.id.size());
    Buffer<double> place[3], mass(device_, particles_.mass);
    const std::vector<double>* const from[3] = {&particles_.x, &particles_.y, &particles_.z};
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<double> moved(from[axis]->size());
      for (std::size_t i = 0; i < moved.size(); ++i)
        moved[i] = wrap(wrap((*from[axis])[i], 0.0, side_) + shift, 0.0, side_);
      place[axis] = Buffer<double>(device_, moved);
    }
    const auto exchange =
        make_mesh_exchange_cpu<double>(device_, grid_, {Assignment::tsc, Gradient::two_point, DensityRoute::automatic});
    Buffer<double> density(device_, grid_.cell_count());
    density.zero();
    Buffer<std::byte> scratch(device_, exchange->scratch_bytes());
    StageClock clock;
    const Field<double> field{density.data(), n_, n_, n_, n_, true};
    exchange->deposit({count, place[0].data(), place[1].data(), place[2].data(), mass.data()},
                      physics::mass_quantum(masses_.sum, masses_.largest), field, scratch.data(), clock);
    for (std::size_t i = 0; i < field_.size(); ++i) {
      const double value = density.data()[i];
      field_[i] = mesh == 0 ? Complex(value, 0) : Complex(field_[i].real(), value);
    }
  }

  Complex at(int x, int y, int z) const {
    const auto place = [this](int m) { return static_cast<std::size_t>(m < 0 ? m + n_ : m); };
    const auto n = static_cast<std::size_t>(n_);
    return field_[(place(z) * n + place(y)) * n + place(x)];
  }

  void add_plane(int z, int reach, std::vector<Shell>& sums) const {
    const double spacing = side_ / n_, scale = grid_.cell_volume() / masses_.sum;
    const auto window = [&](int m) {
      return physics::assignment_window(physics::wave_number(m, side_), spacing, assignment_order);
    };
    for (int y = -reach; y <= reach; ++y)
      for (int x = -reach; x <= reach; ++x) {
        const double size = std::sqrt(static_cast<double>(x * x + y * y + z * z));
        const auto shell = static_cast<std::size_t>(std::floor(size + 0.5));
        if (shell < 1 || shell >= sums.size()) continue;
        const Complex mode = physics::interlaced_mode(at(x, y, z), at(-x, -y, -z), static_cast<double>(x + y + z) / n_);
        const double amplitude = scale / (window(x) * window(y) * window(z));
        ++sums[shell].modes;
        sums[shell].k += physics::wave_number(size, side_);
        sums[shell].power += std::norm(mode) * amplitude * amplitude;
      }
  }

  const Particles& particles_;
  Masses masses_;
  double side_;
  int n_;
  Device device_;
  Grid grid_;
  std::vector<Complex> field_;
};

}  // namespace

int usual_power_cells(std::int64_t particles) {
  const double wanted = 2 * std::cbrt(static_cast<double>(particles));
  int cells = 32;
  while (cells < 256 && cells < wanted) cells *= 2;
  return cells;
}

PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds, const Device& device) {
  const Masses masses = masses_of(particles);
  const double volume = box.volume();
  PowerSpectrum spectrum;
  spectrum.shot_noise = physics::shot_noise(volume, masses.sum, masses.sum2);
  for (int fold = 0; fold <= folds; ++fold) {
    const double side = std::ldexp(box.side.x, -fold);
    const auto shells = FoldedMesh(particles, masses, side, cells, device).shells();
    for (std::size_t s = fold == 0 ? 1 : static_cast<std::size_t>(cells) / 8 + 1; s < shells.size(); ++s) {
      const auto modes = static_cast<double>(shells[s].modes);
      PowerBin bin;
      bin.k = shells[s].k / modes;
      bin.modes = shells[s].modes;
      bin.power_total = volume * shells[s].power / modes;
      bin.power = bin.power_total - spectrum.shot_noise;
      bin.error = physics::power_error(bin.power_total, modes);
      bin.fold = fold;
      spectrum.bins.push_back(bin);
    }
  }
  return spectrum;
}

}  // namespace pergola

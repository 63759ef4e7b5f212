#include "analysis/power_spectrum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "analysis/mode_powers.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "mesh/coupling/exchange.hpp"
#include "physics/green.hpp"
#include "physics/mesh_weights.hpp"

namespace pergola {

namespace {

constexpr int assignment_order = 3;
constexpr std::int64_t chunk = 65536;

/// Over fixed chunks: the same bits on any number of threads.
MassSums mass_sums(const Device& device, std::int64_t count, const double* mass) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return mass_sums_cuda(device, count, mass);
  }
  std::vector<MassSums> parts(static_cast<std::size_t>((count + chunk - 1) / chunk));
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    MassSums& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (std::int64_t i = begin; i < end; ++i)
      part.sum += mass[i], part.sum2 += mass[i] * mass[i], part.largest = std::max(part.largest, mass[i]);
  });
  MassSums masses;
  for (const MassSums& part : parts)
    masses.sum += part.sum, masses.sum2 += part.sum2, masses.largest = std::max(masses.largest, part.largest);
  return masses;
}

/// Particles where their mass is put onto meshes. On the CPU places and masses of the host are read where they are.
class PlacedMasses {
 public:
  PlacedMasses(const Particles& particles, const Device& device) : device_(device), count_(particles.size()) {
    const std::array<const std::vector<double>*, 4> host{&particles.x, &particles.y, &particles.z, &particles.mass};
    for (std::size_t k = 0; k < host.size(); ++k) {
      if (device.is_cuda()) copies_[k] = Buffer<double>(device, *host[k]);
      given_[k] = device.is_cuda() ? copies_[k].data() : host[k]->data();
    }
    begin();
  }
  explicit PlacedMasses(const ShownParticles& shown) : device_(shown.device()), count_(shown.count()) {
    ShownPlaces<double> places(shown);
    copies_ = {std::move(places.x), std::move(places.y), std::move(places.z), std::move(places.mass)};
    for (std::size_t k = 0; k < copies_.size(); ++k) given_[k] = copies_[k].data();
    begin();
  }

  const Device& device() const { return device_; }
  const MassSums& masses() const { return masses_; }
  /// As seen by a mesh that stands `shift` lower, in a box that is folded onto `side`; good until the next call.
  MeshParticles<double> folded(double side, double shift) {
    for (std::size_t axis = 0; axis < moved_.size(); ++axis) move({given_[axis], moved_[axis].data(), side, shift});
    return {count_, moved_[0].data(), moved_[1].data(), moved_[2].data(), given_[3]};
  }

 private:
  void begin() {
    masses_ = mass_sums(device_, count_, given_[3]);
    for (auto& place : moved_) place = Buffer<double>(device_, count_);
  }
  void move(const FoldPlace& body) const {
    if constexpr (cuda_built) {
      if (device_.is_cuda()) return fold_places_cuda(device_, count_, body);
    }
    parallel_chunks(device_.threads(), count_, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }

  Device device_;
  std::int64_t count_;
  MassSums masses_;
  std::array<Buffer<double>, 4> copies_;  // places and masses
  std::array<const double*, 4> given_{};
  std::array<Buffer<double>, 3> moved_;
};

/// Sums of |δ|² and k over the modes of each shell of one wave number of the mesh; shell s reaches from s − ½ to s + ½.
struct Shell {
  std::int64_t modes = 0;
  double k = 0, power = 0;
};

/// Plane by plane, and the planes in their order: the same bits on any number of threads.
std::vector<Shell> sum_shells(const std::vector<double>& powers, int most, int reach, double side, int threads) {
  const int width = 2 * reach + 1;
  std::vector<std::vector<Shell>> planes(static_cast<std::size_t>(width));
  parallel_for(threads, width, [&](std::int64_t plane) {
    auto& sums = planes[static_cast<std::size_t>(plane)];
    sums.resize(static_cast<std::size_t>(most) + 1);
    const double* power = powers.data() + plane * width * width;
    const int z = static_cast<int>(plane) - reach;
    for (int y = -reach; y <= reach; ++y)
      for (int x = -reach; x <= reach; ++x, ++power) {
        const double size = std::sqrt(static_cast<double>(x * x + y * y + z * z));
        const auto shell = static_cast<std::size_t>(std::floor(size + 0.5));
        if (shell < 1 || shell >= sums.size()) continue;
        ++sums[shell].modes;
        sums[shell].k += physics::wave_number(size, side);
        sums[shell].power += *power;
      }
  });
  std::vector<Shell> all(static_cast<std::size_t>(most) + 1);
  for (const auto& plane : planes)
    for (std::size_t s = 0; s < all.size(); ++s)
      all[s].modes += plane[s].modes, all[s].k += plane[s].k, all[s].power += plane[s].power;
  return all;
}

/// What one mesh over a folded box measures of the modes below half its Nyquist wave number.
std::vector<Shell> shells_of(PlacedMasses& particles, double side, int cells) {
  const Device& device = particles.device();
  Grid grid;
  grid.cells = {cells, cells, cells};
  grid.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
  const auto exchange =
      make_mesh_exchange<double>(device, grid, {Assignment::tsc, Gradient::two_point, DensityRoute::automatic});
  Buffer<std::byte> scratch(device, exchange->sum_bytes());
  std::array<Buffer<double>, 2> density;
  StageClock clock;
  const MassSums& masses = particles.masses();
  for (std::size_t mesh = 0; mesh < density.size(); ++mesh) {
    density[mesh] = Buffer<double>(device, grid.cell_count());
    density[mesh].zero();
    const Field<double> field{density[mesh].data(), cells, cells, cells, cells, true};
    exchange->deposit(particles.folded(side, static_cast<double>(mesh) * 0.5 * side / cells),
                      physics::mass_quantum(masses.sum, masses.largest), field, scratch.data(), clock);
  }
  const int most = cells / 4, reach = most + 1;
  // |δ|² has the square of the product of three of these.
  const double scale = std::cbrt(grid.cell_volume() / masses.sum);
  std::vector<double> unwindow(static_cast<std::size_t>(reach) + 1);
  for (int m = 0; m <= reach; ++m)
    unwindow[static_cast<std::size_t>(m)] =
        scale / physics::assignment_window(physics::wave_number(m, side), side / cells, assignment_order);
  return sum_shells(mode_powers(device, density[0].data(), density[1].data(), unwindow, cells, reach), most, reach,
                    side, device.threads());
}

PowerSpectrum spectrum_of(PlacedMasses particles, const Box& box, int cells, int folds) {
  const MassSums& masses = particles.masses();
  const double volume = box.volume();
  PowerSpectrum spectrum;
  spectrum.shot_noise = physics::shot_noise(volume, masses.sum, masses.sum2);
  for (int fold = 0; fold <= folds; ++fold) {
    const auto shells = shells_of(particles, std::ldexp(box.side.x, -fold), cells);
    for (std::size_t s = fold == 0 ? 1 : static_cast<std::size_t>(cells) / 8 + 1; s < shells.size(); ++s) {
      const auto modes = static_cast<double>(shells[s].modes);
      PowerBin bin;
      bin.k = shells[s].k / modes;
      bin.modes = shells[s].modes;
      bin.power = volume * shells[s].power / modes;
      bin.error = physics::power_error(bin.power, modes);
      bin.fold = fold;
      spectrum.bins.push_back(bin);
    }
  }
  return spectrum;
}

}  // namespace

int usual_power_cells(std::int64_t particles) {
  const double wanted = 2 * std::cbrt(static_cast<double>(particles));
  int cells = 32;
  while (cells < 256 && cells < wanted) cells *= 2;
  return cells;
}

PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds, const Device& device) {
  return spectrum_of(PlacedMasses(particles, device), box, cells, folds);
}

PowerSpectrum power_spectrum(const ShownParticles& particles, const Box& box, int cells, int folds) {
  return spectrum_of(PlacedMasses(particles), box, cells, folds);
}

}  // namespace pergola

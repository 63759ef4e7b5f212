#include "analysis/power_spectrum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "analysis/mode_powers.hpp"
#include "base/exact_sum.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/slab_planes.hpp"
#include "physics/green.hpp"
#include "physics/mesh_weights.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

namespace {

constexpr int assignment_order = 3;
constexpr std::int64_t chunk = 65536;

/// Of all ranks. Without rounding: the same on any number of threads and ranks.
MassSums mass_sums(const Device& device, std::int64_t count, const double* mass, Communicator& ranks) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return mass_sums_cuda(device, count, mass);
  }
  struct Part {
    ExactSum sum, sum2;
    double largest = 0;
    void add(const Part& other) {
      sum.add(other.sum), sum2.add(other.sum2), largest = std::max(largest, other.largest);
    }
  };
  std::vector<Part> parts(static_cast<std::size_t>((count + chunk - 1) / chunk));
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    Part& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (std::int64_t i = begin; i < end; ++i)
      part.sum.add(mass[i]), part.sum2.add(mass[i] * mass[i]), part.largest = std::max(part.largest, mass[i]);
  });
  std::vector<Part> of_ranks(static_cast<std::size_t>(ranks.size()));
  for (const Part& part : parts) of_ranks[static_cast<std::size_t>(ranks.rank())].add(part);
  ranks.all_gather_in_place(of_ranks.data(), std::vector<std::size_t>(of_ranks.size(), sizeof(Part)));
  Part all;
  for (const Part& part : of_ranks) all.add(part);
  return {all.sum.value(), all.sum2.value(), all.largest};
}

using Ranks = std::shared_ptr<Communicator>;

/// Particles where their mass is put onto meshes, of each rank its own.
class PlacedMasses {
 public:
  PlacedMasses(const Particles& particles, const Device& device, Ranks ranks)
      : device_(device), ranks_(std::move(ranks)), count_(particles.size()) {
    const std::array<const std::vector<double>*, 4> host{&particles.x, &particles.y, &particles.z, &particles.mass};
    for (std::size_t k = 0; k < host.size(); ++k) {
      if (device.is_cuda()) values_[k] = Buffer<double>(device, *host[k]);
      given_[k] = device.is_cuda() ? values_[k].data() : host[k]->data();  // on the CPU where they are
    }
    begin();
  }
  PlacedMasses(const ShownParticles& shown, Ranks ranks)
      : device_(shown.device()), ranks_(std::move(ranks)), count_(shown.count()) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      values_[k] = Buffer<double>(device_, count_);
      given_[k] = values_[k].data();
    }
    const MassArrays all = arrays();
    ShownArrays<double> to;
    to.x = all.x, to.y = all.y, to.z = all.z, to.mass = all.mass;
    shown.show(0, count_, to);
    begin();
  }

  const Device& device() const { return device_; }
  const Ranks& ranks() const { return ranks_; }
  const MassSums& masses() const { return masses_; }
  /// Of masses on a mesh. Equal ones have numbers that a GPU adds up in 32 bits.
  double quantum() const {
    const double least = physics::mass_quantum(masses_.sum, masses_.largest);
    return are_equal() ? std::max(least, physics::equal_mass_quantum(masses_.largest)) : least;
  }
  /// In a box that is folded onto `side`, for meshes of so many cells per side; good until the next call. On a GPU in
  /// an order in which neighbours follow each other: what is put onto a mesh does not depend on it.
  MeshParticles<double> folded(double side, int cells) {
    if (packed_) {
      MassArrays to = arrays();
      if (are_equal()) to.mass = nullptr;
      packed_->fold(side, cells, to);
      return {count_, to.x, to.y, to.z, values_[3].data()};
    }
    for (std::size_t axis = 0; axis < moved_.size(); ++axis) {
      if (moved_[axis].size() == 0) moved_[axis] = Buffer<double>(device_, count_);
      const FoldPlace body{given_[axis], moved_[axis].data(), side};
      parallel_chunks(device_.threads(), count_, chunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) body(i);
      });
    }
    return {count_, moved_[0].data(), moved_[1].data(), moved_[2].data(), given_[3]};
  }

 private:
  MassArrays arrays() { return {values_[0].data(), values_[1].data(), values_[2].data(), values_[3].data()}; }
  void begin() {
    masses_ = mass_sums(device_, count_, given_[3], *ranks_);
    ranks_->all_reduce(&total_, 1, Reduction::sum);
    if constexpr (cuda_built) {
      if (device_.is_cuda()) packed_ = make_folded_masses_cuda(device_, count_, arrays());
    }
  }
  bool are_equal() const {
    const double all = static_cast<double>(total_) * masses_.largest;
    return std::abs(masses_.sum - all) <= 1e-9 * all;
  }

  Device device_;
  Ranks ranks_;
  std::int64_t count_, total_ = count_;  // of this rank, of all
  MassSums masses_;
  std::array<Buffer<double>, 4> values_;  // places and masses; on a GPU as they are given, then folded
  std::array<const double*, 4> given_{};
  std::unique_ptr<FoldedMasses> packed_;  // on a GPU
  std::array<Buffer<double>, 3> moved_;   // on the CPU
};

/// Two meshes of so many cells per side, the second half a cell lower along every axis.
class InterlacedMeshes {
 public:
  InterlacedMeshes(const Device& device, int cells, const Ranks& ranks)
      : device_(device),
        ranks_(ranks),
        cells_(cells),
        planes_(SlabPlanes(*ranks, cells).count()),
        meter_(make_shell_meter(device, cells, ranks)) {
    for (auto& density : density_) density = Buffer<double>(device, std::int64_t{cells} * cells * planes_);
  }

  /// What they measure of a box that is folded onto `side`: the shells below half the Nyquist wave number.
  std::vector<Shell> measure(PlacedMasses& particles, double side) {
    const MeshParticles<double> folded = particles.folded(side, cells_);
    for (std::size_t mesh = 0; mesh < density_.size(); ++mesh)
      deposit(folded, particles.quantum(), side, -0.5 * static_cast<double>(mesh) * side / cells_, density_[mesh]);
    if (ranks_->size() > 1) scratch_ = Buffer<std::byte>();  // the transform of slabs has messages in its place
    // |δ|² has the square of the product of three of these.
    const double cell = side / cells_, scale = std::cbrt(cell * cell * cell / particles.masses().sum);
    std::vector<double> unwindow(static_cast<std::size_t>(meter_->reach()) + 1);
    for (std::size_t m = 0; m < unwindow.size(); ++m)
      unwindow[m] = scale / physics::assignment_window(physics::wave_number(static_cast<double>(m), side), cell,
                                                       assignment_order);
    return meter_->measure(density_[0].data(), density_[1].data(), unwindow, side);
  }

 private:
  void deposit(const MeshParticles<double>& particles, double quantum, double side, double corner,
               Buffer<double>& density) {
    Grid grid;
    grid.cells = {cells_, cells_, cells_};
    grid.box = {{corner, corner, corner}, {side, side, side}, Boundary::periodic};
    const bool slabs = ranks_->size() > 1;
    const auto exchange = make_mesh_exchange<double>(
        device_, grid,
        {Assignment::tsc, Gradient::two_point, DensityRoute::automatic, slabs ? ranks_ : nullptr, slabs});
    if (scratch_.size() == 0) scratch_ = Buffer<std::byte>(device_, exchange->sum_bytes());
    density.zero();
    StageClock clock;
    exchange->deposit(particles, quantum, {density.data(), cells_, cells_, planes_, cells_, true}, scratch_.data(),
                      clock);
  }

  Device device_;
  Ranks ranks_;
  int cells_, planes_;  // planes of this rank
  std::unique_ptr<ShellMeter> meter_;
  std::array<Buffer<double>, 2> density_;
  Buffer<std::byte> scratch_;
};

PowerSpectrum spectrum_of(PlacedMasses particles, const Box& box, int cells, int folds) {
  const MassSums& masses = particles.masses();
  const double volume = box.volume();
  InterlacedMeshes meshes(particles.device(), cells, particles.ranks());
  PowerSpectrum spectrum;
  spectrum.shot_noise = physics::shot_noise(volume, masses.sum, masses.sum2);
  for (int fold = 0; fold <= folds; ++fold) {
    const auto shells = meshes.measure(particles, std::ldexp(box.side.x, -fold));
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

PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds, const Device& device,
                             const std::shared_ptr<Communicator>& ranks) {
  const bool by_cpus = device.is_cuda() && ranks->size() > 1;
  const Device used = by_cpus ? Device::open("cpu", device.threads()) : device;
  return spectrum_of(PlacedMasses(particles, used, ranks), box, cells, folds);
}

PowerSpectrum power_spectrum(const ShownParticles& particles, const Box& box, int cells, int folds,
                             const std::shared_ptr<Communicator>& ranks) {
  if (particles.device().is_cuda() && ranks->size() > 1)
    return power_spectrum(fetch(particles), box, cells, folds, particles.device(), ranks);
  return spectrum_of(PlacedMasses(particles, ranks), box, cells, folds);
}

}  // namespace pergola

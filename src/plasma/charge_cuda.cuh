#pragma once
/// CUDA only: the charge of all particles on the grid, its density, and sums over particles.
///
/// A push counts charge where the particles are (push_cuda.cuh); deposit_particles does so after a load.
/// ChargeAroundCuda exchanges the layers around a slab, and charge_to_density makes a density of the counts and checks
/// that none is missing. All sums are in fixed-point units, so the order of the particles does not matter. Units:
/// 2^charge_bits units of charge per particle; densities as in PlasmaOptions; lengths in cells.
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "plasma/tiles.hpp"
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

inline constexpr int sums_threads = 256;

/// What a species adds to the density.
struct SpeciesCharge {
  double per_unit;         // density per unit of charge
  std::int64_t particles;  // 2^charge_bits units each
  unsigned long long sum;  // units on the grid; on one device zero between the kernels
};

/// Calls body(slot, tile, place) for the particles of a group.
template <int dimensions, class Real, class Body>
__device__ __forceinline__ void each_particle(const Groups<Real>& all, int group, const Body& body) {
  int home[3];
  all.box.find(all.tile_of(group), home);
  const std::int64_t begin = all.begin[group], end = begin + all.count[group];
  for (std::int64_t slot = begin + threadIdx.x; slot < end; slot += blockDim.x) {
    Place<Real> place[dimensions];
#pragma unroll
    for (int a = 0; a < dimensions; ++a) place[a] = all.slots.place[a][slot];
    int tile[3] = {home[0], home[1], home[2]};
    if (place[0] < 0) {
      place[0] = mark_away(place[0]);
      all.box.find(static_cast<int>(all.away[slot]), tile);
    }
    body(slot, tile, place);
  }
}

/// Counts the charge of a species; `whole`: deposit_on_grid. A block per tile.
template <int dimensions, int points, bool whole, class Real>
__global__ void __launch_bounds__(sums_threads)
    deposit_particles(const __grid_constant__ Groups<Real> all, int first_group, SlabSums sums) {
  each_particle<dimensions>(all, first_group + static_cast<int>(blockIdx.x),
                            [&](std::int64_t, const int(&tile)[3], const Place<Real>* place) {
                              deposit_on_grid<dimensions, points, Real, whole>(all.box, sums, tile, place);
                            });
}

/// Turns the counted currents of all species into three fields, in a rank's own layers, and clears them. One value of
/// `own` cells for each of three components.
template <class Real>
struct CurrentOfCounts {
  int row, species;  // cells of a row
  std::int64_t own;
  unsigned long long* sums;  // from the first own layer on: [species][component][cell]
  std::int64_t next;         // from a component to the next
  const SpeciesCharge* charges;
  Field<Real> current[3];

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t component = i / own, k = i % own, at = k / row * current[0].pitch + k % row;
    double sum = 0;
    for (int s = 0; s < species; ++s) {
      unsigned long long& count = sums[(3 * s + component) * next + k];
      sum += static_cast<double>(static_cast<long long>(count)) * charges[s].per_unit;
      count = 0;
    }
    current[component].data[at] = static_cast<Real>(sum);
  }
};

/// What charge_to_density reads and writes. `sums` are cleared; the last block of the grid checks the totals.
template <class Real>
struct DensityTask {
  int cells[3] = {1, 1, 1};
  int species = 1, charge_bits = 20;
  unsigned long long* sums = nullptr;  // of all species
  std::int64_t next_species = 0;       // in a slab: from one species to the next
  SpeciesCharge* charges = nullptr;
  const double* background = nullptr;
  Field<Real> density;
  StreamStatus* status = nullptr;
};

inline constexpr int cells_of_thread = 4;

/// Turns the charge of all species into a density, clears the counts and checks that all charge was there. In a slab,
/// `cells` are those of its own layers, SpeciesCharge::sum grows, and the sum over all ranks is checked later.
template <bool slab, class Real>
__global__ void __launch_bounds__(sums_threads) charge_to_density(const __grid_constant__ DensityTask<Real> task) {
  __shared__ unsigned long long of_block;
  __shared__ bool last;
  const std::int64_t cells = std::int64_t{task.cells[0]} * task.cells[1] * task.cells[2];
  const std::int64_t first = std::int64_t{blockIdx.x} * (sums_threads * cells_of_thread) + threadIdx.x;
  double density[cells_of_thread];
#pragma unroll
  for (int c = 0; c < cells_of_thread; ++c) density[c] = *task.background;
  for (int s = 0; s < task.species; ++s) {
    unsigned long long* const sums = task.sums + s * (slab ? task.next_species : cells);
    const double factor = task.charges[s].per_unit;
    unsigned long long total = 0;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
#pragma unroll
    for (int c = 0; c < cells_of_thread; ++c) {
      const std::int64_t k = first + c * sums_threads;
      if (k >= cells) continue;
      const unsigned long long sum = sums[k];
      sums[k] = 0;
      total += sum;
      density[c] += static_cast<double>(static_cast<long long>(sum)) * factor;
    }
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(0xffffffffu, total, offset);
    if (threadIdx.x % 32 == 0 && total != 0) atomicAdd(&of_block, total);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&task.charges[s].sum, of_block);
  }
#pragma unroll
  for (int c = 0; c < cells_of_thread; ++c) {
    const std::int64_t k = first + c * sums_threads, row = k / task.cells[0];
    if (k < cells)
      task.density.data[row * task.density.pitch + (k - row * task.cells[0])] = static_cast<Real>(density[c]);
  }
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&task.status->blocks_done, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  task.status->blocks_done = 0;
  for (int s = 0; s < task.species && !slab; ++s) {
    const auto expected = static_cast<unsigned long long>(task.charges[s].particles) << task.charge_bits;
    if (atomicExch(&task.charges[s].sum, 0ull) != expected) task.status->wrong_charge = static_cast<unsigned>(s) + 1;
  }
}

/// What measure_particles reads, and the sums that it adds to.
template <class Real>
struct MeasureTask {
  Groups<Real> all;
  int first_group = 0;
  GridField<Real> field;
  physics::BorisFactors<Real> factors;
  double energy_scale = 0, momentum_scale = 0;  // whole numbers per v² and per v
  unsigned long long* sums = nullptr;           // the components of v² and of v
  unsigned long long* fastest = nullptr;        // the bits of the largest |v|² as a double
};

/// Measures velocities a kick ahead of the stored ones. `scaled`: their sums; else the largest. A block per tile.
template <int dimensions, int velocities, int points, class Pusher, bool scaled, class Real>
__global__ void __launch_bounds__(sums_threads) measure_particles(const __grid_constant__ MeasureTask<Real> task) {
  const auto& all = task.all;
  long long sum[6] = {};
  double fastest = 0;
  each_particle<dimensions>(
      all, task.first_group + static_cast<int>(blockIdx.x),
      [&](std::int64_t slot, const int(&tile)[3], const Place<Real>* place) {
        const auto fields =
            gather_from_grid<dimensions, points, true, Pusher::relativistic>(all.box, task.field, tile, place);
        Vec3<Real> v{all.slots.velocity[0][slot], all.slots.velocity[1][slot], Real(0)};
        if constexpr (velocities == 3) v.z = all.slots.velocity[2][slot];
        v = Pusher::template push<dimensions, velocities>(v, fields, task.factors);
        const Vec3<double> exact{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
        const double square = dot(exact, exact);
        if constexpr (scaled) {
          const double of[] = {exact.x, exact.y, exact.z};
          const double part = Pusher::energy_factor(square, static_cast<double>(task.factors.per_light_squared));
#pragma unroll
          for (int a = 0; a < 3; ++a) {
            sum[a] += __double2ll_rn(of[a] * of[a] * part * task.energy_scale);
            sum[3 + a] += __double2ll_rn(of[a] * task.momentum_scale);
          }
        } else if (square > fastest) {
          fastest = square;
        }
      });
  if constexpr (scaled) {
#pragma unroll
    for (int k = 0; k < 6; ++k) {
      for (int offset = 16; offset > 0; offset /= 2) sum[k] += __shfl_down_sync(0xffffffffu, sum[k], offset);
      if (threadIdx.x % 32 == 0 && sum[k] != 0) atomicAdd(&task.sums[k], static_cast<unsigned long long>(sum[k]));
    }
  } else {
    for (int offset = 16; offset > 0; offset /= 2)
      fastest = fmax(fastest, __shfl_down_sync(0xffffffffu, fastest, offset));
    if (threadIdx.x % 32 == 0) atomicMax(task.fastest, static_cast<unsigned long long>(__double_as_longlong(fastest)));
  }
}

/// Packs the counts in the layers around a rank's own, below and then above, as [layer][species][cell], and clears
/// them.
struct PackAround {
  unsigned long long* sums;  // [species][layer][cell], with the layers around
  std::int64_t layer;        // cells of a layer
  int species, below, own, layers;
  unsigned long long* message;
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<int>(k / layer), around = row / species, s = row % species;
    const int at = around < below ? around : around + own;
    unsigned long long* const from = sums + (std::int64_t{s} * layers + at) * layer + k % layer;
    message[k] = *from;
    *from = 0;
  }
};

/// Adds the counts of other ranks in layers of this rank.
struct AddArrived {
  unsigned long long* sums;
  std::int64_t layer;
  int species, below, layers;
  const unsigned long long* message;  // [layer][species][cell]
  const int* into;                    // own layer of each received one
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<int>(k / layer);
    const std::int64_t at = std::int64_t{row % species} * layers + below + into[row / species];
    if (message[k] != 0) atomicAdd(sums + at * layer + k % layer, message[k]);
  }
};

/// As plasma::ChargeAround on CPUs. The few layers travel through the host.
class ChargeAroundCuda {
 public:
  ChargeAroundCuda(const Device& device, const plasma::TileSlab& slab, int species,
                   const std::shared_ptr<Communicator>& ranks)
      : device_(device),
        ranks_(ranks),
        slab_(slab),
        species_(species),
        layer_(slab.rows_in_layer() * slab.cells[0]),
        around_(*ranks, slab.planes(*ranks), slab.below, slab.above),
        into_(device, around_.arriving()),
        given_(device, slab.count > 0 ? (slab.below + slab.above) * row() : 0),
        arrived_(device, std::ssize(around_.arriving()) * row()),
        host_(static_cast<std::size_t>(given_.size())) {}

  /// Sends the counts beyond the rank's layers and adds the received ones. Collective; waits.
  void give(unsigned long long* sums) {
    launch("charge around a slab", given_.size(), device_.stream(),
           PackAround{sums, layer_, species_, slab_.below, slab_.count, slab_.window.count, given_.data()});
    given_.to_host(host_.data());
    const std::byte* const arrived = around_.give(*ranks_, reinterpret_cast<const std::byte*>(host_.data()),
                                                  static_cast<std::size_t>(row()) * sizeof(unsigned long long));
    arrived_.from_host(reinterpret_cast<const unsigned long long*>(arrived));
    launch("charge from around", arrived_.size(), device_.stream(),
           AddArrived{sums, layer_, species_, slab_.below, slab_.window.count, arrived_.data(), into_.data()});
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(into_.bytes() + given_.bytes() + arrived_.bytes()); }

 private:
  std::int64_t row() const { return species_ * layer_; }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  plasma::TileSlab slab_;
  int species_;
  std::int64_t layer_;
  PlanesAround around_;
  Buffer<int> into_;
  Buffer<unsigned long long> given_, arrived_;
  std::vector<unsigned long long> host_;
};

}  // namespace pergola::cuda

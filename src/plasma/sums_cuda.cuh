#pragma once
// CUDA only: charge from particles where they are, charge as a density, and sums over particles. Whole numbers are
// added up, so that the order of the particles does not matter.
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

inline constexpr int sums_threads = 256;

/// The particles of a group with their tile; body(slot, tile, place).
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

/// The charge of a species. A block per tile.
template <int dimensions, int points, class Real>
__global__ void __launch_bounds__(sums_threads)
    deposit_particles(const __grid_constant__ Groups<Real> all, int first_group, SlabSums sums) {
  each_particle<dimensions>(all, first_group + static_cast<int>(blockIdx.x),
                            [&](std::int64_t, const int(&tile)[3], const Place<Real>* place) {
                              deposit_on_grid<dimensions, points, Real>(all.box, sums, tile, place);
                            });
}

/// What a species adds to the density.
struct SpeciesCharge {
  double per_unit;         // density per unit of charge
  std::int64_t particles;  // units are 2^charge_bits each
  unsigned long long sum;  // of the units on the grid; where all are here zero between the kernels
};

template <class Real>
struct DensityTask {
  int cells[3] = {1, 1, 1};
  int species = 1, charge_bits = 20;
  unsigned long long* sums = nullptr;  // of all species
  std::int64_t next_species = 0;       // of a slab: from one to the next
  SpeciesCharge* charges = nullptr;
  const double* background = nullptr;
  Field<Real> density;
  StreamStatus* status = nullptr;
};

inline constexpr int cells_of_thread = 4;

/// Turns the charge of all species into a density, clears it and checks that all of it was there. `cells` of a slab are
/// those of its own layers; SpeciesCharge::sum goes on then, and that of all ranks is checked later.
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

template <class Real>
struct MeasureTask {
  Groups<Real> all;
  int first_group = 0;
  GridField<Real> field;
  physics::BorisFactors<Real> factors;
  double energy_scale = 0, momentum_scale = 0;  // whole numbers per v² and per v
  unsigned long long* sums = nullptr;           // v² and the components of v
  unsigned long long* fastest = nullptr;        // the bits of the largest |v|² as a double
};

/// Velocities ahead of those stored. `scaled`: their sums; else the largest. A block per tile.
template <int dimensions, int velocities, int points, bool magnetised, bool scaled, class Real>
__global__ void __launch_bounds__(sums_threads) measure_particles(const __grid_constant__ MeasureTask<Real> task) {
  const auto& all = task.all;
  long long sum[4] = {0, 0, 0, 0};
  double fastest = 0;
  each_particle<dimensions>(
      all, task.first_group + static_cast<int>(blockIdx.x),
      [&](std::int64_t slot, const int(&tile)[3], const Place<Real>* place) {
        const Vec3<Real> electric = gather_from_grid<dimensions, points, true>(all.box, task.field, tile, place);
        Vec3<Real> v{all.slots.velocity[0][slot], all.slots.velocity[1][slot], Real(0)};
        if constexpr (velocities == 3) v.z = all.slots.velocity[2][slot];
        v = physics::boris_push<dimensions, velocities, magnetised>(v, electric, task.factors);
        const Vec3<double> exact{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
        const double square = dot(exact, exact);
        if constexpr (scaled) {
          sum[0] += __double2ll_rn(square * task.energy_scale);
          sum[1] += __double2ll_rn(exact.x * task.momentum_scale);
          sum[2] += __double2ll_rn(exact.y * task.momentum_scale);
          sum[3] += __double2ll_rn(exact.z * task.momentum_scale);
        } else if (square > fastest) {
          fastest = square;
        }
      });
  if constexpr (scaled) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      for (int offset = 16; offset > 0; offset /= 2) sum[k] += __shfl_down_sync(0xffffffffu, sum[k], offset);
      if (threadIdx.x % 32 == 0 && sum[k] != 0) atomicAdd(&task.sums[k], static_cast<unsigned long long>(sum[k]));
    }
  } else {
    for (int offset = 16; offset > 0; offset /= 2)
      fastest = fmax(fastest, __shfl_down_sync(0xffffffffu, fastest, offset));
    if (threadIdx.x % 32 == 0) atomicMax(task.fastest, static_cast<unsigned long long>(__double_as_longlong(fastest)));
  }
}

}  // namespace pergola::cuda

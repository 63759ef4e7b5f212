#pragma once
// CUDA only. From the sums of the cells to a density, and what is known of them all on the way.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

inline constexpr int density_threads = 256;
inline constexpr int most_density_blocks = 2048;

/// Adds one number of every thread over the block, in a fixed order; thread 0 gets the sum.
template <class Number>
__device__ Number sum_over_block(Number mine) {
  __shared__ Number of_warp[density_threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffffu, mine, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < density_threads / 32; ++w) mine += of_warp[w];
  __syncthreads();
  return mine;
}

template <class Real>
struct DensityTask {
  int cells[3];
  double factor = 0;  // quantum / volume of a cell
  const std::int64_t* sums = nullptr;
  Field<Real> density;
  bool paired = false;  // two values at a time are aligned
  DepositCounts* counts = nullptr;
  int first_row = 0, end_row = 0;  // of the density
};

/// Two neighbouring sums of a row; zero where there is no cell.
struct SumPair {
  std::int64_t first = 0, second = 0;

  template <class Real>
  __device__ SumPair(const DensityTask<Real>& task, const std::int64_t* row, int ix) {
    if (task.paired && ix + 1 < task.cells[0]) {
      const longlong2 both = *reinterpret_cast<const longlong2*>(row + ix);
      first = both.x, second = both.y;
    } else {
      if (ix < task.cells[0]) first = row[ix];
      if (ix + 1 < task.cells[0]) second = row[ix + 1];
    }
  }
};

template <class Real>
__device__ __forceinline__ void store_pair(const DensityTask<Real>& task, Real* row, int ix, Real first, Real second) {
  struct alignas(2 * sizeof(Real)) Both {
    Real first, second;
  };
  if (task.paired) {
    *reinterpret_cast<Both*>(row + ix) = {first, second};
  } else {
    row[ix] = first;
    if (ix + 1 < task.density.pitch) row[ix + 1] = second;
  }
}

/// A warp turns whole rows into densities, a lane two values at a time. Padding is set to zero.
template <class Real>
__global__ void __launch_bounds__(density_threads) sums_to_density(const __grid_constant__ DensityTask<Real> task) {
  const int lane = static_cast<int>(threadIdx.x % 32), pitch = static_cast<int>(task.density.pitch);
  const int warps = static_cast<int>(gridDim.x) * (density_threads / 32);
  std::int64_t quanta = 0;
  for (int row = task.first_row + static_cast<int>(blockIdx.x * (density_threads / 32) + threadIdx.x / 32);
       row < task.end_row; row += warps) {
    const int iz = row / task.density.ny, iy = row - iz * task.density.ny;
    Real* const to = task.density.data + row * task.density.pitch;
    if (iy >= task.cells[1] || iz >= task.cells[2]) {
      for (int ix = 2 * lane; ix < pitch; ix += 64) store_pair(task, to, ix, Real(0), Real(0));
      continue;
    }
    const std::int64_t* const from = task.sums + (std::int64_t{iz} * task.cells[1] + iy) * task.cells[0];
#pragma unroll 4
    for (int ix = 2 * lane; ix < pitch; ix += 64) {
      const SumPair sum(task, from, ix);
      store_pair(task, to, ix, physics::density<Real>(sum.first, task.factor),
                 physics::density<Real>(sum.second, task.factor));
      quanta += sum.first + sum.second;
    }
  }
  quanta = sum_over_block(quanta);
  if (threadIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&task.counts->quanta), static_cast<unsigned long long>(quanta));
}

/// Quanta of a layer, and their first moments along x and y in cells.
struct LayerMoments {
  std::int64_t quanta;
  double x, y;
};

/// A block finds those of a layer, in an order that depends on nothing but its cells.
static __global__ void __launch_bounds__(density_threads)
    find_layer_moments(const std::int64_t* sums, int nx, int ny, LayerMoments* moments) {
  const std::int64_t* const layer = sums + std::int64_t{blockIdx.x} * nx * ny;
  std::int64_t quanta = 0;
  double x = 0, y = 0;
  for (int cell = static_cast<int>(threadIdx.x); cell < nx * ny; cell += density_threads) {
    const std::int64_t sum = layer[cell];
    const int iy = cell / nx;
    quanta += sum;
    x += static_cast<double>(sum) * (cell - iy * nx), y += static_cast<double>(sum) * iy;
  }
  quanta = sum_over_block(quanta), x = sum_over_block(x), y = sum_over_block(y);
  if (threadIdx.x == 0) moments[blockIdx.x] = {quanta, x, y};
}

/// The moments of all layers into mass and centre of mass. One block.
static __global__ void __launch_bounds__(density_threads)
    sum_moments(const LayerMoments* moments, int layers, double quantum, Vec3<double> corner, Vec3<double> spacing,
                Monopole* monopole) {
  std::int64_t sum = 0;
  Vec3<double> m{0, 0, 0};
  for (int k = static_cast<int>(threadIdx.x); k < layers; k += density_threads) {
    sum += moments[k].quanta;
    m = m + Vec3<double>{moments[k].x, moments[k].y, static_cast<double>(moments[k].quanta) * k};
  }
  sum = sum_over_block(sum);
  m = {sum_over_block(m.x), sum_over_block(m.y), sum_over_block(m.z)};
  if (threadIdx.x != 0) return;
  const auto quanta = static_cast<double>(sum);
  const double per_quantum = quanta == 0 ? 0 : 1 / quanta;
  *monopole = {quanta * quantum, corner.x + (m.x * per_quantum + 0.5) * spacing.x,
               corner.y + (m.y * per_quantum + 0.5) * spacing.y, corner.z + (m.z * per_quantum + 0.5) * spacing.z};
}

}  // namespace pergola::cuda

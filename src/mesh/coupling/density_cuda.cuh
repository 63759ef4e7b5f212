#pragma once
// CUDA only. From the fixed-point sums of the cells to a density, the monopole of the mesh, and the sums of planes that
// go to other ranks. Sums over cells are whole numbers or are added in a fixed order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "mesh/coupling/deposit_cuda.cuh"
#include "mesh/slab_planes.hpp"

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

/// Rows of the fixed-point sums that become densities; `density` may have padding along x.
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

/// Writes two neighbouring values at once where their place is aligned.
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

/// Sums that have come for a plane.
template <class Sum>
struct AddSums {
  const Sum* from;
  std::int64_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] += from[i]; }
};

/// Sums in half the bytes; and whether there is one that has no room there.
struct ShortenSums {
  const std::int64_t* from;
  std::int32_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] = static_cast<std::int32_t>(from[i]); }
};
struct FindLargeSums {
  const std::int64_t* from;
  int* too_large;
  __device__ void operator()(std::int64_t i) const {
    if (static_cast<std::int32_t>(from[i]) != from[i]) *too_large = 1;
  }
};

/// Gives sums to the ranks that have their planes, in four bytes where those of all ranks have room there.
class SumsForOthers {
 public:
  /// `at_once`: planes of a rank at most.
  SumsForOthers(const Device& device, std::shared_ptr<Communicator> ranks, DevicePlanes& planes,
                std::int64_t plane_cells, int at_once)
      : device_(device),
        ranks_(std::move(ranks)),
        planes_(planes),
        plane_cells_(plane_cells),
        short_sums_(device, at_once * plane_cells),
        too_large_(device, 1) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(short_sums_.bytes()); }

  /// Of the sums in `added` those of the planes first … end − 1 are about to be given. All ranks together, as give().
  void look(const std::int64_t* added, int first, int end) {
    too_large_.zero();
    const std::int64_t count = std::max(0, end - first) * plane_cells_;
    launch("large sums", count, device_.stream(), FindLargeSums{added + first * plane_cells_, too_large_.data()});
    shortened_ = count <= short_sums_.size();
    if (shortened_) shorten(added, first, end);  // before the host waits
    std::int64_t large = too_large_.to_host()[0];
    ranks_->all_reduce(&large, 1, Reduction::maximum);
    long_ = large != 0;
  }
  /// Some of these; what comes is added to `sums`, of the rank's slab.
  void give(const PlanesAround& around, const std::int64_t* added, int first, int end, std::int64_t* sums) {
    if (long_) return give_as(around, added, sums);
    if (!shortened_) shorten(added, first, end);
    give_as(around, short_sums_.data() - first * plane_cells_, sums);
  }

 private:
  void shorten(const std::int64_t* added, int first, int end) {
    launch("short sums", std::max(0, end - first) * plane_cells_, device_.stream(),
           ShortenSums{added + first * plane_cells_, short_sums_.data()});
  }
  /// `from`: where the first plane that the rank works on would stand.
  template <class Sum>
  void give_as(const PlanesAround& around, const Sum* from, std::int64_t* sums) {
    const auto* const arrived = reinterpret_cast<const Sum*>(planes_.give(
        around, reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(plane_cells_) * sizeof(Sum)));
    for (std::int64_t k = 0; k < std::ssize(around.arriving()); ++k)
      launch("sums of other ranks", plane_cells_, device_.stream(),
             AddSums<Sum>{arrived + k * plane_cells_,
                          sums + around.arriving()[static_cast<std::size_t>(k)] * plane_cells_});
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  DevicePlanes& planes_;
  std::int64_t plane_cells_;
  Buffer<std::int32_t> short_sums_;
  Buffer<int> too_large_;
  bool long_ = false;       // they are given in eight bytes
  bool shortened_ = false;  // all at once
};

}  // namespace pergola::cuda

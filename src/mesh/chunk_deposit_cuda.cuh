#pragma once
// CUDA only. The route "sorted": particles that follow each other in memory are near each other, so that a block adds
// up its chunk of them in a box of cells in shared memory before it writes.
#include "mesh/deposit_cuda.cuh"

namespace pergola::cuda {

/// Threads of a block, particles of a thread, cells of the box in shared memory.
template <int threads_, int each_, int capacity_>
struct ChunkShape {
  static constexpr int threads = threads_, each = each_, capacity = capacity_, chunk = threads * each;
};

/// Where the particles of a chunk are: the first cells of their clouds, counted from a cell among them.
struct ChunkBounds {
  int lowest[3], highest[3], total[3];
  int inside;
  unsigned largest;  // quanta of a particle, at most 2³² − 1

  __device__ void clear() {
    for (int a = 0; a < 3; ++a) lowest[a] = INT_MAX, highest[a] = INT_MIN, total[a] = 0;
    inside = 0, largest = 0;
  }
};

/// The cells that a block adds up by itself; `origin` is counted like the bounds.
struct ChunkBox {
  int origin[3] = {0, 0, 0}, extent[3] = {1, 1, 1};

  /// All clouds, if they fit; else the surroundings of their middle.
  template <int dimensions, int order, int capacity>
  __device__ ChunkBox(const ChunkBounds& bounds, std::integral_constant<int, dimensions>,
                      std::integral_constant<int, order>, std::integral_constant<int, capacity>) {
    constexpr int most[2][3] = {{capacity / 48, 48, 1}, {capacity / 144, 12, 12}};
    float cells = 1;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      origin[a] = bounds.lowest[a];
      extent[a] = bounds.highest[a] - bounds.lowest[a] + order;
      cells *= static_cast<float>(extent[a]);
    }
    if (cells <= static_cast<float>(capacity)) return;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const int limit = most[dimensions - 2][a];
      if (extent[a] <= limit) continue;
      extent[a] = limit;
      origin[a] = bounds.total[a] / bounds.inside - limit / 2;
    }
  }
};

/// The sums of a block's box. 64 bits in two halves, because shared memory adds 32 bits at a time: what the lower half
/// carries goes to the upper one. `narrow`: the lower half alone, where the whole chunk has less than 2³¹ quanta.
template <int capacity>
struct ChunkSums {
  unsigned low[capacity];
  int high[capacity];

  template <bool narrow, class Int>
  __device__ __forceinline__ void add(int at, Int share) {
    const auto low_part = static_cast<unsigned>(share);
    if constexpr (narrow) {
      atomicAdd(&low[at], low_part);
    } else {
      const unsigned before = atomicAdd(&low[at], low_part);
      const int carry = before + low_part < low_part, upper = static_cast<int>(std::int64_t{share} >> 32);
      if (upper + carry != 0) atomicAdd(&high[at], upper + carry);
    }
  }
  __device__ __forceinline__ std::int64_t value(int at, bool narrow) const {
    if (narrow) return static_cast<int>(low[at]);
    return static_cast<std::int64_t>((static_cast<unsigned long long>(static_cast<unsigned>(high[at])) << 32) |
                                     low[at]);
  }
};

/// `each` values from place `first` of the order on; zero beyond the last particle.
template <int each, class Real>
__device__ __forceinline__ void load_run(const DepositTask<Real>& task, const Real* from, std::int64_t first,
                                         Real (&to)[each]) {
  constexpr int per_load = 16 / sizeof(Real);
  if (task.aligned && !task.order && each % per_load == 0 && first + each <= task.particles.count) {
#pragma unroll
    for (int k = 0; k < each; k += per_load) {
      const uint4 loaded = *reinterpret_cast<const uint4*>(from + first + k);
      memcpy(&to[k], &loaded, sizeof(loaded));
    }
  } else {
#pragma unroll
    for (int k = 0; k < each; ++k)
      to[k] = first + k < task.particles.count ? from[task.order ? task.order[first + k] : first + k] : Real(0);
  }
}

/// Cells from `reference` to `cell`, in a periodic box the shorter way round.
template <class Real>
__device__ __forceinline__ int cells_from(const CellFrame<Real>& frame, int axis, int cell, int reference) {
  const int n = frame.cells[axis], distance = cell - reference;
  if (!frame.periodic) return distance;
  return 2 * distance > n ? distance - n : 2 * distance < -n ? distance + n : distance;
}

/// Adds a cloud whose first cell is `at` in a box with rows of `row` and layers of `layer` cells. Every lane begins
/// with another cell of its cloud, so that lanes with the same cloud do not meet. The shares are those of share_out().
template <int dimensions, int order, bool narrow, class Int, class Real, class Sums>
__device__ __forceinline__ void add_to_chunk(Sums& sums, const Cloud<dimensions, order, Real>& cloud, Int quanta,
                                             int at, int row, int layer) {
  constexpr int layers = dimensions == 3 ? order : 1;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int turn[3] = {lane % order, lane / order % order, lane / (order * order) % order};
  const int stride[3] = {1, row, layer};
  Real weight[3][order];
  int offset[3][order];
  bool last[3][order];
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
#pragma unroll
    for (int k = 0; k < order; ++k) {
      weight[a][k] = cloud.axis[a].weight[k];
      offset[a][k] = k * stride[a];
      last[a][k] = turn[a] == order - 1 - k;
#pragma unroll
      for (int t = 1; t < order; ++t) {
        const int turned = (k + t) % order;
        if (turn[a] == t) weight[a][k] = cloud.axis[a].weight[turned], offset[a][k] = turned * stride[a];
      }
    }
  Int share[cloud_cells<dimensions, order>];
  Int rest = quanta;
#pragma unroll
  for (int kz = 0; kz < layers; ++kz)
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? weight[1][ky] * weight[2][kz] : weight[1][ky];
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        Int part;
        if constexpr (narrow)
          part = physics::short_quanta_share(quanta, weight[0][kx] * yz);
        else
          part = physics::quanta_share(quanta, weight[0][kx] * yz);
        share[(kz * order + ky) * order + kx] = part;
        rest -= part;
      }
    }
#pragma unroll
  for (int kz = 0; kz < layers; ++kz)
#pragma unroll
    for (int ky = 0; ky < order; ++ky)
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        Int part = share[(kz * order + ky) * order + kx];
        if (last[0][kx] && last[1][ky] && (dimensions == 2 || last[2][kz])) part += rest;
        sums.template add<narrow>(at + offset[0][kx] + offset[1][ky] + (dimensions == 3 ? offset[2][kz] : 0), part);
      }
}

/// The particles of one thread.
template <int dimensions, int each, class Real>
struct ThreadRun {
  Real place[each][3];
  std::int64_t quanta[each];
  unsigned inside = 0;  // one bit per particle

  /// Reads them; returns how many are left out.
  __device__ __forceinline__ int load(const DepositTask<Real>& task, std::int64_t first) {
    const auto& p = task.particles;
    Real x[each], y[each], z[each], mass[each];
    load_run(task, p.x, first, x);
    load_run(task, p.y, first, y);
    if constexpr (dimensions == 3) load_run(task, p.z, first, z);
    load_run(task, p.mass, first, mass);
    int outside = 0;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const Real position[3] = {x[k], y[k], dimensions == 3 ? z[k] : Real(0)};
      const bool taken = find_place<dimensions>(task.frame, position, place[k]);
      const bool exists = first + k < p.count;
      inside |= static_cast<unsigned>(taken && exists) << k;
      outside += exists && !taken;
      quanta[k] = physics::quanta(mass[k], task.per_quantum);
    }
    return outside;
  }
};

/// Reduces what one thread knows of the bounds over the warp and adds it to those of the block. All lanes must call.
template <int dimensions>
__device__ __forceinline__ void join_bounds(ChunkBounds& block, const ChunkBounds& mine) {
  constexpr unsigned all = 0xffffffffu;
  const bool first = threadIdx.x % 32 == 0;
  const int inside = __reduce_add_sync(all, mine.inside);
  const unsigned largest = __reduce_max_sync(all, mine.largest);
  if (first && inside > 0) atomicAdd(&block.inside, inside), atomicMax(&block.largest, largest);
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    const int lowest = __reduce_min_sync(all, mine.lowest[a]), highest = __reduce_max_sync(all, mine.highest[a]);
    const int total = __reduce_add_sync(all, mine.total[a]);
    if (!first || inside == 0) continue;
    atomicMin(&block.lowest[a], lowest);
    atomicMax(&block.highest[a], highest);
    atomicAdd(&block.total[a], total);
  }
}

/// a / b for a, b < 2¹⁶ with inverse = short_inverse(b).
__device__ __forceinline__ unsigned short_inverse(int b) {
  return b == 1 ? 0 : 0xffffffffu / static_cast<unsigned>(b) + 1;
}
__device__ __forceinline__ int short_divide(int a, unsigned inverse) {
  return inverse == 0 ? a : static_cast<int>(__umulhi(static_cast<unsigned>(a), inverse));
}

template <int dimensions, int order, class Shape, class Real>
class ChunkDeposit {
 public:
  struct Shared {
    ChunkSums<Shape::capacity> sums;
    ChunkBounds bounds;
  };

  __device__ ChunkDeposit(const DepositTask<Real>& task, Shared& shared) : task_(task), shared_(shared) {}

  __device__ void run(std::int64_t chunk) {
    const std::int64_t begin = chunk * Shape::chunk;
    if (threadIdx.x == 0) shared_.bounds.clear();
    find_reference(begin);
    const int outside = run_.load(task_, begin + std::int64_t{threadIdx.x} * Shape::each);
    count_in_warp(&task_.counts->outside, outside);
    __syncthreads();
    join_bounds<dimensions>(shared_.bounds, bounds_of_run());
    __syncthreads();
    if (shared_.bounds.inside == 0) return;
    const ChunkBox box(shared_.bounds, std::integral_constant<int, dimensions>{}, std::integral_constant<int, order>{},
                       std::integral_constant<int, Shape::capacity>{});
    const int cells = box.extent[0] * box.extent[1] * box.extent[2];
    const bool narrow = shared_.bounds.largest <= 0x7fffffffu / Shape::chunk;
    for (int at = static_cast<int>(threadIdx.x); at < cells; at += Shape::threads) {
      shared_.sums.low[at] = 0;
      if (!narrow) shared_.sums.high[at] = 0;
    }
    __syncthreads();
    const int strays = narrow                                  ? add<true, int>(box)
                       : shared_.bounds.largest <= 0x7fffffffu ? add<false, int>(box)
                                                               : add<false, std::int64_t>(box);
    count_in_warp(&task_.counts->strays, strays);
    __syncthreads();
    write(box, cells, narrow);
  }

 private:
  /// In a periodic box the cell of the particle in the middle of the chunk.
  __device__ void find_reference(std::int64_t begin) {
    const auto& p = task_.particles;
    if (!task_.frame.periodic) return;
    std::int64_t middle = begin + Shape::chunk / 2 < p.count ? begin + Shape::chunk / 2 : p.count - 1;
    if (task_.order) middle = task_.order[middle];
    const Real position[3] = {p.x[middle], p.y[middle], dimensions == 3 ? p.z[middle] : Real(0)};
    Real place[3];
    find_place<dimensions>(task_.frame, position, place);
#pragma unroll
    for (int a = 0; a < dimensions; ++a) reference_[a] = static_cast<int>(place[a]);
  }

  __device__ ChunkBounds bounds_of_run() const {
    ChunkBounds bounds;
    bounds.clear();
#pragma unroll
    for (int k = 0; k < Shape::each; ++k) {
      if (!(run_.inside >> k & 1)) continue;
      const Cloud<dimensions, order, Real> cloud(run_.place[k]);
#pragma unroll
      for (int a = 0; a < dimensions; ++a) {
        const int cell = cells_from(task_.frame, a, cloud.axis[a].first, reference_[a]);
        bounds.lowest[a] = min(bounds.lowest[a], cell);
        bounds.highest[a] = max(bounds.highest[a], cell);
        bounds.total[a] += cell;
      }
      const auto size = static_cast<unsigned long long>(llabs(run_.quanta[k]));
      bounds.largest = max(bounds.largest, static_cast<unsigned>(min(size, 0xffffffffull)));
      bounds.inside += 1;
    }
    return bounds;
  }

  /// Adds the thread's particles to the box; returns how many were not in it and went to global memory.
  template <bool narrow, class Int>
  __device__ int add(const ChunkBox& box) {
    int strays = 0;
#pragma unroll
    for (int k = 0; k < Shape::each; ++k) {
      if (!(run_.inside >> k & 1)) continue;
      const Cloud<dimensions, order, Real> cloud(run_.place[k]);
      int local[3] = {0, 0, 0};
      bool within = true;
#pragma unroll
      for (int a = 0; a < dimensions; ++a) {
        local[a] = cells_from(task_.frame, a, cloud.axis[a].first, reference_[a]) - box.origin[a];
        within = within && local[a] >= 0 && local[a] + order <= box.extent[a];
      }
      if (within) {
        const int layer = box.extent[0] * box.extent[1];
        add_to_chunk<dimensions, order, narrow>(shared_.sums, cloud, static_cast<Int>(run_.quanta[k]),
                                                local[2] * layer + local[1] * box.extent[0] + local[0], box.extent[0],
                                                layer);
      } else {
        add_to_sums(task_, cloud, run_.quanta[k]);
        ++strays;
      }
    }
    return strays;
  }

  __device__ void write(const ChunkBox& box, int cells, bool narrow) const {
    const unsigned per_row = short_inverse(box.extent[0]), per_column = short_inverse(box.extent[1]);
    int origin[3] = {0, 0, 0};
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const int n = task_.frame.cells[a];
      origin[a] = ((box.origin[a] + reference_[a]) % n + n) % n;
    }
    for (int at = static_cast<int>(threadIdx.x); at < cells; at += Shape::threads) {
      const std::int64_t sum = shared_.sums.value(at, narrow);
      if (sum == 0) continue;
      const int row = short_divide(at, per_row), layer = dimensions == 3 ? short_divide(row, per_column) : 0;
      int cell[3] = {origin[0] + at - row * box.extent[0], origin[1] + row - layer * box.extent[1], origin[2] + layer};
#pragma unroll
      for (int a = 0; a < dimensions; ++a)
        while (cell[a] >= task_.frame.cells[a]) cell[a] -= task_.frame.cells[a];
      atomicAdd(&task_.sums[sum_index(task_.frame, cell[0], cell[1], cell[2])], static_cast<unsigned long long>(sum));
    }
  }

  const DepositTask<Real>& task_;
  Shared& shared_;
  ThreadRun<dimensions, Shape::each, Real> run_;
  int reference_[3] = {0, 0, 0};
};

template <int dimensions, int order, class Shape, class Real>
__global__ void __launch_bounds__(Shape::threads) deposit_by_chunks(const __grid_constant__ DepositTask<Real> task) {
  using Deposit = ChunkDeposit<dimensions, order, Shape, Real>;
  __shared__ typename Deposit::Shared shared;
  Deposit(task, shared).run(blockIdx.x);
}

}  // namespace pergola::cuda

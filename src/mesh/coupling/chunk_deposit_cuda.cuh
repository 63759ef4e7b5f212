#pragma once
// CUDA only. The route "sorted": particles that follow each other in memory are near each other, so that a block adds
// up its chunk of them in a box of cells in shared memory before it writes. Particles out of the box go straight to
// global memory: any order gives the same sums, a good one is fast.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// Threads of a block, particles of a thread, cells of the box and blocks that a multiprocessor should hold.
template <int threads_, int each_, int capacity_, int resident_>
struct ChunkShape {
  static constexpr int threads = threads_, each = each_, capacity = capacity_, resident = resident_;
  static constexpr int chunk = threads * each;
  static constexpr int most_rows = 512;
};

/// The cells that a block adds up by itself. `origin` is a cell of the grid; the box may reach over its end, where a
/// periodic one begins again.
struct ChunkBox {
  int origin[3], extent[3];
};

/// The sums of a block's box. 64 bits in two halves, because shared memory adds 32 bits at a time: what the lower half
/// carries goes to the upper one. `small`: the lower half alone, of twice as many cells, where the whole chunk has less
/// than 2³¹ quanta.
template <int capacity>
struct alignas(16) ChunkSums {
  unsigned words[2 * capacity];

  static constexpr __device__ int cells(bool small) { return small ? 2 * capacity : capacity; }
  template <bool small, class Int>
  __device__ __forceinline__ void add(int at, Int share) {
    const auto low_part = static_cast<unsigned>(share);
    if constexpr (small) {
      atomicAdd(&words[at], low_part);
    } else {
      const unsigned before = atomicAdd(&words[at], low_part);
      const int carry = before + low_part < low_part, upper = static_cast<int>(std::int64_t{share} >> 32);
      if (upper + carry != 0) atomicAdd(&words[capacity + at], static_cast<unsigned>(upper + carry));
    }
  }
  __device__ __forceinline__ std::int64_t value(int at, bool small) const {
    if (small) return static_cast<int>(words[at]);
    return static_cast<std::int64_t>((static_cast<unsigned long long>(words[capacity + at]) << 32) | words[at]);
  }
};

/// Cells from `reference` to `cell`, in a periodic box the shorter way round.
template <class Real>
__device__ __forceinline__ int cells_from(const CellFrame<Real>& frame, int axis, int cell, int reference) {
  const int n = frame.cells[axis], distance = cell - reference;
  if (!frame.periodic) return distance;
  return 2 * distance > n ? distance - n : 2 * distance < -n ? distance + n : distance;
}

/// The first cells of the clouds of 64 particles, two per lane, spread evenly over a chunk of `count`.
template <int dimensions, int order, class Real>
struct ChunkSample {
  int cell[2][3];
  bool inside[2];

  __device__ __forceinline__ ChunkSample(const DepositTask<Real>& task, std::int64_t begin, int count) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto& p = task.particles;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      std::int64_t i = begin + (2 * lane + s) * count / 64;
      if (task.order) i = task.order[i];
      const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
      Real place[3];
      inside[s] = find_place<dimensions>(task.frame, position, place);
      const Cloud<dimensions, order, Real> cloud(task.frame, place);
#pragma unroll
      for (int a = 0; a < dimensions; ++a) cell[s][a] = cloud.axis[a].first;
    }
  }
};

/// The box of at most `capacity` cells for a chunk: the clouds of the sample and a cell around them if that fits;
/// without that cell; else the surroundings of their middle. The lanes of one warp work together; the result is lane
/// 0's.
template <int dimensions, int order, class Shape, class Real>
__device__ __forceinline__ ChunkBox find_box(const DepositTask<Real>& task, std::int64_t begin, int count,
                                             int capacity) {
  constexpr unsigned all = 0xffffffffu;
  const int most[2][3] = {{capacity / 48, 48, 1}, {capacity / 144, 12, 12}};
  const ChunkSample<dimensions, order, Real> sample(task, begin, count);
  const unsigned known = __ballot_sync(all, sample.inside[0]);
  const int inside = __reduce_add_sync(all, sample.inside[0] + sample.inside[1]);
  ChunkBox box{{0, 0, 0}, {1, 1, 1}};
  int reference[3] = {0, 0, 0}, middle[3] = {0, 0, 0};
  float cells = 1, cells_around = 1;
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    if (task.frame.periodic) reference[a] = __shfl_sync(all, sample.cell[0][a], known ? __ffs(known) - 1 : 0);
    int lowest = INT_MAX, highest = INT_MIN, total = 0;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      if (!sample.inside[s]) continue;
      const int cell = cells_from(task.frame, a, sample.cell[s][a], reference[a]);
      lowest = min(lowest, cell), highest = max(highest, cell), total += cell;
    }
    lowest = __reduce_min_sync(all, lowest), highest = __reduce_max_sync(all, highest);
    middle[a] = __reduce_add_sync(all, total) / max(inside, 1);
    box.origin[a] = inside > 0 ? lowest : 0;
    box.extent[a] = inside > 0 ? highest - lowest + order : order;
    cells *= static_cast<float>(box.extent[a]);
    cells_around *= static_cast<float>(box.extent[a] + 2);
  }
  const bool roomy =
      cells_around <= static_cast<float>(capacity) && (box.extent[1] + 2) * (box.extent[2] + 2) <= Shape::most_rows;
  const bool fits = cells <= static_cast<float>(capacity) && box.extent[1] * box.extent[2] <= Shape::most_rows;
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    const int limit = most[dimensions - 2][a], n = task.frame.cells[a];
    if (roomy)
      box.origin[a] -= 1, box.extent[a] += 2;
    else if (!fits && box.extent[a] > limit)
      box.origin[a] = middle[a] - limit / 2, box.extent[a] = limit;
    box.origin[a] = ((box.origin[a] + reference[a]) % n + n) % n;
  }
  return box;
}

/// Where in a box the cells of a cloud are, counted from its first. Every lane begins with another cell of its cloud,
/// so that lanes with the same cloud do not meet.
template <int dimensions, int order>
struct CloudOffsets {
  int offset[3][order];
  int turn[3];
  int last;

  __device__ __forceinline__ CloudOffsets(int row, int layer) {
    const int lane = static_cast<int>(threadIdx.x % 32), stride[3] = {1, row, layer};
    last = 0;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      turn[a] = lane / (a == 0 ? 1 : a == 1 ? order : order * order) % order;
      last += (order - 1) * stride[a];
#pragma unroll
      for (int k = 0; k < order; ++k) offset[a][k] = (k + turn[a]) % order * stride[a];
    }
  }
  template <class Real>
  __device__ __forceinline__ Real weight(const physics::AxisWeights<order, Real>& axis, int a, int k) const {
    Real weight = axis.weight[k];
#pragma unroll
    for (int t = 1; t < order; ++t)
      if (turn[a] == t) weight = axis.weight[(k + t) % order];
    return weight;
  }
};

/// Adds a cloud whose first cell is `at` to the sums of the box. The shares are those of share_out(); what the last
/// cell gets beyond its rounded share is added at the end.
template <int dimensions, int order, bool small, class Int, class Real, class Sums>
__device__ __forceinline__ void add_to_box(Sums& sums, const CloudOffsets<dimensions, order>& offsets,
                                           const Cloud<dimensions, order, Real>& cloud, Int quanta, int at) {
  constexpr int layers = dimensions == 3 ? order : 1;
  Real x[order], y[order];
#pragma unroll
  for (int k = 0; k < order; ++k) {
    x[k] = offsets.weight(cloud.axis[0], 0, k);
    y[k] = offsets.weight(cloud.axis[1], 1, k);
  }
  Int rest = quanta;
#pragma unroll
  for (int kz = 0; kz < layers; ++kz) {
    const Real z = dimensions == 3 ? offsets.weight(cloud.axis[2], 2, kz) : Real(1);
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? y[ky] * z : y[ky];
      const int row = at + offsets.offset[1][ky] + (dimensions == 3 ? offsets.offset[2][kz] : 0);
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        Int share;
        if constexpr (small)
          share = physics::short_quanta_share(quanta, x[kx] * yz);
        else
          share = physics::quanta_share(quanta, x[kx] * yz);
        rest -= share;
        sums.template add<small>(row + offsets.offset[0][kx], share);
      }
    }
  }
  if (rest != 0) sums.template add<small>(at + offsets.last, rest);
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
    ChunkBox box;
    std::int64_t row_begin[Shape::most_rows];  // the sum of a row's first cell, were the row not to wrap
    std::uint16_t stray[Shape::chunk];
    int strays;
  };

  __device__ __forceinline__ ChunkDeposit(const DepositTask<Real>& task, Shared& shared)
      : task_(task), shared_(shared), begin_(std::int64_t{blockIdx.x} * Shape::chunk) {
    const std::int64_t left = task.particles.count - begin_;
    count_ = left < Shape::chunk ? static_cast<int>(left) : Shape::chunk;
  }

  __device__ __forceinline__ void run() {
    const bool small = load();
    const int row = shared_.box.extent[0], layer = row * shared_.box.extent[1];
    add(CloudOffsets<dimensions, order>(row, layer), row, layer, small);
    find_rows();
    __syncthreads();
    write_strays();
    write(row, layer * shared_.box.extent[2], small);
  }

 private:
  __device__ std::int64_t particle(int k) const { return task_.order ? task_.order[begin_ + k] : begin_ + k; }

  /// Reads the particles, clears the sums and finds the box; true when the lower half of the sums is enough.
  __device__ __forceinline__ bool load() {
    const auto& p = task_.particles;
    bool large = false;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= count_) break;
      const std::int64_t i = particle(k);
      position_[e][0] = p.x[i], position_[e][1] = p.y[i];
      if constexpr (dimensions == 3) position_[e][2] = p.z[i];
      mass_[e] = p.mass[i];
    }
    constexpr int words = sizeof(shared_.sums) / sizeof(uint4);
    for (int k = static_cast<int>(threadIdx.x); k < words; k += Shape::threads)
      reinterpret_cast<uint4*>(&shared_.sums)[k] = uint4{0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < Shape::each; ++e)
      if (e * Shape::threads + static_cast<int>(threadIdx.x) < count_)
        large = large || !(fabs(mass_[e]) <= task_.small_mass);
    const bool small = !__syncthreads_or(large);
    if (threadIdx.x < 32) {
      const ChunkBox box =
          find_box<dimensions, order, Shape>(task_, begin_, count_, ChunkSums<Shape::capacity>::cells(small));
      if (threadIdx.x == 0) shared_.box = box, shared_.strays = 0;
    }
    __syncthreads();
    return small;
  }

  __device__ __forceinline__ void add(const CloudOffsets<dimensions, order>& offsets, int row, int layer, bool small) {
    int outside = 0;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= count_) break;
      Real place[3];
      if (!find_place<dimensions>(task_.frame, position_[e], place)) {
        ++outside;
        continue;
      }
      const Cloud<dimensions, order, Real> cloud(task_.frame, place);
      int local[3] = {0, 0, 0};
      bool within = true;
#pragma unroll
      for (int a = 0; a < dimensions; ++a) {
        local[a] = task_.frame.wrapped(a, cloud.axis[a].first) - shared_.box.origin[a];
        if (local[a] < 0) local[a] += task_.frame.cells[a];
        within = within && local[a] + order <= shared_.box.extent[a];
      }
      const int at = local[2] * layer + local[1] * row + local[0];
      const std::int64_t quanta = physics::quanta(mass_[e], task_.per_quantum);
      if (!within)
        shared_.stray[atomicAdd(&shared_.strays, 1)] = static_cast<std::uint16_t>(k);
      else if (small)
        add_to_box<dimensions, order, true>(shared_.sums, offsets, cloud, static_cast<int>(quanta), at);
      else if (quanta == static_cast<int>(quanta))
        add_to_box<dimensions, order, false>(shared_.sums, offsets, cloud, static_cast<int>(quanta), at);
      else
        add_to_box<dimensions, order, false>(shared_.sums, offsets, cloud, quanta, at);
    }
    if (!task_.frame.periodic) count_in_warp(&task_.counts->outside, outside);
  }

  __device__ int wrapped(int axis, int cell) const {
    while (cell >= task_.frame.cells[axis]) cell -= task_.frame.cells[axis];
    return cell;
  }

  __device__ __forceinline__ void find_rows() {
    const ChunkBox& box = shared_.box;
    const int rows = box.extent[1] * box.extent[2];
    for (int r = static_cast<int>(threadIdx.x); r < rows; r += Shape::threads) {
      const int layer = r / box.extent[1];
      shared_.row_begin[r] = sum_index(task_.frame, 0, wrapped(1, box.origin[1] + r - layer * box.extent[1]),
                                       dimensions == 3 ? wrapped(2, box.origin[2] + layer) : 0);
    }
  }

  __device__ __forceinline__ void write_strays() const {
    const int strays = shared_.strays;
    for (int s = static_cast<int>(threadIdx.x); s < strays; s += Shape::threads)
      add_particle<dimensions, order>(task_, particle(shared_.stray[s]));
    if (threadIdx.x == 0 && strays > 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&task_.counts->strays), static_cast<unsigned long long>(strays));
  }

  __device__ __forceinline__ void write(int row, int cells, bool small) const {
    const unsigned per_row = short_inverse(row);
    const int first = shared_.box.origin[0];
    for (int at = static_cast<int>(threadIdx.x); at < cells; at += Shape::threads) {
      const std::int64_t sum = shared_.sums.value(at, small);
      if (sum == 0) continue;
      const int r = short_divide(at, per_row), ix = wrapped(0, first + at - r * row);
      atomicAdd(&task_.sums[shared_.row_begin[r] + ix], static_cast<unsigned long long>(sum));
    }
  }

  const DepositTask<Real>& task_;
  Shared& shared_;
  std::int64_t begin_;
  int count_;
  Real position_[Shape::each][3], mass_[Shape::each];
};

template <int dimensions, int order, class Shape, class Real>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    deposit_by_chunks(const __grid_constant__ DepositTask<Real> task) {
  using Deposit = ChunkDeposit<dimensions, order, Shape, Real>;
  __shared__ typename Deposit::Shared shared;
  Deposit(task, shared).run();
}

}  // namespace pergola::cuda

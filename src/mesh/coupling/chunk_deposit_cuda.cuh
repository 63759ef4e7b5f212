#pragma once
// CUDA only. The route "sorted": particles that follow each other in memory are near each other, so that a block adds
// up its chunk of them in a box of cells in shared memory before it writes. Particles out of the box go straight to
// global memory: any order gives the same sums, a good one is fast.
#include "mesh/coupling/chunk_box_cuda.cuh"

namespace pergola::cuda {

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

template <int dimensions, int order, class Shape, class Real>
class ChunkDeposit {
 public:
  struct Shared {
    ChunkSums<Shape::capacity> sums;
    ChunkBox box;
    std::int64_t row_begin[most_box_rows];  // the sum of a row's first cell, were the row not to wrap
    std::uint16_t stray[Shape::chunk];
    int strays;
  };

  __device__ __forceinline__ ChunkDeposit(const DepositTask<Real>& task, Shared& shared)
      : task_(task), shared_(shared), chunk_(task.starts, Shape::chunk, task.particles.count) {}

  __device__ __forceinline__ void run() {
    const bool small = load();
    const ChunkBox& box = shared_.box;
    add(CloudOffsets<dimensions, order>(box.row(), box.layer()), small);
    each_box_row<dimensions, Shape::threads>(
        task_.frame, box, [&](int r, int y, int z) { shared_.row_begin[r] = sum_index(task_.frame, 0, y, z); });
    __syncthreads();
    write_strays();
    write(box.row(), box.cells(), small);
  }

 private:
  __device__ std::int64_t particle(int k) const { return chunk_.particle(task_.particles, k); }

  /// Reads the particles, clears the sums and finds the box; true when the lower half of the sums is enough.
  __device__ __forceinline__ bool load() {
    const auto& p = task_.particles;
    bool large = false;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= chunk_.count) break;
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
      if (e * Shape::threads + static_cast<int>(threadIdx.x) < chunk_.count)
        large = large || !(fabs(mass_[e]) <= task_.small_mass);
    const bool small = !__syncthreads_or(large);
    if (threadIdx.x < 32) {
      const ChunkBox box =
          find_box<dimensions, order>(task_.frame, p, chunk_, ChunkSums<Shape::capacity>::cells(small));
      if (threadIdx.x == 0) shared_.box = box, shared_.strays = 0;
    }
    __syncthreads();
    return small;
  }

  __device__ __forceinline__ void add(const CloudOffsets<dimensions, order>& offsets, bool small) {
    int outside = 0;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= chunk_.count) break;
      Real place[3];
      if (!find_place<dimensions>(task_.frame, position_[e], place)) {
        ++outside;
        continue;
      }
      const Cloud<dimensions, order, Real> cloud(task_.frame, place);
      const int at = shared_.box.place_of(task_.frame, cloud);
      const std::int64_t quanta = physics::quanta(mass_[e], task_.per_quantum);
      if (at < 0)
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
      const int r = short_divide(at, per_row), ix = wrapped_forward(task_.frame, 0, first + at - r * row);
      atomicAdd(&task_.sums[shared_.row_begin[r] + ix], static_cast<unsigned long long>(sum));
    }
  }

  const DepositTask<Real>& task_;
  Shared& shared_;
  Chunk chunk_;
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

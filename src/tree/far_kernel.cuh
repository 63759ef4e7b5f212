#pragma once
// CUDA only: expansions of far cells, for one number type.
#include <cuda_pipeline.h>

#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "physics/pair.hpp"
#include "physics/split.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

inline constexpr unsigned far_warps = 2;
/// Blocks that a multiprocessor holds at least: more warps are worth a few registers kept in memory.
template <class T, int order>
inline constexpr int far_blocks = sizeof(T) == 8 ? 4
                                  : order <= 4   ? 8
                                                 : 6;

/// Rows of up to 32 cells in shared memory. An odd number of chunks from row to row keeps the lanes, which read a row
/// each, out of each other's banks.
template <int order, class T>
struct alignas(16) StagedRows {
  static constexpr int chunks = Row<T>::chunks(order), stride = (chunks | 1) * Chunk<T>::size;
  T value[32 * stride];

  /// Lane l has asked for the row of its `cell`, l < count. Does not wait.
  __device__ __forceinline__ void fetch(const T* rows, std::uint32_t cell, std::uint32_t count, int lane) {
#pragma unroll
    for (int k = 0; k < chunks; ++k) {
      const int at = lane + 32 * k, row = at / chunks, part = at % chunks;
      const std::uint32_t source = __shfl_sync(all_lanes, cell, row);
      if (row < static_cast<int>(count))
        __pipeline_memcpy_async(value + row * stride + part * Chunk<T>::size,
                                rows + (std::int64_t{source} * chunks + part) * Chunk<T>::size, 16);
    }
    __pipeline_commit();
  }
};

/// A warp sums what up to 32 far cells at a time do, one per lane, while the next ones are fetched.
template <class T, class Space, int order>
__global__ void __launch_bounds__(far_warps * 32, far_blocks<T, order>)
    far_kernel(const __grid_constant__ SumJob<T, Space> job) {
  constexpr int terms = physics::expansion_terms(order), padded = terms <= 32 ? 32 : 64;
  constexpr int buffers = sizeof(T) == 4 ? 2 : 1;
  __shared__ StagedRows<order, T> staged[far_warps][buffers];
  const unsigned warp = threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t k = blockIdx.x * far_warps + warp;
  if (k >= job.targets.count) return;
  const std::uint32_t target = job.targets.cell(k);
  const CellRecord t = job.tree.record[target];
  const auto s_b = job.tree.row[std::int64_t{target} * Row<T>::stride(order) + Row<T>::head];
  ListReader list(job.lists.head[k].far, job.lists.place + std::int64_t{k} * list_room, far_room, job.lists.pool);

  T local[padded], g[order + 1];
#pragma unroll
  for (int i = 0; i < padded; ++i) local[i] = 0;
  physics::plummer_radial_derivatives<order>(g);
  const auto add = [&](const StagedRows<order, T>& rows, std::uint32_t cell) {
    OpenRow<order, T> s(rows.value + lane * StagedRows<order, T>::stride);
    const Vec3<double> apart = separation(s.centre, {t.x, t.y, t.z}, job.space);
    const Vec3<T> d{static_cast<T>(apart.x), static_cast<T>(apart.y), static_cast<T>(apart.z)};
    auto epsilon2 = static_cast<T>(job.tree.expansion_epsilon2);
    if (job.tree.softens_by_cell()) epsilon2 = static_cast<T>(fmaxf(t.epsilon2, job.tree.record[cell].epsilon2));
    const T square = physics::softened_square(d, epsilon2), inverse = physics::rsqrt(square);
    if constexpr (Space::periodic)
      physics::short_range_radial_derivatives<order>(job.space.law, physics::softened_square(d, T(0)), square, inverse,
                                                     g);
    physics::multipole_to_local<order>(inverse * d, inverse, s.scale, s_b, g, s.multipole,
                                       reinterpret_cast<T(&)[terms]>(local));
  };

  std::uint32_t cell = 0, count = list.take(lane, cell);
  if (count > 0) staged[warp][0].fetch(job.tree.row, cell, count, lane);
  for (int buffer = 0; count > 0; buffer = (buffer + 1) % buffers) {
    std::uint32_t next = 0, following = 0;
    if constexpr (buffers == 2) {
      following = list.take(lane, next);
      staged[warp][1 - buffer].fetch(job.tree.row, next, following, lane);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncwarp();
    if (lane < static_cast<int>(count)) add(staged[warp][buffer], cell);
    __syncwarp();
    if constexpr (buffers == 1) {
      following = list.take(lane, next);
      staged[warp][0].fetch(job.tree.row, next, following, lane);
    }
    cell = next, count = following;
  }
  sum_over_lanes<padded / 2>(local, lane);
  T* const to = job.local + std::int64_t{target} * multipole_stride(order);
#pragma unroll
  for (int i = 0; i < padded / 32; ++i)
    if (lane * (padded / 32) + i < terms) to[lane * (padded / 32) + i] = local[i];
}

/// Adds the parent's local expansion, moved to the target, which is no root; a thread each.
template <class T, class Space, int order>
__global__ void __launch_bounds__(64) inherit_kernel(const __grid_constant__ SumJob<T, Space> job) {
  constexpr int terms = physics::expansion_terms(order), size = Chunk<T>::size;
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= job.targets.count) return;
  const std::uint32_t target = job.targets.cell(k), parent = job.tree.parent[target];
  const CellRecord &t = job.tree.record[target], &p = job.tree.record[parent];
  const T scale = job.tree.row[std::int64_t{target} * Row<T>::stride(order) + Row<T>::head];
  const T inverse = T(1) / job.tree.row[std::int64_t{parent} * Row<T>::stride(order) + Row<T>::head];
  T above[terms], moved[terms];
  load_chunks(job.local + std::int64_t{parent} * multipole_stride(order), above);
  physics::shift_local<order>(
      {static_cast<T>(t.x - p.x) * inverse, static_cast<T>(t.y - p.y) * inverse, static_cast<T>(t.z - p.z) * inverse},
      scale * inverse, above, moved);
  auto* const to = reinterpret_cast<Chunk<T>*>(job.local + std::int64_t{target} * multipole_stride(order));
#pragma unroll
  for (int c = 0; c < (terms + size - 1) / size; ++c) {
    Chunk<T> chunk = to[c];
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (c * size + i < terms) chunk.value[i] += moved[c * size + i];
    to[c] = chunk;
  }
}

template <class T, class Space>
void sum_far(const SumJob<T, Space>& job, int order, Stream stream) {
  with_order(order, [&](auto p) {
    far_kernel<T, Space, decltype(p)::value>
        <<<(job.targets.count + far_warps - 1) / far_warps, far_warps * 32, 0, cuda::handle(stream)>>>(job);
  });
  cuda::check(cudaGetLastError(), "tree far");
}

template <class T, class Space>
void inherit(const SumJob<T, Space>& job, int order, Stream stream) {
  constexpr unsigned threads = 64;
  with_order(order, [&](auto p) {
    inherit_kernel<T, Space, decltype(p)::value>
        <<<(job.targets.count + threads - 1) / threads, threads, 0, cuda::handle(stream)>>>(job);
  });
  cuda::check(cudaGetLastError(), "tree inherit");
}

}  // namespace pergola::tree

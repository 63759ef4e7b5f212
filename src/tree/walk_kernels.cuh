#pragma once
// CUDA only: the sums of a walk, for one number type: expansions of far cells, what expansions do to the particles of
// leaves, and pairs of particles.
//
// Order of launches for a batch of targets: far_kernel; inherit_kernel, which adds the parent's expansion, from the
// root down; field_kernel for the leaves; pair_kernel for the leaves, which adds the field and writes the answers.
// A warp sums in its number type T, in a fixed order of lanes: the same bits from run to run.
#include <cuda_pipeline.h>

#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "physics/pair.hpp"
#include "physics/split.hpp"
#include "tree/pair_sums.cuh"
#include "tree/short_pair_sums.cuh"
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

/// Of the targets of one launch; does not wait.
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

inline constexpr unsigned field_warps = 2;
/// Blocks that a multiprocessor holds at least: as many as registers allow without keeping sums in memory.
template <class T, int order>
inline constexpr int field_blocks = sizeof(T) == 8 ? 4
                                    : order <= 4   ? 12
                                    : order == 5   ? 10
                                                   : 6;

/// Adds what a cell's multipoles do to one particle; d = particle − cell.
template <int order, class T, class Space>
__device__ __forceinline__ void add_multipoles(const OpenRow<order, T>& s, const Vec3<T>& d, T epsilon2,
                                               [[maybe_unused]] const Space& space, physics::Field<T>& sum) {
  constexpr int terms = physics::expansion_terms(order);
  const T square = physics::softened_square(d, epsilon2), inverse = physics::rsqrt(square);
  T g[order + 1], factor[order + 1], moments[terms];
  if constexpr (Space::periodic)
    physics::short_range_radial_derivatives<order>(space.law, physics::softened_square(d, T(0)), square, inverse, g);
  else
    physics::plummer_radial_derivatives<order>(g);
  physics::powers<order>(T(1), s.scale * inverse, factor);
#pragma unroll
  for (int t = 0; t < terms; ++t) moments[t] = s.multipole[t];
  physics::scale_terms<order>(factor, moments);
  const auto field = physics::multipole_field<order>(inverse * d, inverse, g, moments);
  sum.psi += field.psi;
  sum.gradient = sum.gradient + field.gradient;
}

/// A warp finds the field of a leaf's local expansion and of the cells that act on its particles; with two halves one
/// for the first 32 of these, and another for the rest.
template <class T, class Space, int order>
__global__ void __launch_bounds__(field_warps * 32, field_blocks<T, order>)
    field_kernel(const __grid_constant__ SumJob<T, Space> job, std::uint32_t halves) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t warp = blockIdx.x * field_warps + threadIdx.x / 32, k = warp / halves;
  if (k >= job.targets.count) return;
  const std::uint32_t cell = job.targets.cell(k);
  const CudaTree<T>& tree = job.tree;
  const CellLink link = tree.link[cell];
  if (link.children > 0) return;
  const CellRecord target = tree.record[cell];
  const T inverse = T(1) / tree.row[std::int64_t{cell} * Row<T>::stride(order) + Row<T>::head];

  for (std::uint32_t first = warp % halves * 32; first < link.count; first += 32 * halves) {
    const LeafLanes lanes(link.count - first, lane);
    const std::uint32_t i = link.first + first + static_cast<std::uint32_t>(lanes.is_target ? lanes.own : 0);
    const PlacedMass<T> placed = tree.particle[i];
    const Vec3<T> at{placed.x, placed.y, placed.z};
    physics::Field<T> sum{0, {0, 0, 0}};
    ListReader points(job.lists.head[k].points, job.lists.place + std::int64_t{k} * list_room + far_room, points_room,
                      job.lists.pool);
    while (!points.done()) {
      std::uint32_t source_of_lane = 0;
      const int count = static_cast<int>(points.take(lane, source_of_lane));
      for (int from = 0; from < count; from += lanes.parts) {
        const int s = from + lanes.part;
        const std::uint32_t source = __shfl_sync(all_lanes, source_of_lane, s < count ? s : 0);
        if (s >= count) continue;
        const OpenRow<order, T> row(tree.row + std::int64_t{source} * Row<T>::stride(order));
        const Vec3<double> apart = separation(row.centre, {target.x, target.y, target.z}, job.space);
        const Vec3<T> d{static_cast<T>(apart.x) + at.x, static_cast<T>(apart.y) + at.y, static_cast<T>(apart.z) + at.z};
        T epsilon2 = static_cast<T>(tree.expansion_epsilon2);
        if (tree.softens_by_cell())
          epsilon2 = physics::larger(tree.softening[i], static_cast<T>(tree.record[source].epsilon2));
        add_multipoles(row, d, epsilon2, job.space, sum);
      }
    }
    for (int offset = lanes.width; offset < 32; offset *= 2) {
      sum.psi += __shfl_xor_sync(all_lanes, sum.psi, offset);
      sum.gradient.x += __shfl_xor_sync(all_lanes, sum.gradient.x, offset);
      sum.gradient.y += __shfl_xor_sync(all_lanes, sum.gradient.y, offset);
      sum.gradient.z += __shfl_xor_sync(all_lanes, sum.gradient.z, offset);
    }
    if (lanes.part == 0 && lanes.is_target) {
      T local[physics::expansion_terms(order)];
      load_chunks(job.local + std::int64_t{cell} * multipole_stride(order), local);
      const auto field = physics::local_field<order>(local, inverse * at);
      job.field[std::int64_t{k} * leaf_capacity + first + static_cast<std::uint32_t>(lanes.own)] = {
          sum.gradient.x + field.gradient.x * inverse, sum.gradient.y + field.gradient.y * inverse,
          sum.gradient.z + field.gradient.z * inverse, sum.psi + field.psi};
    }
    __syncwarp();
  }
}

/// With few targets two warps share a leaf.
template <class T, class Space>
void sum_fields(const SumJob<T, Space>& job, int order, Stream stream) {
  const std::uint32_t halves = has_few_targets(job) ? 2 : 1;
  const unsigned blocks = (job.targets.count * halves + field_warps - 1) / field_warps;
  with_order(order, [&](auto p) {
    field_kernel<T, Space, decltype(p)::value><<<blocks, field_warps * 32, 0, cuda::handle(stream)>>>(job, halves);
  });
  cuda::check(cudaGetLastError(), "tree fields");
}

/// Of a block; one is a little faster than four, for leaves differ in their work.
inline constexpr unsigned pair_warps = 1;
/// Of leaves that look for images, where the others are not looked through for them.
inline constexpr std::uint32_t looking_blocks = 2048;

/// If there are few leaves, this number of warps serves one together: leaves at the rim of a small system have all
/// particles as sources.
template <class T>
inline constexpr int pair_team = sizeof(T) == 4 ? 8 : 4;

/// Blocks that a multiprocessor holds at least. The short-range law needs registers for its polynomials: with fewer the
/// compiler keeps them in memory.
template <class T, class Kind, int team>
inline constexpr int blocks_per_multiprocessor =
    Kind::Space::periodic
        ? (team > 1 ? 2 : (sizeof(T) == 4 ? 20 : 8) / static_cast<int>(pair_warps))
        : (team > 1 ? 4 : (sizeof(T) == 4 ? (Kind::Law::few_operations ? 32 : 24) : 16) / static_cast<int>(pair_warps));

template <class T, class Kind, int team>
using PairKernelMemory = std::conditional_t<Kind::culls, ShortMemory<T, Kind, team>, TeamMemory<T, team>>;

/// With a team a block serves one leaf, else each of its warps does.
template <class T, class Kind, int team>
__device__ void serve_leaf(const SumJob<T, typename Kind::Space>& job, PairKernelMemory<T, Kind, team>& memory,
                           std::uint32_t k, int warp, int lane) {
  const int mate = team > 1 ? warp : 0;
  static_assert(leaf_capacity == 64);
  if constexpr (Kind::culls)
    ShortPairSums<T, Kind, team>(job, memory, k, mate, lane).serve();
  else if (job.tree.link[job.targets.cell(k)].count <= 32)
    PairSums<T, 1, Kind, team>(job, memory, k, mate, lane).serve();
  else
    PairSums<T, 2, Kind, team>(job, memory, k, mate, lane).serve();
}

/// Which target the warp, or the block, serves that comes as number `at`; false: none.
template <class Kind, class Job>
__device__ bool find_leaf(const Job& job, std::uint32_t at, std::uint32_t& k) {
  if (!job.leaves.leaf) {
    k = at;
    if (at >= job.targets.count || job.tree.link[job.targets.cell(at)].children > 0) return false;
    return !Kind::Space::periodic || Kind::looks_for_images == (job.lists.head[at].looks_for_images > 0);
  }
  // Leaves that look for images come first.
  const std::uint32_t looking = job.leaves.looking();
  if (!Kind::looks_for_images) at += looking;
  if (at >= (Kind::looks_for_images ? looking : job.leaves.all())) return false;
  k = job.leaves.leaf[at];
  return true;
}

/// Blocks that look for images go over all such leaves; others have one leaf each.
template <class T, class Kind, int team>
__global__ void __launch_bounds__((team > 1 ? team : pair_warps) * 32, blocks_per_multiprocessor<T, Kind, team>)
    pair_kernel(const __grid_constant__ SumJob<T, typename Kind::Space> job) {
  __shared__ PairKernelMemory<T, Kind, team> shared[team > 1 ? 1 : pair_warps];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x) % 32;
  auto& memory = shared[team > 1 ? 0 : warp];
  constexpr std::uint32_t per_block = team > 1 ? 1 : pair_warps;
  std::uint32_t at = blockIdx.x * per_block + (team > 1 ? 0 : threadIdx.x / 32), k = 0;
  if constexpr (Kind::looks_for_images) {  // few leaves, or none, and so are the blocks that serve them
    const std::uint32_t end = job.leaves.leaf ? job.leaves.looking() : job.targets.count;
    for (; at < end; at += gridDim.x * per_block)
      if (find_leaf<Kind>(job, at, k)) serve_leaf<T, Kind, team>(job, memory, k, warp, lane);
  } else if (find_leaf<Kind>(job, at, k)) {
    serve_leaf<T, Kind, team>(job, memory, k, warp, lane);
  }
}

/// A team of warps per leaf if there are few leaves, else one warp.
template <class Kind, class T>
void launch_pairs(const SumJob<T, typename Kind::Space>& job, Stream stream) {
  constexpr unsigned team = pair_team<T>;
  std::uint32_t count = job.targets.count;
  if (Kind::looks_for_images && job.leaves.leaf && count > looking_blocks) count = looking_blocks;
  bool few = false;
  if constexpr (!Kind::looks_for_images) {
    few = has_few_targets(job);
    if (few) pair_kernel<T, Kind, team><<<count, team * 32, 0, cuda::handle(stream)>>>(job);
  }
  if (!few)
    pair_kernel<T, Kind, 1><<<(count + pair_warps - 1) / pair_warps, pair_warps * 32, 0, cuda::handle(stream)>>>(job);
  cuda::check(cudaGetLastError(), "tree pairs");
}

/// Chooses the instance: law, softening by particle, potential, number of polynomial terms of the split.
template <class T, class Space>
void sum_pairs(const SumJob<T, Space>& job, Stream stream) {
  const auto launch_with = [&]<class Law, bool by_particle, int terms>() {
    if (job.out.potential)
      launch_pairs<PairKind<Law, by_particle, Space, true, false, terms>>(job, stream);
    else
      launch_pairs<PairKind<Law, by_particle, Space, false, false, terms>>(job, stream);
  };
  const auto launch = [&]<class Law, bool by_particle>() {
    if constexpr (!Space::periodic)
      launch_with.template operator()<Law, by_particle, 0>();
    else if (job.space.law.terms <= fewest_split_terms<T>)
      launch_with.template operator()<Law, by_particle, fewest_split_terms<T>>();
    else if (job.space.law.terms <= few_split_terms<T>)
      launch_with.template operator()<Law, by_particle, few_split_terms<T>>();
    else
      launch_with.template operator()<Law, by_particle, split_terms<T>>();
    // Few leaves, or none: one kernel for all that may be wanted of them.
    if constexpr (Space::periodic)
      launch_pairs<PairKind<Law, by_particle, Space, true, true, split_terms<T>>>(job, stream);
  };
  physics::with_pair_law(job.tree.kernel, [&](auto law) {
    using Law = decltype(law);
    if constexpr (Law::few_operations)
      if (!job.tree.by_particle) return launch.template operator()<Law, false>();
    launch.template operator()<Law, true>();
  });
}

}  // namespace pergola::tree

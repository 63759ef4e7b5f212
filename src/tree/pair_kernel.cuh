#pragma once
// CUDA only: sums over pairs of particles of leaves, for one number type.
#include "tree/pair_sums.cuh"
#include "tree/short_pair_sums.cuh"

namespace pergola::tree {

/// Of a block; one is a little faster than four, for leaves differ in their work.
inline constexpr unsigned pair_warps = 1;
/// Of leaves that look for images, where the others are not looked through for them.
inline constexpr std::uint32_t looking_blocks = 2048;

/// Where there are few leaves, so many warps serve one together: leaves at the rim of a small system have all particles
/// as sources.
template <class T>
inline constexpr int pair_team = sizeof(T) == 4 ? 8 : 4;

/// Blocks that a multiprocessor holds at least. The short-range law needs registers for its polynomials: with fewer the
/// compiler keeps them in memory.
template <class T, class Kind, int team>
inline constexpr int blocks_per_multiprocessor =
    Kind::Space::periodic ? (team > 1 ? 2 : (sizeof(T) == 4 ? 20 : 8) / static_cast<int>(pair_warps))
                          : (team > 1 ? 4 : (sizeof(T) == 4 ? 32 : 16) / static_cast<int>(pair_warps));

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

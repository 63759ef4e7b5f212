#pragma once
// CUDA only. Nearest neighbour and neighbour lists: one warp per target, so that the order of the answers is fixed.
#include "gravity/direct_sums.cuh"

namespace pergola::cuda {

/// The nearest other source of each target, the lower index on a tie; −1 and infinity when there is none.
template <Precision P, class Real>
__global__ void find_nearest(SourcePack<P> pack, std::int64_t sources, const std::int64_t* index, std::int64_t first,
                             std::int64_t targets, std::int64_t* nearest, Real* distance) {
  using T = typename SourcePack<P>::Number;
  const std::int64_t t = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (t >= targets) return;
  const std::int64_t i = index ? index[t] : first + t;
  T best = INFINITY;
  std::int64_t best_j = -1;
  for (std::int64_t j = lane; j < sources; j += 32) {
    const auto d = separation(pack, i, j);
    const T square = physics::softened_square(d, T(0));
    if (j != i && (square < best || best_j < 0)) best = square, best_j = j;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, best, offset);
    const std::int64_t other_j = __shfl_xor_sync(0xffffffffu, best_j, offset);
    if (other_j >= 0 && (best_j < 0 || other < best || (other == best && other_j < best_j)))
      best = other, best_j = other_j;
  }
  if (lane == 0) {
    nearest[t] = best_j;
    if (distance) distance[t] = best_j < 0 ? Real(INFINITY) : static_cast<Real>(sqrt(best));
  }
}

/// Counts (list = null) or lists the sources within a radius of each target, in rising order.
template <Precision P>
__global__ void list_neighbours(SourcePack<P> pack, std::int64_t sources, const std::int64_t* index, std::int64_t first,
                                std::int64_t targets, double radius2, const std::int64_t* begin, std::int64_t* count,
                                std::int64_t* list) {
  using T = typename SourcePack<P>::Number;
  const std::int64_t t = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (t >= targets) return;
  const std::int64_t i = index ? index[t] : first + t;
  std::int64_t found = 0;
  for (std::int64_t base = 0; base < sources; base += 32) {
    const std::int64_t j = base + lane;
    bool near = false;
    if (j < sources && j != i)
      near = static_cast<double>(physics::softened_square(separation(pack, i, j), T(0))) < radius2;
    const unsigned votes = __ballot_sync(0xffffffffu, near);
    if (list && near) list[begin[t] + found + __popc(votes & ((1u << lane) - 1))] = j;
    found += __popc(votes);
  }
  if (count && lane == 0) count[t] = found;
}

inline unsigned warp_blocks(std::int64_t targets) { return static_cast<unsigned>((targets * 32 + 255) / 256); }

template <Precision P>
NeighbourLists neighbour_lists(DirectSums<P>& sums, const Targets& targets, double radius) {
  NeighbourLists lists;
  lists.begin.assign(static_cast<std::size_t>(targets.count) + 1, 0);
  if (targets.count == 0) return lists;
  const auto stream = handle(sums.device().stream());
  Buffer<std::int64_t> count(sums.device(), targets.count);
  list_neighbours<P><<<warp_blocks(targets.count), 256, 0, stream>>>(sums.pack(), sums.count(), targets.index,
                                                                     targets.first, targets.count, radius * radius,
                                                                     nullptr, count.data(), nullptr);
  check(cudaGetLastError(), "count neighbours");
  const auto counts = count.to_host();
  for (std::size_t t = 0; t < counts.size(); ++t) lists.begin[t + 1] = lists.begin[t] + counts[t];
  Buffer<std::int64_t> begin(sums.device(), lists.begin), list(sums.device(), lists.begin.back());
  if (list.size() > 0) {
    list_neighbours<P><<<warp_blocks(targets.count), 256, 0, stream>>>(sums.pack(), sums.count(), targets.index,
                                                                       targets.first, targets.count, radius * radius,
                                                                       begin.data(), nullptr, list.data());
    check(cudaGetLastError(), "list neighbours");
  }
  lists.index = list.to_host();
  return lists;
}

}  // namespace pergola::cuda

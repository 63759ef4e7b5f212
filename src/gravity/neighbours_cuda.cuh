#pragma once
// CUDA only. Nearest neighbour and neighbour lists. The work of a warp is a range of the sources for some targets; the
// ranges come together in their order, so that the answers do not depend on who was first.
//
// A nearest neighbour takes two launches: the best of each range, then the best of the ranges, the lower place on a
// tie. Lists also take two: counts first, then, with the begin of each list known, the lists themselves. Distances are
// without softening, in the number type of the packed positions.
#include "gravity/direct_sums.cuh"

namespace pergola::cuda {

/// The targets: places among the sources, or points.
template <Precision P>
struct Search {
  SourcePack<P> sources;
  std::int64_t source_count = 0;
  SourcePack<P> points;                 // where its place is null: the targets are sources
  const std::int64_t* index = nullptr;  // the target's place among the sources, −1: none; null: place = number
  std::int64_t first = 0, count = 0;
  std::int64_t segment = 0;  // sources in a range …
  int segments = 1;          // … and the number of ranges

  __device__ std::int64_t place(std::int64_t t) const { return index ? index[t] : first + t; }
};

/// A position in the solver's own arithmetic.
template <Precision P>
struct PackedPosition {
  Real4<typename SourcePack<P>::Number> high, low;
};
template <Precision P>
__device__ __forceinline__ PackedPosition<P> position(const SourcePack<P>& pack, std::int64_t i) {
  PackedPosition<P> p{pack.place[i], {}};
  if constexpr (SourcePack<P>::has_rest) p.low = pack.rest[i];
  return p;
}
template <Precision P>
__device__ __forceinline__ PackedPosition<P> asking_position(const Search<P>& search, std::int64_t t) {
  return search.points.place ? position(search.points, t) : position(search.sources, search.place(t));
}

/// Square of the distance, without softening.
template <Precision P>
__device__ __forceinline__ typename SourcePack<P>::Number square(const PackedPosition<P>& a,
                                                                 const PackedPosition<P>& b) {
  using T = typename SourcePack<P>::Number;
  const Vec3<T> from{a.high.x, a.high.y, a.high.z}, to{b.high.x, b.high.y, b.high.z};
  if constexpr (SourcePack<P>::has_rest)
    return physics::softened_square(
        physics::separation(from, {a.low.x, a.low.y, a.low.z}, to, {b.low.x, b.low.y, b.low.z}), T(0));
  else
    return physics::softened_square(physics::separation(from, to), T(0));
}

inline constexpr int search_threads = 128, search_warps = search_threads / 32;
/// Targets that a lane serves where there are many.
inline constexpr int search_targets = 4;

/// Of one target and one range; place -1: none.
struct NearestSoFar {
  double square;
  std::int64_t place;
};

/// The nearest source of a range for each target, the lower place on a tie. A warp serves 32 × per_lane targets; it
/// reads the range through shared memory, 32 sources at a time.
template <Precision P, int per_lane>
__global__ void __launch_bounds__(search_threads)
    search_nearest(const __grid_constant__ Search<P> s, NearestSoFar* found) {
  using T = typename SourcePack<P>::Number;
  __shared__ PackedPosition<P> tiles[search_warps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t worker = std::int64_t{blockIdx.x} * search_warps + warp;
  const std::int64_t group = worker / s.segments, segment = worker % s.segments;
  const std::int64_t first_target = group * (32 * per_lane) + lane;
  if (group * (32 * per_lane) >= s.count) return;

  PackedPosition<P> at[per_lane];
  std::int64_t own[per_lane];
  int best_at[per_lane];  // counted from the begin of the range
  T best[per_lane];
#pragma unroll
  for (int k = 0; k < per_lane; ++k) {
    const std::int64_t t = first_target + 32 * k < s.count ? first_target + 32 * k : s.count - 1;
    at[k] = asking_position(s, t);
    own[k] = s.place(t);
    best[k] = INFINITY;
    best_at[k] = -1;
  }
  const std::int64_t begin = segment * s.segment;
  const std::int64_t end = begin + s.segment < s.source_count ? begin + s.segment : s.source_count;
  for (std::int64_t tile = begin; tile < end; tile += 32) {
    const int count = static_cast<int>(end - tile < 32 ? end - tile : 32);
    __syncwarp();
    if (lane < count) tiles[warp][lane] = position(s.sources, tile + lane);
    __syncwarp();
    const int from = static_cast<int>(tile - begin);
    bool own_here = false;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) own_here = own_here || (own[k] >= tile && own[k] < tile + 32);
    const auto look = [&](int j, auto masked) {
      const PackedPosition<P> source = tiles[warp][j];
#pragma unroll
      for (int k = 0; k < per_lane; ++k) {
        const T r2 = square(at[k], source);
        const bool nearer = r2 < best[k] && !(masked.value && own[k] == tile + j);
        best[k] = nearer ? r2 : best[k];
        best_at[k] = nearer ? from + j : best_at[k];
      }
    };
    if (__any_sync(0xffffffffu, own_here))
      for (int j = 0; j < count; ++j) look(j, std::true_type{});
    else
#pragma unroll 4
      for (int j = 0; j < count; ++j) look(j, std::false_type{});
  }
#pragma unroll
  for (int k = 0; k < per_lane; ++k) {
    const std::int64_t t = first_target + 32 * k;
    if (t < s.count)
      found[t * s.segments + segment] = {static_cast<double>(best[k]), best_at[k] < 0 ? -1 : begin + best_at[k]};
  }
}

/// The nearest of all ranges, one warp per target; −1 and infinity when there is none.
template <class Real>
__global__ void collect_nearest(const NearestSoFar* found, int segments, std::int64_t targets, std::int64_t* nearest,
                                Real* distance) {
  const std::int64_t t = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (t >= targets) return;
  NearestSoFar best{INFINITY, -1};
  const auto take = [&best](double square, std::int64_t place) {
    if (place >= 0 && (best.place < 0 || square < best.square || (square == best.square && place < best.place)))
      best = {square, place};
  };
  for (int k = lane; k < segments; k += 32) take(found[t * segments + k].square, found[t * segments + k].place);
  for (int offset = 16; offset > 0; offset /= 2) {
    const double square = __shfl_xor_sync(0xffffffffu, best.square, offset);
    const std::int64_t place = __shfl_xor_sync(0xffffffffu, best.place, offset);
    take(square, place);
  }
  if (lane != 0) return;
  nearest[t] = best.place;
  if (distance) distance[t] = static_cast<Real>(sqrt(best.square));
}

/// Counts (list = null) or lists the sources within a radius of each target, in rising order; one warp per target and
/// range of sources. radius2 = null: the same for all.
template <Precision P>
__global__ void list_neighbours(const __grid_constant__ Search<P> s, double same_radius2, const double* radius2,
                                const std::int64_t* begin, std::int64_t* count, std::int64_t* list) {
  const std::int64_t worker = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t t = worker / s.segments, segment = worker % s.segments;
  if (t >= s.count) return;
  const double limit = radius2 ? radius2[t] : same_radius2;
  std::int64_t found = 0;
  if (limit > 0) {
    const auto at = asking_position(s, t);
    const std::int64_t own = s.place(t);
    const std::int64_t first = segment * s.segment;
    const std::int64_t last = first + s.segment < s.source_count ? first + s.segment : s.source_count;
    for (std::int64_t base = first; base < last; base += 32) {
      const std::int64_t j = base + lane;
      const bool near = j < last && j != own && static_cast<double>(square(at, position(s.sources, j))) < limit;
      const unsigned votes = __ballot_sync(0xffffffffu, near);
      if (list && near) list[begin[worker] + found + __popc(votes & ((1u << lane) - 1))] = j;
      found += __popc(votes);
    }
  }
  if (count && lane == 0) count[worker] = found;
}

/// Nearest neighbours and neighbour lists from the sources that a DirectSums holds.
template <Precision P>
class NeighbourSearch {
 public:
  explicit NeighbourSearch(DirectSums<P>& sums) : sums_(sums) {}

  /// `nearest` and `distance` lie on the device; does not wait.
  template <class Real>
  void nearest(Search<P> search, std::int64_t* nearest, Real* distance) {
    const bool many = search.count > 32 * 64;
    const std::int64_t group = many ? 32 * search_targets : 32, groups = divide_up(search.count, group);
    share_out(search, groups);
    if (found_.size() < search.count * search.segments)
      found_ = Buffer<NearestSoFar>(sums_.device(), search.count * search.segments);
    const auto blocks = static_cast<unsigned>(divide_up(groups * search.segments, search_warps));
    const auto stream = handle(sums_.device().stream());
    if (many)
      search_nearest<P, search_targets><<<blocks, search_threads, 0, stream>>>(search, found_.data());
    else
      search_nearest<P, 1><<<blocks, search_threads, 0, stream>>>(search, found_.data());
    check(cudaGetLastError(), "nearest neighbour");
    collect_nearest<<<warp_blocks(search.count), 256, 0, stream>>>(found_.data(), search.segments, search.count,
                                                                   nearest, distance);
    check(cudaGetLastError(), "collect nearest neighbours");
  }

  /// Returns lists on the host, thus waits. With more than `most` neighbours in all, only the counts.
  NeighbourLists lists(Search<P> search, double same_radius2, const double* radius2, std::int64_t most) {
    NeighbourLists lists;
    lists.begin.assign(static_cast<std::size_t>(search.count) + 1, 0);
    if (search.count == 0 || search.source_count == 0) return lists;
    share_out(search, search.count);
    const std::int64_t workers = search.count * search.segments;
    const auto stream = handle(sums_.device().stream());
    Buffer<std::int64_t> count(sums_.device(), workers);
    list_neighbours<P>
        <<<warp_blocks(workers), 256, 0, stream>>>(search, same_radius2, radius2, nullptr, count.data(), nullptr);
    check(cudaGetLastError(), "count neighbours");
    auto begins = count.to_host();  // becomes where each worker's part begins
    std::int64_t total = 0;
    for (std::int64_t w = 0; w < workers; ++w) {
      if (w % search.segments == 0) lists.begin[static_cast<std::size_t>(w / search.segments)] = total;
      total += std::exchange(begins[static_cast<std::size_t>(w)], total);
    }
    lists.begin.back() = total;
    if (total == 0 || total > most) return lists;
    Buffer<std::int64_t> begin(sums_.device(), begins), list(sums_.device(), total);
    list_neighbours<P>
        <<<warp_blocks(workers), 256, 0, stream>>>(search, same_radius2, radius2, begin.data(), nullptr, list.data());
    check(cudaGetLastError(), "list neighbours");
    lists.index = list.to_host();
    return lists;
  }

  Search<P> by(const Targets& targets) {
    Search<P> search = empty_search();
    search.index = targets.index;
    search.first = targets.first;
    search.count = targets.count;
    return search;
  }
  Search<P> by(const PackedPoints<P>& points) {
    Search<P> search = empty_search();
    search.points = points.pack;
    search.index = points.own;
    search.count = points.count;
    return search;
  }

 private:
  /// Without targets.
  Search<P> empty_search() {
    Search<P> search;
    search.sources = sums_.pack();
    search.source_count = sums_.count();
    return search;
  }
  static unsigned warp_blocks(std::int64_t warps) { return static_cast<unsigned>((warps * 32 + 255) / 256); }

  /// Cuts the sources so that there is work for the whole device.
  static void share_out(Search<P>& search, std::int64_t groups) {
    constexpr std::int64_t warps_wanted = 4096, shortest = 128, most = 512;
    std::int64_t segments = std::min({divide_up(warps_wanted, groups), search.source_count / shortest, most});
    segments = std::max<std::int64_t>(segments, 1);
    search.segment = std::max<std::int64_t>((divide_up(search.source_count, segments) + 31) / 32 * 32, 32);
    search.segments = static_cast<int>(std::max<std::int64_t>(divide_up(search.source_count, search.segment), 1));
  }

  DirectSums<P>& sums_;
  Buffer<NearestSoFar> found_;
};

}  // namespace pergola::cuda

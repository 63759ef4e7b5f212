#include "tree/search_cuda.cuh"

#include "device/launch.cuh"
#include "tree/opening_cuda.cuh"

namespace pergola::tree {

namespace {

/// What becomes of a pair: pairs with some of the target's or the source's children in its place.
struct Outcome {
  std::uint32_t child = 0, which = 0;  // a bit for each child
  bool of_target = false, waits = false;
};

/// Children of a source that are not all here.
template <class T>
__device__ Outcome open_source(const SearchView<T>& view, std::uint32_t source, const CellRecord& s) {
  Outcome outcome;
  if (s.child == elsewhere) {
    view.missing.note(source);
    outcome.waits = true;
    return outcome;
  }
  outcome.child = s.child;
  for (std::uint32_t c = 0; c < s.children(); ++c)
    if (view.is_foreign(s.child + c)) outcome.which |= 1u << c;
  return outcome;
}

template <class T>
__device__ Outcome served_children(const SearchView<T>& view, const CellRecord& target) {
  Outcome outcome;
  outcome.of_target = true, outcome.child = target.child;
  for (std::uint32_t c = 0; c < target.children(); ++c)
    if (view.is_served(target.child + c)) outcome.which |= 1u << c;
  return outcome;
}

/// As Traversal::look_at of tree/traverse_cuda.cu, of a source that is not the target.
template <int order, class T>
struct LookAtPair {
  SearchView<T> view;
  Opening opening;

  __device__ Outcome operator()(const CellPair& pair) const {
    Outcome outcome;
    const CellRecord t = view.tree.record[pair.target], s = view.tree.record[pair.source];
    if (s.mass == 0 || !view.is_served(pair.target)) return outcome;
    const Vec3<float> d{static_cast<float>(s.x - t.x), static_cast<float>(s.y - t.y), static_cast<float>(s.z - t.z)};
    float acceleration = 0, allowed = 0;
    if (opening.tolerance > 0) {
      acceleration = target_acceleration(view.tree.link, view.tree.parent, view.tree.acceleration, pair.target);
      allowed = static_cast<float>(opening.tolerance) * acceleration;
    }
    bool as_cell = false, as_points = false;
    test_opening<order>(opening, static_cast<float>(view.tree.support), s, t, d, acceleration, allowed, as_cell,
                        as_points);
    const bool leaf = t.children() == 0;
    if (as_cell || (as_points && leaf && (s.bits & CellRecord::crowd))) return outcome;
    if (leaf && s.children() == 0) {
      if (s.child == elsewhere) view.missing.note(pair.source);
    } else if (!leaf && (s.children() == 0 || physics::opens_target(s.r, t.r))) {
      return served_children(view, t);
    } else {
      return open_source(view, pair.source, s);
    }
    return outcome;
  }
};

/// As estimate() of tree/moments_cuda.cu, of all groups in the target: where they do not all find the same, of those in
/// each of its children.
template <class T>
struct LookForEstimate {
  SearchView<T> view;

  __device__ Outcome operator()(const CellPair& pair) const {
    const CellRecord t = view.tree.record[pair.target], s = view.tree.record[pair.source];
    if (s.children() == 0 || !view.is_foreign(pair.source)) return {};
    const auto dx = static_cast<float>(s.x - t.x), dy = static_cast<float>(s.y - t.y),
               dz = static_cast<float>(s.z - t.z);
    const float square = dx * dx + dy * dy + dz * dz, reach = s.r / estimate_angle;  // as near a group opens it
    if (view.tree.link[pair.target].count > estimate_capacity) {
      const float distance = sqrtf(square);
      if (distance - t.r >= reach) return {};
      if (distance + t.r >= reach) return served_children(view, t);
    } else if (s.r * s.r <= estimate_angle * estimate_angle * square) {
      return {};
    }
    return open_source(view, pair.source, s);
  }
};

constexpr unsigned search_threads = 256;

/// A thread looks at a pair; a warp asks for room once.
template <class Look>
__global__ void __launch_bounds__(search_threads)
    search_kernel(const __grid_constant__ Look look, const CellPair* pairs, std::int64_t count, FoundPairs found) {
  const std::int64_t k = std::int64_t{blockIdx.x} * search_threads + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  CellPair pair{0, 0};
  Outcome outcome;
  if (k < count) {
    pair = pairs[k];
    outcome = look(pair);
  }
  const auto mine = static_cast<std::uint32_t>(__popc(outcome.which));
  const std::uint32_t until = lanes_scan(mine, lane), all = __shfl_sync(all_lanes, until, 31);
  std::uint32_t at = 0;
  if (lane == 0 && all > 0) at = atomicAdd(found.next_count, all);
  at = __shfl_sync(all_lanes, at, 0) + until - mine;
  for (std::uint32_t left = outcome.which; left != 0; left &= left - 1) {
    const std::uint32_t child = outcome.child + static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
    found.next[at++] = outcome.of_target ? CellPair{child, pair.source} : CellPair{pair.target, child};
  }
  const unsigned waiting = __ballot_sync(all_lanes, outcome.waits);
  std::uint32_t to = 0;
  if (lane == 0 && waiting != 0) to = atomicAdd(found.pending_count, static_cast<std::uint32_t>(__popc(waiting)));
  to = __shfl_sync(all_lanes, to, 0);
  if (outcome.waits) found.pending[to + static_cast<std::uint32_t>(__popc(waiting & ((1u << lane) - 1)))] = pair;
}

template <class Look>
void search_pairs(const Look& look, const CellPair* pairs, std::int64_t count, const FoundPairs& found, Stream stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + search_threads - 1) / search_threads);
  search_kernel<<<blocks, search_threads, 0, cuda::handle(stream)>>>(look, pairs, count, found);
  cuda::check(cudaGetLastError(), "tree search");
}

}  // namespace

template <class T>
void search_walk(const SearchView<T>& view, const Opening& opening, const CellPair* pairs, std::int64_t count,
                 const FoundPairs& found, Stream stream) {
  with_order(opening.order, [&](auto order) {
    search_pairs(LookAtPair<decltype(order)::value, T>{view, opening}, pairs, count, found, stream);
  });
}

template <class T>
void search_estimate(const SearchView<T>& view, const CellPair* pairs, std::int64_t count, const FoundPairs& found,
                     Stream stream) {
  search_pairs(LookForEstimate<T>{view}, pairs, count, found, stream);
}

template void search_walk(const SearchView<float>&, const Opening&, const CellPair*, std::int64_t, const FoundPairs&,
                          Stream);
template void search_walk(const SearchView<double>&, const Opening&, const CellPair*, std::int64_t, const FoundPairs&,
                          Stream);
template void search_estimate(const SearchView<float>&, const CellPair*, std::int64_t, const FoundPairs&, Stream);
template void search_estimate(const SearchView<double>&, const CellPair*, std::int64_t, const FoundPairs&, Stream);

}  // namespace pergola::tree

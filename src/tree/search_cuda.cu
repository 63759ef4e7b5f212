// The search of a distributed walk for cells of other ranks that it will open. It walks pairs (target cell, source
// cell) breadth first, a generation per launch, with the opening test of the walk itself. A pair either ends, or
// becomes pairs with children of the target or of the source. A source whose children are on another rank is noted as
// missing, and its pair waits: the search goes on from there when the cell has been received.
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

/// Pairs with those children of the target that this rank serves.
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

constexpr unsigned search_threads = 256, search_blocks = 528;

/// A thread looks at a pair; a warp asks for room once.
template <class Look>
__global__ void __launch_bounds__(search_threads)
    search_kernel(const __grid_constant__ Look look, const __grid_constant__ PairGenerations found, int generation) {
  const std::uint32_t count = found.counts[generation];
  std::uint32_t pending_before = 0;
  for (int g = 0; g < generation; ++g) pending_before += found.pending_counts[g];
  if (count == 0 || !found.fits(count, pending_before)) return;
  const CellPair* const pairs = found.pairs[generation % 2];
  CellPair *const next = found.pairs[1 - generation % 2], *const pending = found.pending + pending_before;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::uint32_t first = blockIdx.x * search_threads; first < count; first += gridDim.x * search_threads) {
    const std::uint32_t k = first + threadIdx.x;
    CellPair pair{0, 0};
    Outcome outcome;
    if (k < count) {
      pair = pairs[k];
      outcome = look(pair);
    }
    const auto mine = static_cast<std::uint32_t>(__popc(outcome.which));
    const std::uint32_t until = lanes_scan(mine, lane), all = __shfl_sync(all_lanes, until, 31);
    std::uint32_t at = 0;
    if (lane == 0 && all > 0) at = atomicAdd(found.counts + generation + 1, all);
    at = __shfl_sync(all_lanes, at, 0) + until - mine;
    for (std::uint32_t left = outcome.which; left != 0; left &= left - 1) {
      const std::uint32_t child = outcome.child + static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
      next[at++] = outcome.of_target ? CellPair{child, pair.source} : CellPair{pair.target, child};
    }
    const unsigned waiting = __ballot_sync(all_lanes, outcome.waits);
    std::uint32_t to = 0;
    if (lane == 0 && waiting != 0)
      to = atomicAdd(found.pending_counts + generation, static_cast<std::uint32_t>(__popc(waiting)));
    to = __shfl_sync(all_lanes, to, 0);
    if (outcome.waits) pending[to + static_cast<std::uint32_t>(__popc(waiting & ((1u << lane) - 1)))] = pair;
  }
}

}  // namespace

/// Launches all generations without waiting; one whose pairs find no room does nothing, and the caller repeats it.
template <class T>
void search_walk(const SearchView<T>& view, const Opening& opening, const PairGenerations& found, int generations,
                 Stream stream) {
  with_order(opening.order, [&](auto order) {
    for (int generation = 0; generation < generations; ++generation)
      search_kernel<<<search_blocks, search_threads, 0, cuda::handle(stream)>>>(
          LookAtPair<decltype(order)::value, T>{view, opening}, found, generation);
  });
  cuda::check(cudaGetLastError(), "tree search");
}

template void search_walk(const SearchView<float>&, const Opening&, const PairGenerations&, int, Stream);
template void search_walk(const SearchView<double>&, const Opening&, const PairGenerations&, int, Stream);

}  // namespace pergola::tree

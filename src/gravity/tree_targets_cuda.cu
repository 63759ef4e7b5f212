// The walk on a GPU for the targets of an evaluation: levels from the root down, in batches whose lists fit into
// memory. If lists have too little room, it measures how much they need and walks again.
// A batch has at most `at_once` targets, of one level or of several. Two batches take turns on two streams: while one
// sums, the next makes its lists. The lists that go down (passes) alternate between two memories, by level.
// All memory of a walk is laid out in the arena of the tree, which is free between building and refreshing.
#include "gravity/tree_targets_cuda.cuh"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "device/launch.cuh"

namespace pergola {

/// As tree_failure(), for sources on a device.
template <class State>
void tree_failure_cuda(const Device& device, std::int64_t place, const Sources<State>& sources,
                       const SolverOptions& options) {
  const auto x = tree::on_host(device, sources.x, sources.count), y = tree::on_host(device, sources.y, sources.count),
             z = tree::on_host(device, sources.z, sources.count);
  const auto species = tree::on_host(device, sources.species, sources.count);
  tree_failure(place, sources.count, x.data(), y.data(), z.data(), species.empty() ? nullptr : species.data(), options);
}

/// Slots and the cells that hold a target, for a part of the sources: work for the targets, not for all particles, the
/// first time after prepare() apart.
template <class State, class Pair>
void TreeTargetsCuda<State, Pair>::mark_active(const Tree& on, const Targets& targets) {
  const std::int64_t n = on.count(), cells = on.cells();
  Arena arena(device_);
  room_for_part(*this, arena, n, cells);
  const std::uint32_t* const order = on.order();
  if (!has_rank_) {
    cuda::launch("tree places", n, device_.stream(), [order, rank = rank_.data()] __device__(std::int64_t k) {
      rank[order[k]] = static_cast<std::uint32_t>(k);
    });
    has_rank_ = true;
  }
  const auto stream = cuda::handle(device_.stream());
  std::uint32_t* const counts = active_.data();
  std::uint32_t* const active = counts + tree::most_levels;
  cuda::check(cudaMemsetAsync(slot_.data(), 0xff, static_cast<std::size_t>(n) * 4, stream), "tree slots");
  cuda::check(cudaMemsetAsync(counts, 0, static_cast<std::size_t>(cells + tree::most_levels) * 4, stream),
              "tree slots");
  std::array<std::uint32_t, tree::most_levels> begin{};
  for (int level = 0; level < on.level_count(); ++level) begin[static_cast<std::size_t>(level)] = on.level_begin(level);
  cuda::launch("tree active", targets.count, device_.stream(),
               [=, rank = rank_.data(), slot = slot_.data(), list = active_cells_.data(), link = on.view().link,
                roots = on.roots_count()] __device__(std::int64_t t) {
                 const std::uint32_t place = rank[targets.index ? targets.index[t] : targets.first + t];
                 slot[place] = static_cast<std::uint32_t>(t);
                 std::uint32_t cell = 0;  // the last root that begins at the place or before it
                 for (std::uint32_t end = roots; end - cell > 1;) {
                   const std::uint32_t middle = cell + (end - cell) / 2;
                   (link[middle].first <= place ? cell : end) = middle;
                 }
                 for (int level = 0;; ++level) {
                   if (active[cell] == 0 && atomicExch(&active[cell], 1u) == 0)
                     list[begin.data()[level] + atomicAdd(&counts[level], 1u)] = cell;
                   const tree::CellLink l = link[cell];
                   if (l.children == 0) return;
                   cell = l.child;
                   while (link[cell].first + link[cell].count <= place) ++cell;
                 }
               });
  close_list(on, counts, active_cells_.data());
}

/// What was found of each level, from the number of its first cell on, one level after the other without gaps. Waits.
template <class State, class Pair>
void TreeTargetsCuda<State, Pair>::close_list(const Tree& on, const std::uint32_t* counts, const std::uint32_t* found) {
  device_.memory().to_host(active_count_.data(), counts, sizeof(active_count_));
  std::uint32_t* to = active_list_.data();
  for (int level = 0; level < on.level_count(); ++level) {
    const std::uint32_t count = active_count_[static_cast<std::size_t>(level)];
    device_.memory().copy(to, found + on.level_begin(level), std::size_t{count} * sizeof(*to));
    to += count;
  }
}

/// The cells that hold own particles. What is found lies in the tree's arena until it is listed.
template <class State, class Pair>
void TreeTargetsCuda<State, Pair>::list_own(Tree& on, std::int64_t own) {
  const std::int64_t cells = on.cells();
  Arena arena(device_);
  arena.room(active_list_, cells), arena.room(own_counts_, tree::most_levels);
  own_counts_.zero();
  auto* const found =
      reinterpret_cast<std::uint32_t*>(on.arena(cells * static_cast<std::int64_t>(sizeof(std::uint32_t))));
  for (int level = 0; level < on.level_count(); ++level)
    cuda::launch("own cells", on.level_begin(level + 1) - on.level_begin(level), device_.stream(),
                 [own = static_cast<std::uint32_t>(own), first = on.level_begin(level), order = on.order(),
                  link = on.view().link, found = found + on.level_begin(level),
                  counter = own_counts_.data() + level] __device__(std::int64_t k) {
                   const std::uint32_t cell = first + static_cast<std::uint32_t>(k);
                   const bool is_own = order[link[cell].first] < own;
                   const unsigned mates = __ballot_sync(__activemask(), is_own);  // they count once
                   if (!is_own) return;
                   const int lane = static_cast<int>(threadIdx.x) % 32, leader = __ffs(static_cast<int>(mates)) - 1;
                   std::uint32_t at = 0;
                   if (lane == leader) at = atomicAdd(counter, static_cast<std::uint32_t>(__popc(mates)));
                   at = __shfl_sync(mates, at, leader);
                   found[at + static_cast<std::uint32_t>(__popc(mates & ((1u << lane) - 1)))] = cell;
                 });
  close_list(on, own_counts_.data(), found);
}

/// What the walk of a tree with so many cells needs, from `memory` on; returns its bytes.
template <class State, class Pair>
std::int64_t TreeTargetsCuda<State, Pair>::lay_out(std::uint32_t cells, int order, std::byte* memory,
                                                   WalkMemory& to) const {
  MemoryParts parts(memory);
  const std::uint32_t together = std::min(cells, at_once);
  const auto pool = [&](double segments) {
    tree::SegmentPool p;
    p.segments = static_cast<std::uint32_t>(segments) + 1024;
    p.entries = parts.template take<std::uint32_t>(std::int64_t{p.segments} * tree::segment_size);
    p.next = parts.template take<std::uint32_t>(p.segments);
    return p;
  };
  to.local = parts.template take<Pair>(std::int64_t{cells} * tree::multipole_stride(order));
  to.passes[0].head = to.passes[1].head = parts.template take<tree::ListHead>(cells);
  for (auto& pass : to.passes) pass.pool = pool(pass_segments_ * cells);
  for (int b = 0; b < (cells > at_once ? 2 : 1); ++b) {
    BatchMemory& batch = to.batch[b];
    batch.field = parts.template take<tree::PlacedMass<Pair>>(std::int64_t{together} * tree::leaf_capacity);
    batch.lists.head = parts.template take<tree::TargetLists>(together);
    batch.lists.place = parts.template take<std::uint32_t>(std::int64_t{together} * tree::list_room);
    batch.lists.pool = pool(list_segments_ * together);
    batch.leaves.leaf = parts.template take<std::uint32_t>(together);
    batch.leaves.counts = parts.template take<std::uint32_t>(tree::LeafOrder::counters);
  }
  return parts.used();
}

/// An estimate: the tree, and the larger of what shares its arena.
template <class State, class Pair>
std::int64_t TreeTargetsCuda<State, Pair>::bytes_for_all(std::int64_t n, int order,
                                                         const tree::TreeSoftening& softening,
                                                         const tree::Forest& forest,
                                                         std::int64_t arena_of_others) const {
  const auto cells = static_cast<std::uint32_t>(tree::first_guess_of_cells(n));
  WalkMemory memory;
  const std::int64_t walk = lay_out(cells, order, nullptr, memory);
  return Tree::device_bytes(n, order, softening, forest) + std::max({walk, Tree::arena_bytes(n), arena_of_others});
}

/// Counters at zero; no failure yet.
template <class State, class Pair>
void TreeTargetsCuda<State, Pair>::start_status(std::int64_t counters) {
  Arena arena(device_);
  arena.room(status_, 1), arena.room(counters_, counters);
  status_.zero(), counters_.zero();
  cuda::check(
      cudaMemsetAsync(&status_.data()->failed, 0xff, sizeof(unsigned long long), cuda::handle(device_.stream())),
      "tree walk");
}

/// False when lists did not find room. Targets of one batch may be of several levels.
template <class State, class Pair>
template <class Space>
bool TreeTargetsCuda<State, Pair>::try_walk(const Tree& on, const Space& space, const tree::Opening& opening,
                                            const WalkMemory& memory, const tree::ServedCells& cells,
                                            const tree::MissingCells& missing, const tree::WalkOutput& out,
                                            tree::WalkStatus& status) {
  const int levels = static_cast<int>(cells.counts.size());
  start_status(levels + on.cells() / at_once + 2);
  std::uint32_t* counter = counters_.data();
  const auto view = on.view();
  const std::uint32_t* const which = cells.list;
  tree::TraverseJob<decltype(tree::reach_of(space))> look;
  look.space = tree::reach_of(space);
  look.record = view.record, look.link = view.link, look.parent = view.parent, look.acceleration = view.acceleration;
  look.roots = on.roots();
  look.support = static_cast<float>(view.support);
  look.opening = opening;
  look.status = status_.data();
  look.missing = missing;
  tree::SumJob<Pair, Space> sum{space, view, {}, {}, memory.local, nullptr, out, status_.data(), {}};
  std::uint32_t all = 0;
  for (const std::uint32_t count : cells.counts) all += count;
  constexpr int lists = 0, expansions = 1;  // parts of a batch that need those of the batch before
  streams_.begin(device_.stream(), all > at_once);
  std::vector<tree::WalkTargets> pieces;  // that have parents
  std::uint32_t begin = 0, filled = 0;    // of this batch
  const auto finish_batch = [&] {
    const BatchMemory& batch = memory.batch[streams_.turn()];
    const auto stream = streams_.stream();
    streams_.end_part(lists);
    sum.lists = batch.lists, sum.field = batch.field;
    sum.targets = {which, begin, filled};
    tree::sum_far(sum, opening.order, stream);
    streams_.begin_part(expansions);
    for (const auto& piece : pieces) {
      sum.targets = piece;
      tree::inherit(sum, opening.order, stream);
    }
    streams_.end_part(expansions);
    sum.targets = {which, begin, filled};
    tree::sum_fields(sum, opening.order, stream);
    if (work_) tree::count_work(sum.targets, view.link, batch.lists.head, work_, stream);
    sum.leaves = {};
    if (!tree::has_few_targets(sum)) {
      sum.leaves = batch.leaves;
      tree::order_leaves(sum.targets, view.link, batch.lists.head, batch.leaves, stream);
    }
    tree::sum_pairs(sum, stream);
    begin += filled, filled = 0;
    pieces.clear();
    streams_.next();
  };
  std::uint32_t* batch_counter = counter++;
  for (int level = 0; level < levels; ++level) {
    look.from = memory.passes[(level + 1) % 2];
    look.to = memory.passes[level % 2];
    look.to.pool.used = counter++;
    for (std::uint32_t left = cells.counts[static_cast<std::size_t>(level)]; left > 0;) {
      if (filled == 0) streams_.begin_part(lists);
      look.targets = {which, begin + filled, std::min(at_once - filled, left)};
      look.lists = memory.batch[streams_.turn()].lists;
      look.lists.head += filled;
      look.lists.place += std::int64_t{filled} * tree::list_room;
      look.lists.pool.used = batch_counter;
      tree::traverse(look, streams_.stream());
      if (level > 0) pieces.push_back(look.targets);
      filled += look.targets.count, left -= look.targets.count;
      if (filled < at_once) continue;
      finish_batch();
      batch_counter = counter++;
    }
  }
  if (filled > 0) finish_batch();
  streams_.end();
  status_.to_host(&status);
  return status.lists_most == 0 && status.passes_most == 0;
}

/// Where answers go, and the factors from units of the tree to those of the caller.
template <class State, class Pair>
tree::WalkOutput TreeTargetsCuda<State, Pair>::output(const Tree& on, unsigned want, double gravitational_constant,
                                                      const Forces<State>& forces) {
  tree::WalkOutput out;
  if (want & want_acceleration) out.ax = forces.ax, out.ay = forces.ay, out.az = forces.az;
  if (want & want_potential) out.potential = forces.potential;
  out.doubles = sizeof(State) == 8;
  out.per_psi = gravitational_constant * on.frame().mass / on.frame().side;
  out.per_gradient = out.per_psi / on.frame().side;
  out.order = on.order();
  return out;
}

/// For targets by place: all of them, or those listed.
template <class State, class Pair>
template <class Space>
std::int64_t TreeTargetsCuda<State, Pair>::serve(Tree& on, const Space& space, const tree::Opening& opening,
                                                 const Targets& targets, tree::WalkOutput out,
                                                 const std::function<void()>& begin) {
  const bool all = !targets.index && targets.count == on.count();
  if (!all) mark_active(on, targets);
  tree::ServedCells cells;
  for (int level = 0; level < on.level_count(); ++level)
    cells.counts.push_back(all ? on.level_begin(level + 1) - on.level_begin(level)
                               : active_count_[static_cast<std::size_t>(level)]);
  if (!all) cells.list = active_list_.data(), cells.slot = slot_.data();
  return serve(on, space, opening, cells, {}, out, begin);
}

/// For the own particles of a rank, the first `own` in memory.
template <class State, class Pair>
template <class Space>
std::int64_t TreeTargetsCuda<State, Pair>::serve_own(Tree& on, const Space& space, const tree::Opening& opening,
                                                     std::int64_t own, const tree::WalkOutput& out,
                                                     const std::function<void()>& begin) {
  if (own == on.count()) return serve(on, space, opening, Targets{nullptr, own, own}, out, begin);
  list_own(on, own);
  tree::ServedCells cells;
  cells.list = active_list_.data();
  cells.counts.assign(active_count_.begin(), active_count_.begin() + on.level_count());
  return serve(on, space, opening, cells, {}, out, begin);
}

/// Walks until the lists have room; `begin` is called before each attempt. Waits. Returns the lowest place whose force
/// is not finite, or the number of sources.
template <class State, class Pair>
template <class Space>
std::int64_t TreeTargetsCuda<State, Pair>::serve(Tree& on, const Space& space, const tree::Opening& opening,
                                                 const tree::ServedCells& served, const tree::MissingCells& missing,
                                                 tree::WalkOutput out, const std::function<void()>& begin) {
  out.slot = served.slot;
  const double cells = on.cells(), together = std::min(on.cells(), at_once);
  while (true) {
    begin();
    WalkMemory memory;
    const std::int64_t bytes = lay_out(on.cells(), opening.order, nullptr, memory);
    lay_out(on.cells(), opening.order, on.arena(bytes), memory);
    tree::WalkStatus status;
    if (try_walk(on, space, opening, memory, served, missing, out, status))
      return status.failed == std::numeric_limits<unsigned long long>::max() ? on.count()
                                                                             : static_cast<std::int64_t>(status.failed);
    list_segments_ = std::max(list_segments_, 1.25 * status.lists_most / together);
    pass_segments_ = std::max(pass_segments_, 1.25 * status.passes_most / cells);
  }
}

template class TreeTargetsCuda<float, float>;
template class TreeTargetsCuda<double, float>;
template class TreeTargetsCuda<double, double>;
template std::int64_t TreeTargetsCuda<float, float>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                           const Targets&, tree::WalkOutput,
                                                           const std::function<void()>&);
template std::int64_t TreeTargetsCuda<float, float>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                           const tree::ServedCells&, const tree::MissingCells&,
                                                           tree::WalkOutput, const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, float>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                            const tree::ServedCells&, const tree::MissingCells&,
                                                            tree::WalkOutput, const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, double>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                             const tree::ServedCells&, const tree::MissingCells&,
                                                             tree::WalkOutput, const std::function<void()>&);
template std::int64_t TreeTargetsCuda<float, float>::serve(Tree&, const tree::ShortRangeBox<float>&,
                                                           const tree::Opening&, const Targets&, tree::WalkOutput,
                                                           const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, float>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                            const Targets&, tree::WalkOutput,
                                                            const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, float>::serve(Tree&, const tree::ShortRangeBox<float>&,
                                                            const tree::Opening&, const Targets&, tree::WalkOutput,
                                                            const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, double>::serve(Tree&, const tree::OpenSpace&, const tree::Opening&,
                                                             const Targets&, tree::WalkOutput,
                                                             const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, double>::serve(Tree&, const tree::ShortRangeBox<double>&,
                                                             const tree::Opening&, const Targets&, tree::WalkOutput,
                                                             const std::function<void()>&);
template std::int64_t TreeTargetsCuda<float, float>::serve_own(Tree&, const tree::ShortRangeBox<float>&,
                                                               const tree::Opening&, std::int64_t,
                                                               const tree::WalkOutput&, const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, float>::serve_own(Tree&, const tree::ShortRangeBox<float>&,
                                                                const tree::Opening&, std::int64_t,
                                                                const tree::WalkOutput&, const std::function<void()>&);
template std::int64_t TreeTargetsCuda<double, double>::serve_own(Tree&, const tree::ShortRangeBox<double>&,
                                                                 const tree::Opening&, std::int64_t,
                                                                 const tree::WalkOutput&, const std::function<void()>&);
template void tree_failure_cuda(const Device&, std::int64_t, const Sources<float>&, const SolverOptions&);
template void tree_failure_cuda(const Device&, std::int64_t, const Sources<double>&, const SolverOptions&);

}  // namespace pergola

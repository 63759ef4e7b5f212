#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "device/launch.cuh"
#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/tree.hpp"
#include "tree/octree_cuda.cuh"
#include "tree/walk_cuda.cuh"

namespace pergola {

namespace {

template <class T>
void reserve(const Device& device, std::int64_t size, Buffer<T>& buffer) {
  if (buffer.size() < size) buffer = Buffer<T>(device, size);
}

template <class T>
std::vector<T> on_host(const Device& device, const T* values, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(values ? count : 0));
  if (!host.empty()) device.memory().to_host(host.data(), values, host.size() * sizeof(T));
  return host;
}

/// Parts of one piece of memory, one after the other, each at a multiple of 256 bytes.
class Parts {
 public:
  explicit Parts(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t size) {
    auto* const part = reinterpret_cast<T*>(memory_ + used_);
    used_ += (size * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return part;
  }
  std::int64_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::int64_t used_ = 0;
};

/// The tree solver on the device. Lists of the walk have room for a usual system; where they overflow, the walk is done
/// again with more.
template <Precision precision>
class TreeCuda final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeCuda(const SolverOptions& options, const Device& device)
      : options_(options), device_(device), opening_(tree_opening(options.tree, options.softening)), tree_(device) {}

  const SolverInfo& info() const override { return tree_info(); }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void save(StateBlocks& blocks) override { tree_.save(blocks); }
  bool restore(const StateBlocks& blocks, std::int64_t count) override {
    has_rank_ = false;
    return tree_.restore(blocks, count);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "tree: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto cells = static_cast<std::uint32_t>(n / tree::particles_per_cell + 1024);
    WalkMemory memory;
    const std::int64_t walk = lay_out(cells, nullptr, memory);
    return tree::OctreeCuda<Pair>::device_bytes(n, opening_.order) +
           std::max(walk, tree::OctreeCuda<Pair>::arena_bytes(n));
  }

  // The steps of prepare() and evaluate(). Public, for nvcc allows no device lambda in a private function.
  void take(const Sources<State>& from, bool moved);
  void mark_active(const Targets& targets);
  tree::WalkStatus walk(const tree::WalkOutput& out, bool all);

 private:
  /// Targets that are served together.
  static constexpr std::uint32_t at_once = 1 << 16;

  struct WalkMemory {
    Pair* local = nullptr;
    tree::PlacedMass<Pair>* field = nullptr;
    tree::WalkLists lists;
    tree::PassLists passes[2];
  };
  std::int64_t lay_out(std::uint32_t cells, std::byte* memory, WalkMemory& to) const;
  void start_status(std::int64_t counters);
  bool try_walk(const WalkMemory& memory, const tree::WalkOutput& out, bool all, tree::WalkStatus& status);
  std::uint32_t targets_of(int level, bool all) const {
    return all ? tree_.level_begin(level + 1) - tree_.level_begin(level)
               : active_count_[static_cast<std::size_t>(level)];
  }

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::Opening opening_;
  tree::OctreeCuda<Pair> tree_;
  Sources<State> sources_;
  /// Segments of lists: per target served together, and per cell of the tree.
  double list_segments_ = 2, pass_segments_ = 0.125;
  Buffer<tree::WalkStatus> status_;
  Buffer<std::uint32_t> counters_;
  // For a part of the sources: the place in the tree of each, its slot by place, the cells that hold one by level.
  bool has_rank_ = false;
  Buffer<std::uint32_t> rank_, slot_, active_, active_cells_, active_list_;
  std::array<std::uint32_t, tree::most_levels> active_count_{};
};

template <Precision precision>
void TreeCuda<precision>::take(const Sources<State>& from, bool moved) {
  check_tree_sources(from.count, from.ax != nullptr);
  sources_ = from;
  clock_->begin("tree");
  const tree::Points<State> points{from.count, from.x, from.y, from.z, from.mass, from.species, from.id};
  const tree::TreeSoftening softening = tree_softening(options_.softening, opening_);
  if (!moved || !tree_.refresh(points, softening, opening_.order)) {
    tree_.build(points, softening, opening_.order);
    has_rank_ = false;
  }
  clock_->end();
}

/// Slots and the cells that hold a target, for a part of the sources: work for the targets, not for all particles, the
/// first time after prepare() apart.
template <Precision precision>
void TreeCuda<precision>::mark_active(const Targets& targets) {
  const std::int64_t n = tree_.count(), cells = tree_.cells();
  reserve(device_, n, slot_);
  reserve(device_, cells + tree::most_levels, active_), reserve(device_, cells, active_cells_);
  const std::uint32_t* const order = tree_.order();
  if (!has_rank_) {
    reserve(device_, n, rank_);
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
  for (int level = 0; level < tree_.level_count(); ++level)
    begin[static_cast<std::size_t>(level)] = tree_.level_begin(level);
  cuda::launch("tree active", targets.count, device_.stream(),
               [=, rank = rank_.data(), slot = slot_.data(), list = active_cells_.data(),
                link = tree_.view().link] __device__(std::int64_t t) {
                 const std::uint32_t place = rank[targets.index ? targets.index[t] : targets.first + t];
                 slot[place] = static_cast<std::uint32_t>(t);
                 std::uint32_t cell = 0;
                 for (int level = 0;; ++level) {
                   if (active[cell] == 0 && atomicExch(&active[cell], 1u) == 0)
                     list[begin.data()[level] + atomicAdd(&counts[level], 1u)] = cell;
                   const tree::CellLink l = link[cell];
                   if (l.children == 0) return;
                   cell = l.child;
                   while (link[cell].first + link[cell].count <= place) ++cell;
                 }
               });
  device_.memory().to_host(active_count_.data(), counts, sizeof(active_count_));
  // One level after the other, without gaps.
  reserve(device_, cells, active_list_);
  std::uint32_t* to = active_list_.data();
  for (int level = 0; level < tree_.level_count(); ++level) {
    const std::uint32_t count = active_count_[static_cast<std::size_t>(level)];
    device_.memory().copy(to, active_cells_.data() + tree_.level_begin(level), std::size_t{count} * sizeof(*to));
    to += count;
  }
}

/// What the walk of a tree with so many cells needs, from `memory` on; returns its bytes.
template <Precision precision>
std::int64_t TreeCuda<precision>::lay_out(std::uint32_t cells, std::byte* memory, WalkMemory& to) const {
  Parts parts(memory);
  const std::uint32_t together = std::min(cells, at_once);
  const auto pool = [&](double segments) {
    tree::SegmentPool p;
    p.segments = static_cast<std::uint32_t>(segments) + 1024;
    p.entries = parts.template take<std::uint32_t>(std::int64_t{p.segments} * tree::segment_size);
    p.next = parts.template take<std::uint32_t>(p.segments);
    return p;
  };
  to.local = parts.template take<Pair>(std::int64_t{cells} * tree::multipole_stride(opening_.order));
  to.field = parts.template take<tree::PlacedMass<Pair>>(std::int64_t{together} * tree::leaf_capacity);
  to.passes[0].head = to.passes[1].head = parts.template take<tree::ListHead>(cells);
  for (auto& pass : to.passes) pass.pool = pool(pass_segments_ * cells);
  to.lists.head = parts.template take<tree::TargetLists>(together);
  to.lists.place = parts.template take<std::uint32_t>(std::int64_t{together} * tree::list_room);
  to.lists.pool = pool(list_segments_ * together);
  return parts.used();
}

template <Precision precision>
void TreeCuda<precision>::start_status(std::int64_t counters) {
  reserve(device_, 1, status_), reserve(device_, counters, counters_);
  status_.zero(), counters_.zero();
  cuda::check(
      cudaMemsetAsync(&status_.data()->failed, 0xff, sizeof(unsigned long long), cuda::handle(device_.stream())),
      "tree walk");
}

/// False when lists did not find room. Targets of one batch may be of several levels.
template <Precision precision>
bool TreeCuda<precision>::try_walk(const WalkMemory& memory, const tree::WalkOutput& out, bool all,
                                   tree::WalkStatus& status) {
  const int levels = tree_.level_count();
  start_status(levels + tree_.cells() / at_once + 2);
  std::uint32_t* counter = counters_.data();
  const auto view = tree_.view();
  const auto stream = device_.stream();
  const std::uint32_t* const which = all ? nullptr : active_list_.data();
  tree::TraverseJob look;
  look.record = view.record, look.link = view.link, look.parent = view.parent, look.acceleration = view.acceleration;
  look.law = view.law;
  look.opening = opening_;
  look.status = status_.data();
  tree::SumJob<Pair> sum{view, {}, memory.lists, memory.local, memory.field, out, status_.data()};
  std::vector<tree::WalkTargets> pieces;
  std::uint32_t begin = 0, filled = 0;  // of this batch
  const auto finish_batch = [&] {
    sum.targets = {which, begin, filled};
    tree::sum_far(sum, opening_.order, stream);
    for (const auto& piece : pieces) {
      sum.targets = piece;
      tree::inherit(sum, opening_.order, stream);
    }
    sum.targets = {which, begin, filled};
    tree::sum_fields(sum, opening_.order, stream);
    tree::sum_pairs(sum, stream);
    begin += filled, filled = 0;
    pieces.clear();
  };
  std::uint32_t* batch_counter = counter++;
  for (int level = 0; level < levels; ++level) {
    look.from = memory.passes[(level + 1) % 2];
    look.to = memory.passes[level % 2];
    look.to.pool.used = counter++;
    for (std::uint32_t left = targets_of(level, all); left > 0;) {
      look.targets = {which, begin + filled, std::min(at_once - filled, left)};
      look.lists = memory.lists;
      look.lists.head += filled;
      look.lists.place += std::int64_t{filled} * tree::list_room;
      look.lists.pool.used = batch_counter;
      tree::traverse(look, stream);
      pieces.push_back(look.targets);
      filled += look.targets.count, left -= look.targets.count;
      if (filled < at_once) continue;
      finish_batch();
      batch_counter = counter++;
    }
  }
  if (filled > 0) finish_batch();
  status_.to_host(&status);
  return status.lists_most == 0 && status.passes_most == 0;
}

template <Precision precision>
tree::WalkStatus TreeCuda<precision>::walk(const tree::WalkOutput& out, bool all) {
  const double cells = tree_.cells(), together = std::min(tree_.cells(), at_once);
  while (true) {
    WalkMemory memory;
    const std::int64_t bytes = lay_out(tree_.cells(), nullptr, memory);
    lay_out(tree_.cells(), tree_.arena(bytes), memory);
    tree::WalkStatus status;
    if (try_walk(memory, out, all, status)) return status;
    list_segments_ = std::max(list_segments_, 1.25 * status.lists_most / together);
    pass_segments_ = std::max(pass_segments_, 1.25 * status.passes_most / cells);
  }
}

template <Precision precision>
void TreeCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  device_.make_current();
  const bool all = !targets.index && targets.count == tree_.count();
  clock_->begin("walk");
  if (opening_.tolerance > 0) tree_.estimate_accelerations();
  if (!all) mark_active(targets);
  tree::WalkOutput out;
  if (want & want_acceleration) out.ax = forces.ax, out.ay = forces.ay, out.az = forces.az;
  if (want & want_potential) out.potential = forces.potential;
  out.doubles = sizeof(State) == 8;
  out.per_psi = options_.gravitational_constant * tree_.frame().mass / tree_.frame().side;
  out.per_gradient = out.per_psi / tree_.frame().side;
  out.order = tree_.order();
  out.slot = all ? nullptr : slot_.data();
  const auto status = walk(out, all);
  clock_->end();
  if (status.failed == std::numeric_limits<unsigned long long>::max()) return;
  const auto x = on_host(device_, sources_.x, sources_.count), y = on_host(device_, sources_.y, sources_.count),
             z = on_host(device_, sources_.z, sources_.count);
  const auto species = on_host(device_, sources_.species, sources_.count);
  tree_failure(static_cast<std::int64_t>(status.failed), sources_.count, x.data(), y.data(), z.data(),
               species.empty() ? nullptr : species.data(), options_);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cuda(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreeCuda>(options, device);
}
template std::unique_ptr<Solver<float>> make_tree_cuda(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_tree_cuda(const SolverOptions& options, const Device& device);

}  // namespace pergola

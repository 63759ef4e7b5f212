#include <fmt/core.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/tree.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

namespace {

/// Particles of a task, about: enough tasks for many threads, and few enough cells above them. It does not depend on
/// the number of threads.
constexpr std::uint32_t grain = 2048;
constexpr std::int64_t chunk = 8192, target_chunk = 256;

template <Precision precision>
class TreeCpu final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeCpu(const SolverOptions& options, const Device& device)
      : options_(options), device_(device), opening_(tree_opening(options.tree, options.softening)), tree_(device) {}

  const SolverInfo& info() const override { return tree_info(); }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void save(StateBlocks& blocks) override { tree_.save(blocks); }
  bool restore(const StateBlocks& blocks, std::int64_t count) override {
    has_rank_ = false;
    return tree_.restore(blocks, count, opening_.order);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "tree: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    // Keys and places twice, positions and masses in the tree's order, about one cell for six particles.
    const std::int64_t particle = 2 * (8 + 4) + 4 * 8 + 4 * static_cast<std::int64_t>(sizeof(Pair));
    const std::int64_t terms = tree::multipole_stride(opening_.order);
    const std::int64_t cell = 64 + 56 + 32 + terms * static_cast<std::int64_t>(sizeof(Pair));
    return n * particle + n / 6 * cell;
  }

 private:
  struct Output {
    TreeCpu* solver;
    const Forces<State>* forces;
    unsigned want;
    double per_psi, per_gradient;
    std::atomic<std::int64_t> failed;
  };

  void take(const Sources<State>& from, bool moved);
  void mark_active(const Targets& targets);
  static void put(void* context, std::uint32_t place, const double (&field)[4]);

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::Opening opening_;
  tree::OctreeCpu<Pair> tree_;
  Sources<State> sources_;
  bool all_ask_ = true;
  // For a part of the sources: the place in the tree of each; by place whether it asks, and its number among the
  // targets; the cells that hold one.
  bool has_rank_ = false;
  std::vector<std::uint32_t> rank_;
  std::vector<std::int64_t> slot_;
  std::vector<std::uint8_t> active_particle_, active_cell_;
};

template <Precision precision>
void TreeCpu<precision>::take(const Sources<State>& from, bool moved) {
  check_tree_sources(from.count, from.ax != nullptr);
  sources_ = from;
  clock_->begin("tree");
  const tree::Points<State> points{from.count, from.x, from.y, from.z, from.mass, from.species, from.id};
  const tree::TreeSoftening softening = tree_softening(options_.softening, opening_);
  if (!moved || !tree_.refresh(points, softening)) {
    tree_.build(points, softening, opening_.order, opening_.tolerance > 0);
    has_rank_ = false;
  }
  clock_->end();
}

/// Slots and the cells that hold a target, for a part of the sources: work for the targets, not for all particles, but
/// for the first time after a tree was built.
template <Precision precision>
void TreeCpu<precision>::mark_active(const Targets& targets) {
  const std::int64_t n = tree_.count();
  const auto size = static_cast<std::size_t>(n);
  const std::uint32_t* const order = tree_.order();
  if (!has_rank_) {
    rank_.resize(size);
    parallel_chunks(device_.threads(), n, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) rank_[order[k]] = static_cast<std::uint32_t>(k);
    });
    has_rank_ = true;
  }
  const auto& link = tree_.cells().link;
  slot_.resize(size);
  active_particle_.assign(size, 0);
  active_cell_.assign(link.size(), 0);
  parallel_chunks(device_.threads(), targets.count, target_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const auto source = static_cast<std::size_t>(targets.index ? targets.index[t] : targets.first + t);
      const std::uint32_t place = rank_[source];
      slot_[place] = t;
      active_particle_[place] = 1;
      for (std::uint32_t cell = 0;;) {
        std::atomic_ref(active_cell_[cell]).store(1, std::memory_order_relaxed);
        if (link[cell].children == 0) break;
        cell = link[cell].child;
        while (link[cell].first + link[cell].count <= place) ++cell;
      }
    }
  });
}

template <Precision precision>
void TreeCpu<precision>::put(void* context, std::uint32_t place, const double (&field)[4]) {
  auto& out = *static_cast<Output*>(context);
  const std::int64_t source = out.solver->tree_.order()[place];
  const std::int64_t to = out.solver->all_ask_ ? source : out.solver->slot_[place];
  bool finite = true;
  const auto write = [&](State* values, double value) {
    values[to] = static_cast<State>(value);
    finite = finite && std::isfinite(values[to]);
  };
  if (out.want & want_acceleration) {
    write(out.forces->ax, out.per_gradient * field[1]);
    write(out.forces->ay, out.per_gradient * field[2]);
    write(out.forces->az, out.per_gradient * field[3]);
  }
  if (out.want & want_potential) write(out.forces->potential, -out.per_psi * field[0]);
  std::int64_t lowest = out.failed.load();
  while (!finite && source < lowest && !out.failed.compare_exchange_weak(lowest, source)) {
  }
}

template <Precision precision>
void TreeCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  all_ask_ = !targets.index && targets.count == tree_.count();
  clock_->begin("walk");
  if (!all_ask_) mark_active(targets);
  const tree::ActiveSet active =
      all_ask_ ? tree::ActiveSet{} : tree::ActiveSet{active_particle_.data(), active_cell_.data()};
  const auto& frame = tree_.frame();
  const double per_psi = options_.gravitational_constant * frame.mass / frame.side;
  Output out{this, &forces, want, per_psi, per_psi / frame.side, tree_.count()};
  const tree::Sink sink{&out, &TreeCpu::put};
  const auto view = tree_.view();
  const auto tasks = tree::begin_walk(view, opening_, active, grain, sink);
  parallel_for(device_.threads(), std::ssize(tasks), [&](std::int64_t k) {
    if (out.failed == tree_.count()) tree::walk(view, opening_, active, tasks[static_cast<std::size_t>(k)], sink);
  });
  clock_->end();
  if (out.failed < tree_.count())
    tree_failure(out.failed, sources_.count, sources_.x, sources_.y, sources_.z, sources_.species, options_);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreeCpu>(options, device);
}
template std::unique_ptr<Solver<float>> make_tree_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_tree_cpu(const SolverOptions& options, const Device& device);

}  // namespace pergola

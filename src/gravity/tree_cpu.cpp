#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/tree.hpp"
#include "gravity/tree_targets.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

namespace {

template <Precision precision>
class TreeCpu final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeCpu(const SolverOptions& options, const Device& device)
      : options_(options),
        device_(device),
        opening_(tree_opening(options.tree, options.softening)),
        tree_(device),
        targets_(device) {}

  const SolverInfo& info() const override { return tree_info(); }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void save(StateBlocks& blocks) override { tree_.save(blocks); }
  bool restore(const StateBlocks& blocks, std::int64_t count) override {
    targets_.forget();
    return tree_.restore(blocks, count, opening_.order);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "tree: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    return tree_.device_bytes(n, opening_.order, tree_softening(options_.softening, opening_));
  }

 private:
  void take(const Sources<State>& from, bool moved);

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::Opening opening_;
  tree::OctreeCpu<Pair> tree_;
  TreeTargets<State, Pair> targets_;
  Sources<State> sources_;
};

template <Precision precision>
void TreeCpu<precision>::take(const Sources<State>& from, bool moved) {
  check_tree_sources(from.count, from.ax != nullptr);
  sources_ = from;
  clock_->begin("tree");
  const tree::Points<State> points{from.count, from.x, from.y, from.z, from.mass, from.species, from.id, {}};
  const tree::TreeSoftening softening = tree_softening(options_.softening, opening_);
  if (!moved || !tree_.refresh(points, softening)) {
    tree_.build(points, softening, opening_.order, opening_.tolerance > 0);
    targets_.forget();
  }
  clock_->end();
}

template <Precision precision>
void TreeCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  clock_->begin("walk");
  const auto view = tree_.view();
  const std::int64_t failed = targets_.serve(
      tree_, targets, want, options_.gravitational_constant, forces,
      [&](const tree::ActiveSet& active, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_walk(view, opening_, active, grain, sink);
      },
      [&](const tree::ActiveSet& active, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::walk(view, opening_, active, task, sink);
      });
  clock_->end();
  if (failed < tree_.count())
    tree_failure(failed, sources_.count, sources_.x, sources_.y, sources_.z, sources_.species, options_);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreeCpu>(options, device);
}
template std::unique_ptr<Solver<float>> make_tree_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_tree_cpu(const SolverOptions& options, const Device& device);

}  // namespace pergola

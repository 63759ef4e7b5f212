#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/tree_targets_cuda.cuh"

namespace pergola {

namespace {

/// The tree solver on the device.
template <Precision precision>
class TreeCuda final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeCuda(const SolverOptions& options, const Device& device)
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
    return tree_.restore(blocks, count);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "tree: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    return targets_.device_bytes(n, opening_.order, tree_softening(options_.softening, opening_));
  }

 private:
  void take(const Sources<State>& from, bool moved);

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::Opening opening_;
  tree::OctreeCuda<Pair> tree_;
  TreeTargetsCuda<State, Pair> targets_;
  Sources<State> sources_;
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
    targets_.forget();
  }
  clock_->end();
}

template <Precision precision>
void TreeCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  device_.make_current();
  clock_->begin("walk");
  if (opening_.tolerance > 0) tree_.estimate_accelerations();
  const auto out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  const std::int64_t failed = targets_.serve(tree_, tree::OpenSpace(), opening_, targets, out);
  clock_->end();
  if (failed < tree_.count()) tree_failure_cuda(device_, failed, sources_, options_);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cuda(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreeCuda>(options, device);
}
template std::unique_ptr<Solver<float>> make_tree_cuda(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_tree_cuda(const SolverOptions& options, const Device& device);

}  // namespace pergola

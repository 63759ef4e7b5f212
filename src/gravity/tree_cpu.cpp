// The tree alone, in open space, on the CPU.
#include "gravity/solver.hpp"
#include "gravity/tree_solver.hpp"
#include "gravity/tree_targets.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

namespace {

template <Precision precision>
class TreeCpu final : public TreeSolver<precision, tree::OctreeCpu, TreeTargets> {
 public:
  using Base = TreeSolver<precision, tree::OctreeCpu, TreeTargets>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override {
    return tree_.device_bytes(n, opening_.order, this->softening());
  }

 private:
  using Base::options_, Base::clock_, Base::opening_, Base::tree_, Base::targets_, Base::sources_;

  bool refresh(const tree::Points<State>& points) override {
    return tree_.refresh(points, this->softening(), opening_.order);
  }
  void build(const tree::Points<State>& points) override {
    tree_.build(points, this->softening(), opening_.order, opening_.tolerance > 0);
  }
};

template <Precision precision>
void TreeCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  clock_->begin("walk");
  const auto view = tree_.view();
  const std::int64_t failed = targets_.serve(
      tree_, targets, want, options_.gravitational_constant, forces,
      [&](const tree::ActiveSet& active, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_walk(view, tree::OpenSpace(), opening_, active, grain, sink);
      },
      [&](const tree::ActiveSet& active, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::walk(view, tree::OpenSpace(), opening_, active, task, sink);
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

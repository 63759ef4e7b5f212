// The tree alone, in open space, on a GPU.
#include "gravity/solver.hpp"
#include "gravity/tree_solver.hpp"
#include "gravity/tree_targets_cuda.cuh"

namespace pergola {

namespace {

/// The tree solver on the device.
template <Precision precision>
class TreeCuda final : public TreeSolver<precision, tree::OctreeCuda, TreeTargetsCuda> {
 public:
  using Base = TreeSolver<precision, tree::OctreeCuda, TreeTargetsCuda>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override {
    return targets_.device_bytes(n, opening_.order, this->softening(), {}, 0);
  }

 private:
  using Base::options_, Base::device_, Base::clock_, Base::opening_, Base::tree_, Base::targets_, Base::sources_;

  bool refresh(const tree::Points<State>& points) override {
    return tree_.refresh(points, this->softening(), opening_.order);
  }
  void build(const tree::Points<State>& points) override { tree_.build(points, this->softening(), opening_.order); }
};

template <Precision precision>
void TreeCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  device_.make_current();
  clock_->begin("walk");
  if (opening_.tolerance > 0) tree_.estimate_accelerations();
  const auto out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  const std::int64_t failed = targets_.serve(tree_, tree::OpenSpace(), opening_, targets, out, [] {});
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

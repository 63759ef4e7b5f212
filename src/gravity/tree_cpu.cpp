// The tree alone, in open space, on the CPU.
#include "gravity/tree_cpu.hpp"

#include "gravity/solver.hpp"

namespace pergola {

namespace {

template <Precision precision, template <class> class TreeOf>
class TreeCpu final : public TreeOnCpu<TreeSolver<precision, TreeOf, TreeTargets>> {
 public:
  using Base = TreeOnCpu<TreeSolver<precision, TreeOf, TreeTargets>>;
  using Base::Base;
  using typename Base::State;

  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override {
    return Base::divide_points(Base::points(sources, {}), this->softening(), kept);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override {
    if (tree_.total() == 0 || (!Base::on_ranks && targets.count == 0)) return;
    check_tree_wants(want);
    this->serve(targets, want, forces, tree::OpenSpace(), opening_);
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    return this->tree_bytes(n, opening_.order, this->softening());
  }

 private:
  using Base::opening_, Base::tree_;

  bool refresh(const tree::Points<State>& points) override {
    return tree_.refresh(points, this->softening(), opening_.order);
  }
  void build(const tree::Points<State>& points) override {
    tree_.build(points, this->softening(), opening_.order, opening_.tolerance > 0);
  }
};

template <Precision precision>
using TreeOnOneProcess = TreeCpu<precision, tree::OctreeCpu>;
template <Precision precision>
using TreeOnRanks = TreeCpu<precision, tree::DistributedOctree>;

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreeOnOneProcess>(options, device);
}
template std::unique_ptr<Solver<float>> make_tree_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_tree_cpu(const SolverOptions& options, const Device& device);

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree_cpu(const SolverOptions& options, const Device& device,
                                                        std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, TreeOnRanks>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_tree_cpu(const SolverOptions&, const Device&,
                                                                  std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_tree_cpu(const SolverOptions&, const Device&,
                                                                   std::shared_ptr<Communicator>);

}  // namespace pergola

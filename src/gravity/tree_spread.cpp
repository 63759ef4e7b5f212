#include "gravity/tree_spread.hpp"

#include "gravity/solver.hpp"

namespace pergola {

namespace {

/// The tree alone, in open space, over particles that ranks own by its cells: the forces of one rank, bit for bit.
template <Precision precision>
class TreeSpread final : public DistributedTreeSolver<precision> {
 public:
  using Base = DistributedTreeSolver<precision>;
  using typename Base::State, typename Base::Pair;

  TreeSpread(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : Base(options, device, std::move(ranks)), opening_(tree_opening(options.tree, options.softening)) {}

  const SolverInfo& info() const override { return tree_info(); }
  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override {
    check_tree_sources(sources.count, sources.ax != nullptr);
    clock_->begin("to owners");
    return {&tree_.divide(Base::points(sources, {}), softening(), kept)};
  }
  void prepare(const Sources<State>& sources) override {
    this->sources_ = sources;
    clock_->begin("tree");
    tree_.build(Base::points(sources, {}), softening(), opening_.order);
    if (opening_.tolerance > 0) tree_.estimate_accelerations();
    clock_->end();
  }
  bool update(const Sources<State>& sources) override {
    this->sources_ = sources;
    clock_->begin("tree");
    const bool serves = tree_.refresh(Base::points(sources, {}), softening(), opening_.order);
    clock_->end();
    return serves;
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override { return this->tree_bytes(n, opening_); }

 private:
  using Base::clock_, Base::tree_;

  tree::TreeSoftening softening() const { return tree_softening(this->softening_, opening_); }
  bool in_box() const override { return false; }

  tree::Opening opening_;
};

template <Precision precision>
void TreeSpread<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  this->serve(
      targets, want, forces, tree::OpenSpace(), opening_,
      [&](const auto& view, const tree::ActiveSet& own, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_walk(view, tree::OpenSpace(), opening_, own, grain, sink);
      },
      [&](const auto& view, const tree::ActiveSet& own, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::walk(view, tree::OpenSpace(), opening_, own, task, sink);
      });
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree(const SolverOptions& options, const Device& device,
                                                    std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, TreeSpread>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_tree(const SolverOptions&, const Device&,
                                                              std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_tree(const SolverOptions&, const Device&,
                                                               std::shared_ptr<Communicator>);

}  // namespace pergola

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "device/launch.cuh"
#include "device/stage_clock.hpp"
#include "gravity/solver.hpp"
#include "gravity/spread_failure.hpp"
#include "gravity/tree.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "tree/spread_memory_cuda.cuh"
#include "tree/spread_octree_cuda.cuh"
#include "tree/tree_domains_cuda.cuh"

namespace pergola {

namespace {

/// The tree alone, in open space, over particles that GPUs own by its cells: the forces of one rank, bit for bit.
template <Precision precision>
class TreeSpreadCuda final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeSpreadCuda(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : options_(options),
        softening_(options.softening),
        opening_(tree_opening(options.tree, options.softening)),
        device_(device),
        ranks_(std::move(ranks)),
        messages_(std::make_shared<DeviceMessages>(device, ranks_)),
        domains_(messages_, ranks_),
        tree_(device, ranks_),
        targets_(device) {}

  const SolverInfo& info() const override { return tree_info(); }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void set_softening(const Softening& softening) override { softening_ = softening; }
  bool divides() const override { return true; }
  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override;
  void prepare(const Sources<State>& sources) override;
  bool update(const Sources<State>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  /// With as many on the other ranks.
  std::int64_t device_bytes(std::int64_t n) const override;
  void put_aside(tree::KeptTree& to) override {
    if (total_ > 0) tree_.keep(to);
  }
  bool take_up(const tree::KeptTree& from) override {
    if (from.kind != tree::tree_kind(device_, false)) return false;
    again_ = &from;
    walked_ = false;
    return true;
  }
  void give_back_memory() override {
    tree_.give_back_memory();
    domains_.give_back_memory();
  }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, this->info().name + ": gives no neighbour lists; use the direct solver");
  }

  // A step of evaluate(). Public, for nvcc allows no device lambda in a private function.
  tree::ServedCells asking(const Targets& targets);

 private:
  tree::TreeSoftening softening() const { return tree_softening(softening_, opening_); }
  static tree::Points<State> points(const Sources<State>& of) {
    return {of.count, of.x, of.y, of.z, of.mass, of.species, of.id, {}};
  }
  /// The tree's, which nobody uses between a walk and the next build.
  LentMemory arena() {
    return [this](std::int64_t bytes) { return tree_.arena(bytes); };
  }
  bool weighing_pays();
  std::int64_t serve(const tree::ServedCells& cells, unsigned want, const Forces<State>& forces);

  SolverOptions options_;
  Softening softening_;  // now
  tree::Opening opening_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  std::shared_ptr<DeviceMessages> messages_;  // of all ways; the tree has its own
  tree::TreeDomains<State> domains_;
  tree::TopTree top_;                      // as particles are divided now, until the tree is built
  const tree::KeptTree* again_ = nullptr;  // not null: the tree is yet to be made of it
  tree::DistributedOctreeCuda<Pair> tree_;
  TreeTargetsCuda<State, Pair> targets_;
  Sources<State> sources_;
  std::int64_t total_ = 0;  // particles on all ranks
  bool walked_ = false;     // since the tree was built
  bool weighs_ = false;     // work is so uneven that domains are cut by it
  std::int64_t times_ = 0;  // so often particles have been taken since then
  Buffer<std::uint32_t> asked_;
};

template <Precision precision>
Division TreeSpreadCuda<precision>::divide(const Sources<State>& sources, const tree::KeptTree* kept) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  total_ = sources.count;
  ranks_->all_reduce(&total_, 1, Reduction::sum);
  check_tree_sources(total_, false);
  if (total_ == 0) return {};
  clock_->begin("to owners");
  if (std::exchange(walked_, false) && weighing_pays()) tree_.find_weights(times_, domains_.weights(tree_.count()));
  top_ = domains_.cut(points(sources), softening(), total_, arena(), kept);
  return {&domains_.way(), arena()};
}

template <Precision precision>
void TreeSpreadCuda<precision>::prepare(const Sources<State>& sources) {
  device_.make_current();
  sources_ = sources;
  again_ = nullptr;
  times_ = 1;
  if (total_ == 0) return;
  clock_->begin("tree");
  tree_.template build<State>(points(sources), softening(), opening_.order, domains_.frame(), std::move(top_));
  clock_->end();
}

template <Precision precision>
bool TreeSpreadCuda<precision>::update(const Sources<State>& sources) {
  device_.make_current();
  sources_ = sources;
  const tree::KeptTree* const again = std::exchange(again_, nullptr);
  std::int64_t differs = sources.count != (again ? again->count() : tree_.count()) ? 1 : 0;
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  if (differs) return false;
  if (total_ == 0) return true;
  clock_->begin("tree");
  times_ = again ? 1 : times_ + 1;
  const bool serves =
      again ? tree_.template make_again<State>(points(sources), *again, softening(), opening_.order, std::move(top_))
            : tree_.template refresh<State>(points(sources), softening(), opening_.order);
  clock_->end();
  return serves;
}

/// Weights take their time too: domains of as many particles will do until the busiest rank has a tenth more than the
/// mean.
template <Precision precision>
bool TreeSpreadCuda<precision>::weighing_pays() {
  if (weighs_) return true;
  std::vector<std::int64_t> work(static_cast<std::size_t>(ranks_->size()));
  work[static_cast<std::size_t>(ranks_->rank())] = tree_.counted_work(times_);
  ranks_->all_reduce(work.data(), work.size(), Reduction::sum);
  const std::int64_t all = std::reduce(work.begin(), work.end());
  weighs_ = *std::max_element(work.begin(), work.end()) * ranks_->size() > all + all / 10;
  return weighs_;
}

/// The walk for particles here, again where it has missed something. Returns the lowest source whose force is not
/// finite, or how many there are.
template <Precision precision>
std::int64_t TreeSpreadCuda<precision>::serve(const tree::ServedCells& cells, unsigned want,
                                              const Forces<State>& forces) {
  tree_.fetch_for_walk(opening_, cells);
  walked_ = true;
  targets_.count_work(tree_.work());
  clock_->begin("walk");
  const tree::WalkOutput out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  std::int64_t failed = tree_.count();
  do {
    on_all(*ranks_, [&] {
      if (!cells.counts.empty() && cells.counts[0] > 0)
        failed = targets_.serve(tree_, tree::OpenSpace(), opening_, cells, tree_.missing(), out, [] {});
    });
  } while (tree_.fetch_missing());
  return failed;
}

/// The cells of targets that are not all sources.
template <Precision precision>
tree::ServedCells TreeSpreadCuda<precision>::asking(const Targets& targets) {
  Arena(device_).room(asked_, targets.count);
  cuda::launch("tree targets", targets.count, device_.stream(),
               [targets, to = asked_.data()] __device__(std::int64_t t) {
                 to[t] = static_cast<std::uint32_t>(targets.index ? targets.index[t] : targets.first + t);
               });
  return tree_.asking(asked_.data(), targets.count);
}

template <Precision precision>
void TreeSpreadCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  check_tree_wants(want);
  if (total_ == 0) return;
  device_.make_current();
  std::int64_t all = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&all, 1, Reduction::minimum);
  clock_->begin("estimate");
  if (opening_.tolerance > 0) tree_.estimate_accelerations();
  const tree::ServedCells cells = all ? tree_.own() : asking(targets);
  clock_->begin("branches");
  check_distributed_forces(*ranks_, device_, serve(cells, want, forces), sources_, options_);
  clock_->end();
}

template <Precision precision>
std::int64_t TreeSpreadCuda<precision>::device_bytes(std::int64_t n) const {
  return messages_->bytes(domains_.way().message_bytes(n)) + domains_.device_bytes(n) +
         tree::distributed_tree_bytes<Pair>(n, opening_.order, ranks_->size()) +
         targets_.device_bytes(n, opening_.order, softening(), {}, 0);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree_cuda(const SolverOptions& options, const Device& device,
                                                         std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, TreeSpreadCuda>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_tree_cuda(const SolverOptions&, const Device&,
                                                                   std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_tree_cuda(const SolverOptions&, const Device&,
                                                                    std::shared_ptr<Communicator>);

}  // namespace pergola

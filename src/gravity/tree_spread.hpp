#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "gravity/spread_failure.hpp"
#include "gravity/tree.hpp"
#include "gravity/tree_targets.hpp"
#include "tree/kept_tree.hpp"
#include "tree/spread_octree.hpp"
#include "tree/walk.hpp"

namespace pergola {

/// What solvers share whose tree is over particles that ranks own by its cells, on the CPU.
template <Precision precision>
class DistributedTreeSolver : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  DistributedTreeSolver(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : options_(options),
        softening_(options.softening),
        device_(device),
        ranks_(std::move(ranks)),
        tree_(device, ranks_),
        targets_(device) {}

  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void set_softening(const Softening& softening) override { softening_ = softening; }
  bool divides() const override { return true; }
  void put_aside(tree::KeptTree& to) override {
    if (tree_.total() > 0) tree_.keep(to);
  }
  bool take_up(const tree::KeptTree& from) override {
    if (from.kind != tree::tree_kind(device_, in_box())) return false;
    tree_.take_up(from);
    return true;
  }
  void give_back_memory() override { tree_.give_back_memory(); }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, this->info().name + ": gives no neighbour lists; use the direct solver");
  }

 protected:
  /// Of the tree. What is fetched from other ranks is taken for so many of a rank's own particles: fewer with more of
  /// them, for it lies around a domain.
  std::int64_t tree_bytes(std::int64_t n, const tree::Opening& opening) const {
    constexpr std::int64_t own_per_fetched = 8;
    // Each has a place in the list of those that leave, a number in a message and a weight.
    constexpr std::int64_t divided_bytes = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
    return tree_.device_bytes(n + n / own_per_fetched, opening.order, tree_softening(softening_, opening)) +
           n * divided_bytes;
  }
  static tree::Points<State> points(const Sources<State>& of, const Box& box) {
    return {of.count, of.x, of.y, of.z, of.mass, of.species, of.id, box};
  }
  virtual bool in_box() const = 0;
  /// The walk for the targets of all ranks, with what it needs of other ranks fetched before. begin(view, active,
  /// grain, sink) gives its tasks, walk(view, active, task, sink) does one.
  template <class Space, class Begin, class Walk>
  void serve(const Targets& targets, unsigned want, const Forces<State>& forces, const Space& space,
             const tree::Opening& opening, const Begin& begin, const Walk& walk);

  SolverOptions options_;
  Softening softening_;  // now
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::DistributedOctree<Pair> tree_;
  TreeTargets<State, Pair> targets_;
  Sources<State> sources_;

 private:
  std::vector<std::uint8_t> marks_of(const Targets& targets, bool& all) const;
};

/// Where all particles of all ranks ask, there are no marks.
template <Precision precision>
std::vector<std::uint8_t> DistributedTreeSolver<precision>::marks_of(const Targets& targets, bool& all) const {
  std::int64_t every = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&every, 1, Reduction::minimum);
  all = every == 1;
  std::vector<std::uint8_t> marks(all ? 0 : static_cast<std::size_t>(sources_.count));
  for (std::int64_t t = 0; !all && t < targets.count; ++t)
    marks[static_cast<std::size_t>(targets.index ? targets.index[t] : targets.first + t)] = 1;
  return marks;
}

template <Precision precision>
template <class Space, class Begin, class Walk>
void DistributedTreeSolver<precision>::serve(const Targets& targets, unsigned want, const Forces<State>& forces,
                                             const Space& space, const tree::Opening& opening, const Begin& begin,
                                             const Walk& walk) {
  check_tree_wants(want);
  if (tree_.total() == 0) return;
  clock_->begin("tree");
  bool all = true;
  const std::vector<std::uint8_t> marks = marks_of(targets, all);
  const tree::ActiveSet active = all ? tree_.own() : tree_.asking(marks);
  tree_.fetch_for_walk(space, opening, active);
  clock_->begin("walk");
  const std::int64_t n = tree_.count();
  Forces<State> here = forces;  // by source
  if (!all) {
    here.ax = tree_.template room<State>(0), here.ay = tree_.template room<State>(1);
    here.az = tree_.template room<State>(2), here.potential = tree_.template room<State>(3);
  }
  std::int64_t failed = n;
  on_all(*ranks_, [&] {
    const auto view = tree_.view();
    failed = targets_.serve(
        tree_, {.count = n, .total = n}, want, options_.gravitational_constant, here,
        [&](const tree::ActiveSet&, std::uint32_t grain, const tree::Sink& sink) {
          return begin(view, active, grain, tree_.counting(sink));
        },
        [&](const tree::ActiveSet&, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
          walk(view, active, task, tree_.counting(sink));
        });
  });
  check_distributed_forces(*ranks_, device_, failed, sources_, options_);
  const auto pick = [&](unsigned what, const State* values, State* to) {
    if (all || !(want & what)) return;
    for (std::int64_t t = 0; t < targets.count; ++t)
      to[t] = values[targets.index ? targets.index[t] : targets.first + t];
  };
  pick(want_acceleration, here.ax, forces.ax), pick(want_acceleration, here.ay, forces.ay);
  pick(want_acceleration, here.az, forces.az), pick(want_potential, here.potential, forces.potential);
  clock_->end();
}

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "gravity/source_moves.hpp"
#include "gravity/spread_failure.hpp"
#include "gravity/tree.hpp"
#include "gravity/tree_targets.hpp"
#include "tree/kept_tree.hpp"
#include "tree/spread_octree.hpp"
#include "tree/walk.hpp"

namespace pergola {

/// What solvers share whose tree is over particles distributed over ranks, on the CPU.
template <Precision precision>
class DistributedTreeSolver : public Solver<typename TreeNumbers<precision>::State>, public SourceMoves {
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
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void save(StateSource& to) override { tree::save_tree(to, tree::tree_kind(device_, in_box()), tree_.keep()); }
  bool restore(StateInput& from, std::int64_t count) override {
    std::shared_ptr<const tree::KeptTree> kept;
    on_all(*ranks_, [&] {
      kept = tree::restore_tree(from, tree::tree_kind(device_, in_box()), device_, {count, ranks_->size()},
                                ranks_->rank());
    });
    const bool found = kept != nullptr;
    if (found) tree_.take_up(std::move(kept));
    return found;
  }
  void put_aside() override { aside_ = tree_.keep(); }
  void take_up() override { tree_.take_up(std::exchange(aside_, nullptr)); }
  void give_back_memory() override { tree_.give_back_memory(); }
  Routing* way() override { return tree_.total() > 0 ? &tree_.routing() : nullptr; }
  void have_come(View<const std::uint32_t> places) override { tree_.keep_here({places.begin(), places.end()}); }
  void have_left(const Routing& home, View<const std::uint32_t> places) override {
    tree_.keep_elsewhere(home.reversed({places.begin(), places.end()}));
  }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, this->info().name + ": gives no neighbour lists; use the direct solver");
  }

 protected:
  /// Of the tree. What is fetched from other ranks is taken for so many of a rank's own particles: fewer with more of
  /// them, for it lies around a domain.
  std::int64_t tree_bytes(std::int64_t n, const tree::Opening& opening) const {
    constexpr std::int64_t own_per_fetched = 8;
    // One that arrives has a spare number, and a species where softening differs by it; one that is kept a place in the
    // list of those that leave, a number in a message and a weight.
    const tree::TreeSoftening softening = tree_softening(softening_, opening);
    const std::int64_t routed_bytes =
        sizeof(double) + (softening.uniform ? 0 : 1) + 2 * sizeof(std::uint32_t) + sizeof(State);
    return tree_.device_bytes(n + n / own_per_fetched, opening.order, softening) + n * routed_bytes;
  }
  static tree::Points<State> points(const Sources<State>& of, const Box& box) {
    return {of.count, of.x, of.y, of.z, of.mass, of.species, of.id, box};
  }
  /// The sources at a time; moved: those of the last time.
  virtual void take(const Sources<State>& sources, bool moved) = 0;
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
  std::shared_ptr<const tree::KeptTree> aside_;

 private:
  std::vector<std::uint8_t> marks_of(const Targets& targets, bool& all) const;
  [[noreturn]] void fail(std::int64_t arrived) const;
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
  std::vector<std::uint32_t> few;
  const tree::ActiveSet active = all ? tree_.own() : tree_.asking(marks, few);
  tree_.fetch_for_walk(space, opening, active);
  clock_->begin("walk");
  const std::int64_t n = tree_.count();
  Forces<State> here;  // in memory of the tree
  if (want & want_acceleration)
    here.ax = tree_.template room<State>(0), here.ay = tree_.template room<State>(1),
    here.az = tree_.template room<State>(2);
  if (want & want_potential) here.potential = tree_.template room<State>(3);
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
  std::int64_t any = failed < n ? 1 : 0;
  ranks_->all_reduce(&any, 1, Reduction::maximum);
  if (any) fail(failed);
  if (all) {
    if (want & want_acceleration)
      tree_.template send_back<State>({here.ax, here.ay, here.az}, {forces.ax, forces.ay, forces.az});
    if (want & want_potential) tree_.routing().back(here.potential, forces.potential);
    return clock_->end();
  }
  const Routing some = tree_.routing().of(marks);
  std::vector<State> answers(few.size()), kept(static_cast<std::size_t>(sources_.count));
  const auto send = [&](unsigned what, const State* values, State* to) {
    if (!(want & what)) return;
    for (std::size_t k = 0; k < few.size(); ++k) answers[k] = values[few[k]];
    some.back(answers.data(), kept.data());
    for (std::int64_t t = 0; t < targets.count; ++t)
      to[t] = kept[static_cast<std::size_t>(targets.index ? targets.index[t] : targets.first + t)];
  };
  send(want_acceleration, here.ax, forces.ax), send(want_acceleration, here.ay, forces.ay);
  send(want_acceleration, here.az, forces.az), send(want_potential, here.potential, forces.potential);
  clock_->end();
}

/// Says why a force is not a number, on all ranks. `arrived`: the number of a particle among those that arrived here,
/// or how many did where there is none.
template <Precision precision>
void DistributedTreeSolver<precision>::fail(std::int64_t arrived) const {
  std::vector<std::int64_t> places(static_cast<std::size_t>(sources_.count));
  std::iota(places.begin(), places.end(), places_before(*ranks_, sources_.count));
  const auto of_arrived = tree_.routing().there(places.data());
  distributed_tree_failure(*ranks_,
                           arrived < tree_.count() ? of_arrived[static_cast<std::size_t>(arrived)]
                                                   : std::numeric_limits<std::int64_t>::max(),
                           sources_, options_);
}

}  // namespace pergola

#pragma once
// Solvers with a tree on the CPU, on one process and on ranks.
#include <cstdint>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "gravity/spread_failure.hpp"
#include "gravity/tree_solver.hpp"
#include "gravity/tree_targets.hpp"
#include "tree/spread_octree.hpp"
#include "tree/walk.hpp"

namespace pergola {

/// What the tree alone and TreePM have in common on the CPU. Base: either, with tree::OctreeCpu or, on ranks, with
/// tree::DistributedOctree.
template <class Base>
class TreeOnCpu : public Base {
 public:
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  bool divides() const override { return on_ranks; }
  void give_back_memory() override {
    if constexpr (on_ranks) tree_.give_back_memory();
  }

 protected:
  static constexpr bool on_ranks = Base::Tree::on_ranks;
  using Base::options_, Base::device_, Base::ranks_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;

  /// As Solver::divide().
  Division divide_points(const tree::Points<State>& points, const tree::TreeSoftening& softening,
                         const tree::KeptTree* kept) {
    Division division;
    if constexpr (on_ranks) {
      check_tree_sources(points.count, false);
      clock_->begin("to owners");
      division.way = &tree_.divide(points, softening, kept);
    }
    return division;
  }
  /// Of the tree. On ranks what is fetched from others is taken for so many of a rank's own particles: fewer with more
  /// of them, for it lies around a domain.
  std::int64_t tree_bytes(std::int64_t n, int order, const tree::TreeSoftening& softening) const {
    if (!on_ranks) return tree_.device_bytes(n, order, softening);
    constexpr std::int64_t own_per_fetched = 8;
    // Each has a place in the list of those that leave, a number in a message and a weight.
    constexpr std::int64_t divided_bytes = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
    return tree_.device_bytes(n + n / own_per_fetched, order, softening) + n * divided_bytes;
  }
  /// Answers targets by a walk in such a space, and says why a force is not a number. On ranks all call it, and what
  /// the walk needs of other ranks is fetched before.
  template <class Space>
  void serve(const Targets& targets, unsigned want, const Forces<State>& forces, const Space& space,
             const tree::Opening& opening);

 private:
  std::vector<std::uint8_t> marks_of(const Targets& targets, bool& all) const;
};

/// Where all particles of all ranks ask, there are no marks.
template <class Base>
std::vector<std::uint8_t> TreeOnCpu<Base>::marks_of(const Targets& targets, bool& all) const {
  std::int64_t every = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&every, 1, Reduction::minimum);
  all = every == 1;
  std::vector<std::uint8_t> marks(all ? 0 : static_cast<std::size_t>(sources_.count));
  for (std::int64_t t = 0; !all && t < targets.count; ++t)
    marks[static_cast<std::size_t>(targets.index ? targets.index[t] : targets.first + t)] = 1;
  return marks;
}

template <class Base>
template <class Space>
void TreeOnCpu<Base>::serve(const Targets& targets, unsigned want, const Forces<State>& forces, const Space& space,
                            const tree::Opening& opening) {
  const double constant = options_.gravitational_constant;
  if constexpr (!on_ranks) {
    clock_->begin("walk");
    const auto view = tree_.view();
    const std::int64_t failed = targets_.serve(
        tree_, targets, want, constant, forces,
        [&](const tree::ActiveSet& active, std::uint32_t grain, const tree::Sink& sink) {
          return tree::begin_walk(view, space, opening, active, grain, sink);
        },
        [&](const tree::ActiveSet& active, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
          tree::walk(view, space, opening, active, task, sink);
        });
    if (failed < tree_.count())
      tree_failure(failed, sources_.count, sources_.x, sources_.y, sources_.z, sources_.species, options_);
  } else {
    clock_->begin("tree");
    bool all = true;
    const std::vector<std::uint8_t> marks = marks_of(targets, all);
    const tree::ActiveSet own = all ? tree_.own() : tree_.asking(marks);
    tree_.fetch_for_walk(space, opening, own);
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
          tree_, {.count = n, .total = n}, want, constant, here,
          [&](const tree::ActiveSet&, std::uint32_t grain, const tree::Sink& sink) {
            return tree::begin_walk(view, space, opening, own, grain, tree_.counting(sink));
          },
          [&](const tree::ActiveSet&, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
            tree::walk(view, space, opening, own, task, tree_.counting(sink));
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
  }
  clock_->end();
}

}  // namespace pergola

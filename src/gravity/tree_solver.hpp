#pragma once
// Solvers with a tree: what the tree alone and TreePM share on both devices.
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "device/stage_clock.hpp"
#include "gravity/tree.hpp"
#include "tree/kept_tree.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola {

/// What solvers with a tree share on both devices. TreeOf: tree::OctreeCpu, tree::DistributedOctree where ranks own
/// particles by its cells, or tree::OctreeCuda; TargetsOf: what walks it for targets.
template <Precision precision, template <class> class TreeOf, template <class, class> class TargetsOf>
class SolverWithTree : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;
  using Tree = TreeOf<Pair>;

  /// `ranks` null: one process.
  SolverWithTree(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks = nullptr)
      : options_(options),
        softening_(options.softening),
        device_(device),
        ranks_(std::move(ranks)),
        tree_(make_tree(device, ranks_)),
        targets_(device) {}

  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void set_softening(const Softening& softening) override { softening_ = softening; }
  void put_aside(tree::KeptTree& to) override {
    if (tree_.total() > 0) tree_.keep(to);
  }
  bool take_up(const tree::KeptTree& from) override {
    if (from.kind != tree::tree_kind(device_, in_box())) return false;
    targets_.forget();
    tree_.take_up(from);
    return true;
  }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, this->info().name + ": gives no neighbour lists; use the direct solver");
  }

 protected:
  virtual bool in_box() const = 0;
  static tree::Points<State> points(const Sources<State>& of, const Box& box) {
    return {of.count, of.x, of.y, of.z, of.mass, of.species, of.id, box};
  }

  static Tree make_tree(const Device& device, const std::shared_ptr<Communicator>& ranks) {
    if constexpr (std::is_constructible_v<Tree, Device, std::shared_ptr<Communicator>>)
      return Tree(device, ranks);
    else
      return Tree(device);
  }

  SolverOptions options_;
  Softening softening_;  // now
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  Tree tree_;
  TargetsOf<State, Pair> targets_;
  Sources<State> sources_;
};

/// The tree alone, in open space.
template <Precision precision, template <class> class TreeOf, template <class, class> class TargetsOf>
class TreeSolver : public SolverWithTree<precision, TreeOf, TargetsOf> {
 public:
  using Shared = SolverWithTree<precision, TreeOf, TargetsOf>;
  using typename Shared::State, typename Shared::Pair;

  TreeSolver(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks = nullptr)
      : Shared(options, device, std::move(ranks)), opening_(tree_opening(options.tree, options.softening)) {}

  const SolverInfo& info() const override { return tree_info(); }
  void prepare(const Sources<State>& sources) override {
    build(take(sources));
    this->targets_.forget();
    this->clock_->end();
  }
  bool update(const Sources<State>& sources) override {
    const bool serves = refresh(take(sources));
    this->clock_->end();
    return serves;
  }

 protected:
  bool in_box() const override { return false; }
  tree::TreeSoftening softening() const { return tree_softening(this->softening_, opening_); }
  /// Of points that have moved: false where the tree has to be built anew.
  virtual bool refresh(const tree::Points<State>& points) = 0;
  virtual void build(const tree::Points<State>& points) = 0;

  tree::Opening opening_;

 private:
  tree::Points<State> take(const Sources<State>& from) {
    check_tree_sources(from.count, from.ax != nullptr);
    this->sources_ = from;
    this->clock_->begin("tree");
    return Shared::points(from, {});
  }
};

}  // namespace pergola

#pragma once
// CUDA only: TreePM over particles distributed over GPU ranks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "device/launch.cuh"
#include "gravity/mesh_beside_cuda.cuh"
#include "gravity/spread_failure.hpp"
#include "gravity/tree_solver.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "gravity/treepm.hpp"
#include "gravity/treepm_cuda.cuh"
#include "tree/forest_domains_cuda.cuh"
#include "tree/spread_bounds_cuda.cuh"

namespace pergola {

/// TreePM over particles that GPUs own by the roots of a forest: the forces of one rank, bit for bit. The mesh gives a
/// rank's particles their long range. They go as ghosts to the ranks around; the walk serves own particles only. Where
/// GPUs have the memory, trees are built and walked beside what the mesh does: in between the estimate of accelerations
/// needs its forces at the centres of groups. Elsewhere one follows the other, as in one process
/// (gravity/treepm_cuda.cu): the mesh works in the memory of the tree, and the walk adds to its forces.
template <Precision precision>
class DistributedTreePmCuda final : public SolverWithTree<precision, tree::OctreeCuda, TreeTargetsCuda> {
 public:
  using Base = SolverWithTree<precision, tree::OctreeCuda, TreeTargetsCuda>;
  using typename Base::State, typename Base::Pair;

  DistributedTreePmCuda(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : Base(options, device, std::move(ranks)),
        messages_(std::make_shared<DeviceMessages>(device, ranks_)),
        box_(tree_box(options_)),
        mesh_(device, ranks_),
        domains_(messages_, ranks_, [&tree = tree_](std::int64_t bytes) { return tree.arena(bytes); }),
        bounds_(device, ranks_) {
    if (!box_.given()) box_.side = {1, 1, 1};  // for device_bytes
  }

  const SolverInfo& info() const override { return box_.periodic() ? treepm_info() : open_treepm_info(); }
  bool divides() const override { return true; }
  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override;
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  bool update(const Sources<State>& sources) override { return take(sources, true); }
  void set_clock(StageClock* clock) override {
    Base::set_clock(clock);
    mesh_.set_clock(clock);
  }
  std::vector<std::string> choices() const override {
    if (!parameters_) return {};
    std::vector<std::string> made{parameters_->text(options_.solver)};
    if (!beside_) made.push_back("treepm: mesh and trees one after the other, in the same memory of each GPU");
    return made;
  }
  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  /// With as many on the other ranks: what it takes at least.
  std::int64_t device_bytes(std::int64_t n) const override {
    return bytes(n, treepm_options(options_).overlap == Overlap::always);
  }

  void put_aside(tree::KeptTree& to) override;
  bool take_up(const tree::KeptTree& from) override {
    if (from.kind != tree::tree_kind(device_, true)) return false;
    targets_.forget();
    again_ = &from;
    walked_ = lacks_estimate_ = false;  // of the tree that served in between
    return true;
  }
  void give_back_memory() override { domains_.give_back_memory(); }

  // Steps of evaluate(). Public, for nvcc allows no device lambda in a private function.
  void complete(const Targets& targets, unsigned want, const Forces<State>& forces,
                const std::array<double*, 4>& short_range, const State* mesh_potential);

 private:
  using Base::options_, Base::device_, Base::ranks_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;

  tree::TreeSoftening softening() const { return tree_softening(this->softening_, parameters_->opening); }
  bool in_box() const override { return true; }
  void set_up(std::int64_t total);
  void set_up(const Sources<State>& sources);
  bool take(const Sources<State>& sources, bool moved);
  void build(const tree::Points<State>& own, const tree::Forest& forest);
  bool refresh(const tree::Points<State>& own, const tree::Forest& forest);
  void make_again(const tree::Points<State>& own, const tree::Forest& forest, const tree::KeptTree& again);
  tree::Points<State> with_ghosts(const tree::Points<State>& own) {
    std::uint64_t* const ids = with_id_ ? tree_.room_for_ids(domains_.count()) : nullptr;
    return domains_.with_ghosts(own, with_species_, ids);
  }
  /// With room for the mesh where it is by itself, or, where it is not at work, for values of each axis.
  MeshInTree<State> mesh_memory(std::int64_t values = 0) {
    const bool alone = !beside_ && values == 0;
    const std::int64_t cells = tree_.count() > 0 ? tree_.cells() : 0,
                       borrowed = alone ? mesh_.alone().borrowed_bytes() : 0;
    const std::int64_t kept = alone ? sources_.count : 0;
    return {tree_.arena(MeshInTree<State>(nullptr, borrowed, cells, kept, values).bytes), borrowed, cells, kept,
            values};
  }
  MeshPlaces<State> find_groups();
  void find_mesh();
  void evaluate_mesh(const Targets& targets, unsigned want, const Forces<State>& forces);
  void estimate();
  void finish_estimate(const MeshInTree<State>& memory) {
    tree_.estimate_accelerations(rough_box_, {memory.rest[0], memory.rest[1], memory.rest[2]});
    lacks_estimate_ = false;
  }
  void complete_potentials(const Targets& targets, State* potential);
  void begin_to_count();
  void weigh();
  template <class Value>
  std::int64_t serve(const Targets& targets, unsigned want, const std::array<Value*, 4>& answers, bool adds,
                     const std::function<void()>& begin);
  void answer_beside(const Targets& targets, unsigned want, const Forces<State>& forces);
  void answer_in_turn(const Targets& targets, unsigned want, const Forces<State>& forces);
  tree::Forest forest_for(const TreePmParameters& found, std::int64_t n) const;
  std::int64_t bytes(std::int64_t n, bool beside) const;

  std::shared_ptr<DeviceMessages> messages_;  // of all ways but the mesh's
  Box box_;                                   // periodic, or the cube of the sources
  std::int64_t total_ = -1;                   // particles on all ranks
  bool has_mesh_forces_ = true;               // of its own; else sources bring their long range along
  bool with_species_ = false, with_id_ = false;
  std::optional<TreePmParameters> parameters_;
  bool is_chosen_ = false, beside_ = false;  // beside_: mesh and trees at the same time
  bool has_mesh_ = false;                    // else: the mesh holds the sources of now
  bool lacks_estimate_ = false;              // of a tree that was built
  MeshBeside<State> mesh_;
  tree::ShortRangeBox<Pair> walk_box_;    // for the walk
  tree::ShortRangeBox<float> rough_box_;  // for the estimate of accelerations
  tree::ForestDomains<State> domains_;
  tree::Frame frame_;                      // as particles are divided now
  const tree::KeptTree* again_ = nullptr;  // not null: the tree is yet to be made of it
  tree::DistributedBounds<State> bounds_;
  Buffer<State> long_range_[3];                     // where that is found beside trees
  std::optional<tree::GroupPlaces<State>> groups_;  // with the mesh's forces there, until they are used
  Buffer<std::uint32_t> work_;                      // of walks since the tree was built, by cell
  bool walked_ = false;
  std::int64_t times_ = 0;  // so often particles have come since then
  Buffer<unsigned long long> work_of_root_block_;
  typename tree::ForestDomains<State>::CountedWork counted_;  // of the tree before, or the one before that
};

}  // namespace pergola

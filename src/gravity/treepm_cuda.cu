// TreePM on a GPU: the mesh works in the memory of the tree, before the walk.
#include "device/arena.hpp"
#include "device/launch.cuh"
#include "gravity/solver.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "gravity/treepm_cuda.cuh"
#include "gravity/treepm_solver.hpp"

namespace pergola {

namespace {

/// The mesh goes through the particles in the tree's order, in which neighbours are neighbours in space, and works in
/// the tree's memory, which is free between its building and the walk. What it finds does not depend on the order. Its
/// forces are written to where the answers go, and the walk adds its own; the opening of the walk, which compares with
/// the whole acceleration, has them at the centre of each group of particles. So that they are found once, that
/// comparison is made ready by the first evaluation after a tree is built.
template <Precision precision>
class TreePmCuda final : public TreePmSolver<precision, tree::OctreeCuda, TreeTargetsCuda> {
 public:
  using Base = TreePmSolver<precision, tree::OctreeCuda, TreeTargetsCuda>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  void put_aside(tree::KeptTree& to) override {
    if (lacks_estimate_) estimate();
    Base::put_aside(to);
  }
  bool take_up(const tree::KeptTree& from) override {
    lacks_estimate_ = false;  // of the tree that served in between
    return Base::take_up(from);
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto found = this->parameters_for(n);
    const auto mesh = this->make_mesh(found);
    const std::int64_t borrowed = MeshMemory(nullptr, mesh->borrowed_bytes(), tree::first_guess_of_cells(n)).bytes;
    const tree::TreeSoftening softening = this->softening(found);
    const tree::Forest forest = treepm_forest(found, n, softening);
    return targets_.device_bytes(n, found.opening.order, softening, forest, borrowed) + mesh->device_bytes(n) -
           mesh->borrowed_bytes();
  }

 private:
  using Base::options_, Base::device_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;
  using Base::total_, Base::has_mesh_forces_, Base::parameters_, Base::mesh_;

  using MeshMemory = MeshInTree<State>;
  MeshMemory mesh_memory() {
    const std::int64_t cells = tree_.count() == total_ ? tree_.cells() : 0, borrowed = mesh_->borrowed_bytes();
    return {tree_.arena(MeshMemory(nullptr, borrowed, cells).bytes), borrowed, cells};
  }
  void set_up(const Sources<State>& sources);
  void complete_potentials(const Targets& targets, State* potential);
  void find_mesh();
  void estimate();
  void estimate_with_mesh(const Targets& targets, unsigned want, const Forces<State>& forces);
  void finish_estimate(const MeshMemory& memory) {
    tree_.estimate_accelerations(rough_box_, {memory.rest[0], memory.rest[1], memory.rest[2]});
    lacks_estimate_ = false;
  }
  bool take(const Sources<State>& sources, bool moved) override;

  tree::ShortRangeBox<Pair> walk_box_;    // for the walk
  tree::ShortRangeBox<float> rough_box_;  // for the estimate of accelerations
  bool has_mesh_ = false;                 // the mesh holds the sources of now
  bool lacks_estimate_ = false;           // of a tree that was built
};

template <Precision precision>
void TreePmCuda<precision>::set_up(const Sources<State>& sources) {
  if (!Base::set_up(sources)) return;
  walk_box_ = short_range_box<Pair>(*parameters_, true);
  rough_box_ = short_range_box<float>(*parameters_, false);
}

/// The sources on the mesh. The tree of the step before, if there is one, still knows which are neighbours.
template <Precision precision>
void TreePmCuda<precision>::find_mesh() {
  if (has_mesh_) return;
  mesh_->lend(mesh_memory().mesh, tree_.count() == total_ ? tree_.order() : nullptr);
  mesh_->prepare(sources_);
  has_mesh_ = true;
}

template <Precision precision>
void TreePmCuda<precision>::find_long_range(const Sources<State>& sources, State* const (&into)[3]) {
  device_.make_current();
  sources_ = sources;
  set_up(sources);
  if (total_ == 0) return;
  has_mesh_ = false;
  find_mesh();
  Forces<State> forces;
  forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
  mesh_->evaluate({nullptr, total_, total_}, want_acceleration, forces);
  has_mesh_ = false;
}

/// The accelerations that the walk's opening compares with.
template <Precision precision>
void TreePmCuda<precision>::estimate() {
  if (has_mesh_forces_) return estimate_with_mesh({}, want_acceleration, {});
  clock_->begin("estimate");
  const MeshMemory memory = mesh_memory();
  for (int axis = 0; axis < 3; ++axis)
    tree_.find_rest(sources_.long_range[axis], this->per_acceleration(), memory.rest[axis]);
  finish_estimate(memory);
}

/// The same from the mesh's forces at the centres of groups, which are found together with those of targets.
template <Precision precision>
void TreePmCuda<precision>::estimate_with_mesh(const Targets& targets, unsigned want, const Forces<State>& forces) {
  find_mesh();
  MeshMemory memory = mesh_memory();
  tree::find_groups_cuda(device_, tree_, total_, memory.groups);
  mesh_->serve_first([&] { return std::optional(memory.groups.template as<MeshPlaces<State>>()); }, [] {});
  mesh_->evaluate(targets, want, forces);
  clock_->begin("estimate");
  for (int axis = 0; axis < 3; ++axis)
    tree::set_rest_cuda(device_, memory.groups, axis, this->per_acceleration(), memory.rest[axis]);
  finish_estimate(memory);
}

template <Precision precision>
bool TreePmCuda<precision>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  sources_ = sources;
  set_up(sources);
  has_mesh_ = false;
  if (total_ == 0) return true;
  clock_->begin("tree");
  const auto points = Base::points(sources, parameters_->tree_box);
  const tree::TreeSoftening softening = this->softening(*parameters_);
  const tree::Opening& opening = parameters_->opening;
  const tree::Forest forest = treepm_forest(*parameters_, total_, softening);
  const bool serves = !moved || (this->tree_is_in_box() && tree_.refresh(points, softening, opening.order, forest));
  if (!moved) {
    tree_.build(points, softening, opening.order, forest);
    targets_.forget();
    lacks_estimate_ = opening.tolerance > 0;
    if (lacks_estimate_ && !has_mesh_forces_) estimate();
  }
  clock_->end();
  return serves;
}

/// From the mesh's potentials to those of the long range.
template <Precision precision>
void TreePmCuda<precision>::complete_potentials(const Targets& targets, State* potential) {
  complete_potentials_cuda(device_, long_range_potential(options_, *parameters_, tree_.frame().mass), targets,
                           sources_.mass, potential);
}

template <Precision precision>
void TreePmCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  this->check_wants(want);
  device_.make_current();
  tree::WalkOutput out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  out.adds = has_mesh_forces_;
  const bool asks_all = !targets.index && targets.count == total_ && (want & want_acceleration);
  if (lacks_estimate_ && !asks_all) estimate();
  // Again for each try of the walk, which overwrites both the mesh and the answers.
  const auto begin = [&] {
    if (out.adds) {
      find_mesh();
      if (lacks_estimate_)
        estimate_with_mesh(targets, want, forces);
      else
        mesh_->evaluate(targets, want, forces);
      if (want & want_potential) complete_potentials(targets, forces.potential);
      has_mesh_ = false;
    }
    clock_->begin("walk");
  };
  const std::int64_t failed = targets_.serve(tree_, walk_box_, parameters_->opening, targets, out, begin);
  clock_->end();
  if (failed < tree_.count()) tree_failure_cuda(device_, failed, sources_, options_);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cuda(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreePmCuda>(options, device);
}
template std::unique_ptr<Solver<float>> make_treepm_cuda(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_treepm_cuda(const SolverOptions& options, const Device& device);

}  // namespace pergola

#pragma once
// TreePM: what it shares on both devices.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/arena.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree_solver.hpp"
#include "gravity/treepm.hpp"

namespace pergola {

/// What TreePM has on both devices: the mesh of the long range around the tree of the short range.
///
/// prepare() finds the mesh's forces at all particles, because the tree compares neglected terms with the whole
/// acceleration. If the long range has steps of its own, find_long_range() finds them. update() keeps the cells of the
/// tree and its estimated accelerations.
template <Precision precision, template <class> class TreeOf, template <class, class> class TargetsOf>
class TreePmSolver : public SolverWithTree<precision, TreeOf, TargetsOf> {
 public:
  using Shared = SolverWithTree<precision, TreeOf, TargetsOf>;
  using typename Shared::State, typename Shared::Pair;

  TreePmSolver(const SolverOptions& options, const Device& device) : Shared(options, device) {
    box_ = tree_box(this->options_);
    if (!box_.given()) box_.side = {1, 1, 1};  // for device_bytes; in open space it is found from the sources
  }

  const SolverInfo& info() const override { return box_.periodic() ? treepm_info() : open_treepm_info(); }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  bool update(const Sources<State>& sources) override { return take(sources, true); }
  void set_clock(StageClock* clock) override {
    Shared::set_clock(clock);
    if (mesh_) mesh_->set_clock(clock);
  }
  std::vector<std::string> choices() const override {
    if (!parameters_) return {};
    return {parameters_->text(this->options_.solver)};
  }

 protected:
  bool in_box() const override { return true; }
  /// Takes the sources at a time. `moved`: the sources of the last time, a little later; false where the tree is of no
  /// use for them.
  virtual bool take(const Sources<State>& sources, bool moved) = 0;

  template <class Self>
  static void room_for_mesh_forces(Self& solver, Arena& arena, std::int64_t n) {
    for (auto& axis : solver.long_range_) arena.room(axis, n);
  }
  tree::TreeSoftening softening(const TreePmParameters& found) const {
    return tree_softening(this->softening_, found.opening);
  }
  std::unique_ptr<SmoothedMesh<State>> make_mesh(const TreePmParameters& found) const {
    return make_smoothed_mesh<State>(treepm_mesh_options(this->options_, found), this->device_, treepm_law(found));
  }
  /// Of the mesh and its forces and potentials.
  std::int64_t mesh_bytes(std::int64_t n, const TreePmParameters& found) const {
    Arena count;
    room_for_mesh_forces(*this, count, n);
    count.room(potential_, n);
    return count.bytes() + make_mesh(found)->device_bytes(n);
  }
  TreePmParameters parameters_for(std::int64_t n) const { return treepm_parameters(this->options_, n, box_); }
  /// Whether all that depends on the number of sources or on their box has to be made for these.
  bool needs_set_up(const Sources<State>& sources) {
    if (box_.periodic() || sources.count == 0) return count_ != sources.count;
    const Box found = steady_cube(this->tree_.frame_of(Shared::points(sources, {})));
    const bool same = is_same_cube(found, box_);
    box_ = found;
    return !same || count_ != sources.count;
  }
  /// Whether the tree was built in the box of now.
  bool tree_is_in_box() const { return is_in_box(this->tree_.frame(), *parameters_); }
  /// For another number of particles than before, or another box.
  void choose_mesh(std::int64_t count) {
    count_ = count;
    parameters_ = parameters_for(count);
    mesh_ = make_mesh(*parameters_);
    mesh_->set_clock(this->clock_);
  }
  void set_up_mesh(std::int64_t count) {
    choose_mesh(count);
    Arena arena(this->device_);
    room_for_mesh_forces(*this, arena, count);
  }
  /// The mesh's forces at all particles, which are given in the order in which they shall lie.
  void find_mesh_forces(const Sources<State>& sources, State* const (&into)[3]) {
    mesh_->prepare(sources);
    Forces<State> forces;
    forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
    mesh_->evaluate({nullptr, count_, count_}, want_acceleration, forces);
  }
  void find_mesh_forces(const Sources<State>& sources) {
    find_mesh_forces(sources, {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()});
  }
  bool has_mesh_forces() const { return !this->sources_.long_range[0]; }
  void check_wants(unsigned want) const {
    check_tree_wants(want);
    if ((want & want_potential) && !has_mesh_forces())
      throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  }
  double per_acceleration() const { return pergola::per_acceleration(this->options_, this->tree_.frame()); }

  std::int64_t count_ = -1;
  Box box_;  // periodic, or the cube of the sources
  std::optional<TreePmParameters> parameters_;
  std::unique_ptr<SmoothedMesh<State>> mesh_;
  Buffer<State> long_range_[3], potential_;  // on the CPU
};

}  // namespace pergola

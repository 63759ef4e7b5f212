#pragma once
// TreePM: what it shares on both devices.
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

  TreePmSolver(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks = nullptr)
      : Shared(options, device, std::move(ranks)) {
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
    const std::int64_t spare = solver.ranks_ ? n / 16 : 0;  // numbers of owned particles change a little
    for (auto& axis : solver.long_range_) arena.room(axis, n, spare);
  }
  tree::TreeSoftening softening(const TreePmParameters& found) const {
    return tree_softening(this->softening_, found.opening);
  }
  std::unique_ptr<SmoothedMesh<State>> make_mesh(const TreePmParameters& found) const {
    return make_smoothed_mesh<State>(treepm_mesh_options(this->options_, found), this->device_, treepm_law(found),
                                     this->ranks_);
  }
  /// Of the mesh and its forces and potentials.
  std::int64_t mesh_bytes(std::int64_t n, const TreePmParameters& found) const {
    Arena count;
    room_for_mesh_forces(*this, count, n);
    count.room(potential_, n);
    return count.bytes() + make_mesh(found)->device_bytes(n);
  }
  /// With as many on each other rank.
  TreePmParameters parameters_for(std::int64_t n) const {
    return treepm_parameters(this->options_, this->ranks_ ? n * this->ranks_->size() : n, box_);
  }
  /// All that depends on the number of sources, on all ranks, or on their box. True: these are others than before.
  bool set_up(const Sources<State>& sources) {
    std::int64_t sums[2] = {sources.count, sources.long_range[0] ? 1 : 0};  // without particles there may be no arrays
    if (this->ranks_) this->ranks_->all_reduce(sums, 2, Reduction::sum);
    has_mesh_forces_ = sums[1] == 0;
    if (!box_.periodic() && sums[0] > 0) {
      const Box found = steady_cube(this->tree_.frame_of(Shared::points(sources, {})));
      if (!is_same_cube(found, box_)) total_ = -1;
      box_ = found;
    }
    if (sums[0] == total_) return false;
    total_ = sums[0];
    parameters_ = treepm_parameters(this->options_, total_, box_);
    mesh_ = make_mesh(*parameters_);
    mesh_->set_clock(this->clock_);
    return true;
  }
  /// Whether the tree was built in the box of now.
  bool tree_is_in_box() const { return is_in_box(this->tree_.frame(), *parameters_); }
  /// The mesh's forces at all particles, which are given in the order in which they shall lie.
  void find_mesh_forces(const Sources<State>& sources, State* const (&into)[3]) {
    mesh_->prepare(sources);
    Forces<State> forces;
    forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
    mesh_->evaluate({nullptr, sources.count, sources.count}, want_acceleration, forces);
  }
  /// Unless they bring them along.
  void find_mesh_forces(const Sources<State>& sources) {
    if (!has_mesh_forces_) return;
    Arena arena(this->device_);
    room_for_mesh_forces(*this, arena, sources.count);
    find_mesh_forces(sources, {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()});
  }
  void check_wants(unsigned want) const {
    check_tree_wants(want);
    if ((want & want_potential) && !has_mesh_forces_)
      throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  }
  double per_acceleration() const { return pergola::per_acceleration(this->options_, this->tree_.frame()); }

  std::int64_t total_ = -1;      // particles, on all ranks
  bool has_mesh_forces_ = true;  // of its own; else sources bring their long range along
  Box box_;                      // periodic, or the cube of the sources
  std::optional<TreePmParameters> parameters_;
  std::unique_ptr<SmoothedMesh<State>> mesh_;
  Buffer<State> long_range_[3], potential_;  // on the CPU
};

}  // namespace pergola

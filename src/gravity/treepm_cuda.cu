#include "device/launch.cuh"
#include "gravity/for_precision.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "gravity/treepm_solver.hpp"

namespace pergola {

namespace {

/// The tree is built first, and the mesh gets the particles in the tree's order, in which neighbours in memory are
/// neighbours in space: fast on a mesh, and its forces lie as the walk, which adds them to its own, reads them. What
/// the mesh finds does not depend on the order.
template <Precision precision>
class TreePmCuda final : public TreePmSolver<precision, tree::OctreeCuda, TreeTargetsCuda> {
 public:
  using Base = TreePmSolver<precision, tree::OctreeCuda, TreeTargetsCuda>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto found = this->parameters_for(n);
    Arena count;
    room_for_sources(*this, count, n);
    return targets_.device_bytes(n, found.opening.order, this->softening(found)) + count.bytes() +
           this->mesh_bytes(n, found);
  }

  // Steps of take() and evaluate(). Public, for nvcc allows no device lambda in a private function.
  Sources<State> ordered_sources();
  void order_long_range();
  void find_potentials();

 private:
  using Base::count_, Base::parameters_, Base::mesh_, Base::long_range_, Base::potential_;
  using Base::options_, Base::device_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;

  template <class Self>
  static void room_for_sources(Self& self, Arena& arena, std::int64_t n) {
    for (auto* buffer : {&self.x_, &self.y_, &self.z_, &self.mass_}) arena.room(*buffer, n);
  }
  void set_up(std::int64_t count);
  void take(const Sources<State>& sources, bool moved) override;
  bool restore_tree(const StateBlocks& blocks, std::int64_t count) override {
    device_.make_current();
    if (count_ != count) set_up(count);
    return tree_.restore(blocks, count, true);
  }

  tree::ShortRangeBox<Pair> walk_box_;    // for the walk
  tree::ShortRangeBox<float> rough_box_;  // for the estimate of accelerations
  Buffer<State> x_, y_, z_, mass_;        // in the tree's order, as all that is the mesh's
  bool has_potentials_ = false;
};

template <Precision precision>
void TreePmCuda<precision>::set_up(std::int64_t count) {
  this->set_up_mesh(count);
  Arena arena(device_);
  room_for_sources(*this, arena, count);
  potential_ = Buffer<State>();  // made when first wanted
  walk_box_ = short_range_box<Pair>(*parameters_, true);
  rough_box_ = short_range_box<float>(*parameters_, false);
}

/// The sources in the order of the tree.
template <Precision precision>
Sources<typename TreePmCuda<precision>::State> TreePmCuda<precision>::ordered_sources() {
  cuda::launch("treepm order", count_, device_.stream(),
               [order = tree_.order(), from = sources_, x = x_.data(), y = y_.data(), z = z_.data(),
                mass = mass_.data()] __device__(std::int64_t k) {
                 const std::uint32_t i = order[k];
                 x[k] = from.x[i], y[k] = from.y[i], z[k] = from.z[i], mass[k] = from.mass[i];
               });
  Sources<State> ordered;
  ordered.count = count_;
  ordered.x = x_.data(), ordered.y = y_.data(), ordered.z = z_.data(), ordered.mass = mass_.data();
  ordered.mass_quantum = sources_.mass_quantum;
  return ordered;
}

/// The long range that was given, in the order of the tree.
template <Precision precision>
void TreePmCuda<precision>::order_long_range() {
  cuda::launch("treepm order", count_, device_.stream(),
               [order = tree_.order(), from = sources_, x = long_range_[0].data(), y = long_range_[1].data(),
                z = long_range_[2].data()] __device__(std::int64_t k) {
                 const std::uint32_t i = order[k];
                 x[k] = from.long_range[0][i], y[k] = from.long_range[1][i], z[k] = from.long_range[2][i];
               });
}

/// The tree of the step before, if there is one, still knows which particles are neighbours.
template <Precision precision>
void TreePmCuda<precision>::find_long_range(const Sources<State>& sources, State* const (&into)[3]) {
  device_.make_current();
  sources_ = sources;
  if (this->needs_set_up(sources)) set_up(sources.count);
  if (count_ == 0) return;
  if (tree_.count() != count_) return this->find_mesh_forces(sources, into);
  this->find_mesh_forces(ordered_sources());
  cuda::launch("treepm order", count_, device_.stream(),
               [order = tree_.order(), x = long_range_[0].data(), y = long_range_[1].data(), z = long_range_[2].data(),
                to_x = into[0], to_y = into[1], to_z = into[2]] __device__(std::int64_t k) {
                 const std::uint32_t i = order[k];
                 to_x[i] = x[k], to_y[i] = y[k], to_z[i] = z[k];
               });
}

template <Precision precision>
void TreePmCuda<precision>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  sources_ = sources;
  if (this->needs_set_up(sources)) set_up(sources.count);
  has_potentials_ = false;
  if (count_ == 0) return;
  clock_->begin("tree");
  const auto points = Base::points(sources, parameters_->tree_box);
  const tree::TreeSoftening softening = this->softening(*parameters_);
  const tree::Opening& opening = parameters_->opening;
  const bool kept = moved && this->tree_is_in_box() && tree_.refresh(points, softening, opening.order);
  if (!kept) {
    tree_.build(points, softening, opening.order);
    targets_.forget();
  }
  if (this->has_mesh_forces()) {
    const Sources<State> ordered = ordered_sources();
    clock_->end();
    this->find_mesh_forces(ordered);
    clock_->begin("tree");
  } else if (!kept) {
    order_long_range();
  }
  const State* const rest[3] = {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()};
  if (!kept && opening.tolerance > 0) tree_.estimate_accelerations(rough_box_, rest, this->per_acceleration());
  clock_->end();
}

/// The mesh's part, of all particles.
template <Precision precision>
void TreePmCuda<precision>::find_potentials() {
  if (has_potentials_) return;
  has_potentials_ = true;
  if (potential_.size() == 0) potential_ = Buffer<State>(device_, count_);
  Forces<State> of_mesh;
  of_mesh.potential = potential_.data();
  mesh_->evaluate({nullptr, count_, count_}, want_potential, of_mesh);
  const LongRangePotential correction = long_range_potential(options_, *parameters_, tree_.frame().mass);
  cuda::launch("treepm potential", count_, device_.stream(),
               [correction, potential = potential_.data(), mass = mass_.data()] __device__(std::int64_t k) {
                 potential[k] =
                     static_cast<State>(correction.of(static_cast<double>(potential[k]), static_cast<double>(mass[k])));
               });
}

template <Precision precision>
void TreePmCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  this->check_wants(want);
  device_.make_current();
  if (want & want_potential) find_potentials();
  clock_->begin("walk");
  tree::WalkOutput out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  for (int a = 0; a < 3 && this->has_mesh_forces(); ++a) out.rest[a] = long_range_[a].data();
  out.rest_potential = potential_.data();
  const std::int64_t failed = targets_.serve(tree_, walk_box_, parameters_->opening, targets, out);
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

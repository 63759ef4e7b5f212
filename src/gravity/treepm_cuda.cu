#include <optional>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "gravity/treepm.hpp"

namespace pergola {

namespace {

/// As TreePmCpu. The tree is built first, and the mesh gets the particles in the tree's order, in which neighbours in
/// memory are neighbours in space: fast on a mesh, and its forces lie as the walk, which adds them to its own, reads
/// them. What the mesh finds does not depend on the order.
template <Precision precision>
class TreePmCuda final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreePmCuda(const SolverOptions& options, const Device& device)
      : options_(options), device_(device), tree_(device), targets_(device) {
    if (!options_.mesh.box.given()) options_.mesh.box.side = {1, 1, 1};  // for device_bytes only
  }

  const SolverInfo& info() const override { return treepm_info(); }
  void set_clock(StageClock* clock) override {
    clock_ = clock ? clock : &silent_;
    if (mesh_) mesh_->set_clock(clock);
  }
  void prepare(const Sources<State>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "treepm: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto found = treepm_parameters(options_, n);
    Arena count;
    room_for_sources(*this, count, n);
    count.room(potential_, n);
    return targets_.device_bytes(n, found.opening.order, tree_softening(options_.softening, found.opening)) +
           count.bytes() + make_mesh(found)->device_bytes(n);
  }
  std::string remark() const override { return parameters_ ? parameters_->text(options_.mesh.box) : std::string(); }

  // Steps of prepare() and evaluate(). Public, for nvcc allows no device lambda in a private function.
  void order_sources();
  void find_potentials();

 private:
  template <class Self>
  static void room_for_sources(Self& self, Arena& arena, std::int64_t n) {
    for (auto* buffer : {&self.x_, &self.y_, &self.z_, &self.mass_}) arena.room(*buffer, n);
    for (auto& axis : self.long_range_) arena.room(axis, n);
  }
  std::unique_ptr<Solver<State>> make_mesh(const TreePmParameters& found) const {
    return make_smoothed_mesh<State>(treepm_mesh_options(options_, found), device_,
                                     physics::split_smoothing(found.split));
  }
  void set_up(std::int64_t count);
  void estimate_accelerations();

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  std::int64_t count_ = -1;
  std::optional<TreePmParameters> parameters_;
  std::unique_ptr<Solver<State>> mesh_;
  tree::OctreeCuda<Pair> tree_;
  TreeTargetsCuda<State, Pair> targets_;
  tree::ShortRangeBox<Pair> box_;         // for the walk
  tree::ShortRangeBox<float> rough_box_;  // for the estimate of accelerations
  Sources<State> sources_;
  // In the tree's order.
  Buffer<State> x_, y_, z_, mass_, long_range_[3], potential_;
  bool has_potentials_ = false;
};

template <Precision precision>
void TreePmCuda<precision>::set_up(std::int64_t count) {
  parameters_ = treepm_parameters(options_, count);
  mesh_ = make_mesh(*parameters_);
  mesh_->set_clock(clock_);
  Arena arena(device_);
  room_for_sources(*this, arena, count);
  potential_ = Buffer<State>();  // made when first wanted
  box_ = short_range_box<Pair>(options_.mesh.box, *parameters_, true);
  rough_box_ = short_range_box<float>(options_.mesh.box, *parameters_, false);
  count_ = count;
}

template <Precision precision>
void TreePmCuda<precision>::order_sources() {
  cuda::launch("treepm order", count_, device_.stream(),
               [order = tree_.order(), from = sources_, x = x_.data(), y = y_.data(), z = z_.data(),
                mass = mass_.data()] __device__(std::int64_t k) {
                 const std::uint32_t i = order[k];
                 x[k] = from.x[i], y[k] = from.y[i], z[k] = from.z[i], mass[k] = from.mass[i];
               });
}

/// From the mesh's forces and the short range.
template <Precision precision>
void TreePmCuda<precision>::estimate_accelerations() {
  const tree::Frame& frame = tree_.frame();
  const double unit = options_.gravitational_constant * frame.mass / (frame.side * frame.side);
  const State* const rest[3] = {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()};
  tree_.estimate_accelerations(rough_box_, rest, unit > 0 ? 1 / unit : 0);
}

template <Precision precision>
void TreePmCuda<precision>::prepare(const Sources<State>& sources) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  sources_ = sources;
  if (count_ != sources.count) set_up(sources.count);
  has_potentials_ = false;
  if (count_ == 0) return;
  clock_->begin("tree");
  const tree::Opening& opening = parameters_->opening;
  const tree::Points<State> points{count_,       sources.x,       sources.y,  sources.z,
                                   sources.mass, sources.species, sources.id, options_.mesh.box};
  tree_.build(points, tree_softening(options_.softening, opening), opening.order);
  targets_.forget();
  order_sources();
  clock_->end();

  Sources<State> ordered;
  ordered.count = count_;
  ordered.x = x_.data(), ordered.y = y_.data(), ordered.z = z_.data(), ordered.mass = mass_.data();
  ordered.mass_quantum = sources.mass_quantum;
  mesh_->prepare(ordered);
  Forces<State> of_mesh;
  of_mesh.ax = long_range_[0].data(), of_mesh.ay = long_range_[1].data(), of_mesh.az = long_range_[2].data();
  mesh_->evaluate({nullptr, count_, count_}, want_acceleration, of_mesh);
  if (opening.tolerance == 0) return;
  clock_->begin("tree");
  estimate_accelerations();
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
  check_tree_wants(want);
  device_.make_current();
  if (want & want_potential) find_potentials();
  clock_->begin("walk");
  tree::WalkOutput out = targets_.output(tree_, want, options_.gravitational_constant, forces);
  for (int a = 0; a < 3; ++a) out.rest[a] = long_range_[a].data();
  out.rest_potential = potential_.data();
  const std::int64_t failed = targets_.serve(tree_, box_, parameters_->opening, targets, out);
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

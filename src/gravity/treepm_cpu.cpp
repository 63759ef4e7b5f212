#include <algorithm>
#include <optional>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree.hpp"
#include "gravity/tree_targets.hpp"
#include "gravity/treepm.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 8192;

/// The mesh's own forces at all particles are found in prepare(), for the tree compares what it leaves out with the
/// whole acceleration; evaluate() adds them to those of the walk.
template <Precision precision>
class TreePmCpu final : public Solver<typename TreeNumbers<precision>::State> {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreePmCpu(const SolverOptions& options, const Device& device)
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
    room_for_mesh_forces(*this, count, n);
    count.room(potential_, n);
    return tree_.device_bytes(n, found.opening.order, tree_softening(options_.softening, found.opening)) +
           count.bytes() + make_mesh(found)->device_bytes(n);
  }
  std::string remark() const override { return parameters_ ? parameters_->text(options_.mesh.box) : std::string(); }

 private:
  template <class Self>
  static void room_for_mesh_forces(Self& solver, Arena& arena, std::int64_t n) {
    for (auto& axis : solver.long_range_) arena.room(axis, n);
  }
  std::unique_ptr<Solver<State>> make_mesh(const TreePmParameters& found) const {
    return make_smoothed_mesh<State>(treepm_mesh_options(options_, found), device_,
                                     physics::split_smoothing(found.split));
  }
  template <class T>
  tree::ShortRangeBox<T> short_range(bool with_potential) const {
    return short_range_box<T>(options_.mesh.box, *parameters_, with_potential);
  }
  void add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces);

  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  std::int64_t count_ = -1;
  std::optional<TreePmParameters> parameters_;
  std::unique_ptr<Solver<State>> mesh_;
  tree::OctreeCpu<Pair> tree_;
  TreeTargets<State, Pair> targets_;
  Sources<State> sources_;
  Buffer<State> long_range_[3], potential_;
};

template <Precision precision>
void TreePmCpu<precision>::prepare(const Sources<State>& sources) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  sources_ = sources;
  if (count_ != sources.count) {
    count_ = sources.count;
    parameters_ = treepm_parameters(options_, count_);
    mesh_ = make_mesh(*parameters_);
    mesh_->set_clock(clock_);
    Arena arena(device_);
    room_for_mesh_forces(*this, arena, count_);
  }
  if (count_ == 0) return;
  mesh_->prepare(sources);
  Forces<State> of_mesh;
  of_mesh.ax = long_range_[0].data(), of_mesh.ay = long_range_[1].data(), of_mesh.az = long_range_[2].data();
  mesh_->evaluate({nullptr, count_, count_}, want_acceleration, of_mesh);

  clock_->begin("tree");
  const tree::Opening& opening = parameters_->opening;
  const tree::Points<State> points{count_,       sources.x,       sources.y,  sources.z,
                                   sources.mass, sources.species, sources.id, options_.mesh.box};
  tree_.build(points, tree_softening(options_.softening, opening), opening.order, false);
  targets_.forget();
  if (opening.tolerance > 0) {
    const auto& frame = tree_.frame();
    const double unit = options_.gravitational_constant * frame.mass / (frame.side * frame.side);
    tree_.estimate_accelerations(short_range<double>(false), {of_mesh.ax, of_mesh.ay, of_mesh.az},
                                 unit > 0 ? 1 / unit : 0);
  }
  clock_->end();
}

template <Precision precision>
void TreePmCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  check_tree_wants(want);
  clock_->begin("walk");
  const auto view = tree_.view();
  const auto box = short_range<Pair>((want & want_potential) != 0);
  const tree::Opening& opening = parameters_->opening;
  const std::int64_t failed = targets_.serve(
      tree_, targets, want, options_.gravitational_constant, forces,
      [&](const tree::ActiveSet& active, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_short_walk(view, box, opening, active, grain, sink);
      },
      [&](const tree::ActiveSet& active, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::short_walk(view, box, opening, active, task, sink);
      });
  clock_->end();
  if (failed < tree_.count())
    tree_failure(failed, sources_.count, sources_.x, sources_.y, sources_.z, sources_.species, options_);
  add_long_range(targets, want, forces);
}

/// The mesh's part.
template <Precision precision>
void TreePmCpu<precision>::add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces) {
  const LongRangePotential correction = long_range_potential(options_, *parameters_, tree_.frame().mass);
  if (want & want_potential) {
    if (potential_.size() < targets.count) potential_ = Buffer<State>(device_, targets.count);
    Forces<State> of_mesh;
    of_mesh.potential = potential_.data();
    mesh_->evaluate(targets, want_potential, of_mesh);
  }
  parallel_chunks(device_.threads(), targets.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
      if (want & want_acceleration) {
        forces.ax[t] += long_range_[0].data()[i];
        forces.ay[t] += long_range_[1].data()[i];
        forces.az[t] += long_range_[2].data()[i];
      }
      if (want & want_potential)
        forces.potential[t] += static_cast<State>(
            correction.of(static_cast<double>(potential_.data()[t]), static_cast<double>(sources_.mass[i])));
    }
  });
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreePmCpu>(options, device);
}
template std::unique_ptr<Solver<float>> make_treepm_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_treepm_cpu(const SolverOptions& options, const Device& device);

}  // namespace pergola

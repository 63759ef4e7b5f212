// TreePM on the CPU: the walk of the short range, then the forces of the mesh are added.
#include "device/parallel.hpp"
#include "gravity/solver.hpp"
#include "gravity/tree_targets.hpp"
#include "gravity/treepm_solver.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

namespace {

constexpr std::int64_t long_range_chunk = 8192;

/// evaluate() adds the mesh's forces to those of the walk.
template <Precision precision>
class TreePmCpu final : public TreePmSolver<precision, tree::OctreeCpu, TreeTargets> {
 public:
  using Base = TreePmSolver<precision, tree::OctreeCpu, TreeTargets>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override {
    if (this->needs_set_up(sources)) this->set_up_mesh(sources.count);
    if (count_ > 0) this->find_mesh_forces(sources, into);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto found = this->parameters_for(n);
    return tree_.device_bytes(n, found.opening.order, this->softening(found)) + this->mesh_bytes(n, found);
  }

 private:
  using Base::count_, Base::parameters_, Base::mesh_, Base::long_range_, Base::potential_;
  using Base::options_, Base::device_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;

  bool take(const Sources<State>& sources, bool moved) override;
  template <class T>
  tree::ShortRangeBox<T> short_range(bool with_potential) const {
    return short_range_box<T>(*parameters_, with_potential);
  }
  void add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces);
};

template <Precision precision>
bool TreePmCpu<precision>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  sources_ = sources;
  if (this->needs_set_up(sources)) this->set_up_mesh(sources.count);
  if (count_ == 0) return true;
  if (moved && !this->tree_is_in_box()) return false;
  const auto points = Base::points(sources, parameters_->tree_box);
  const tree::TreeSoftening softening = this->softening(*parameters_);
  const tree::Opening& opening = parameters_->opening;
  clock_->begin("tree");
  if (moved && !tree_.refresh(points, softening, opening.order)) return false;
  if (this->has_mesh_forces()) this->find_mesh_forces(sources);
  clock_->begin("tree");
  if (!moved) {
    tree_.build(points, softening, opening.order, false);
    targets_.forget();
    const State* rest[3];
    for (int a = 0; a < 3; ++a) rest[a] = this->has_mesh_forces() ? long_range_[a].data() : sources.long_range[a];
    if (opening.tolerance > 0) tree_.estimate_accelerations(short_range<double>(false), rest, this->per_acceleration());
  }
  clock_->end();
  return true;
}

template <Precision precision>
void TreePmCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  this->check_wants(want);
  clock_->begin("walk");
  const auto view = tree_.view();
  const auto box = short_range<Pair>((want & want_potential) != 0);
  const tree::Opening& opening = parameters_->opening;
  const std::int64_t failed = targets_.serve(
      tree_, targets, want, options_.gravitational_constant, forces,
      [&](const tree::ActiveSet& active, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_walk(view, box, opening, active, grain, sink);
      },
      [&](const tree::ActiveSet& active, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::walk(view, box, opening, active, task, sink);
      });
  clock_->end();
  if (failed < tree_.count())
    tree_failure(failed, sources_.count, sources_.x, sources_.y, sources_.z, sources_.species, options_);
  if (this->has_mesh_forces()) add_long_range(targets, want, forces);
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
  parallel_chunks(device_.threads(), targets.count, long_range_chunk, [&](std::int64_t begin, std::int64_t end) {
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

// TreePM on the CPU: the walk of the short range, then the forces of the mesh are added.
#include "device/parallel.hpp"
#include "gravity/solver.hpp"
#include "gravity/tree_cpu.hpp"
#include "gravity/treepm_solver.hpp"

namespace pergola {

namespace {

constexpr std::int64_t long_range_chunk = 8192;

/// evaluate() adds the mesh's forces to those of the walk. On ranks the mesh gives particles their long range wherever
/// they are, and the tree has those of its cells.
template <Precision precision, template <class> class TreeOf>
class TreePmCpu final : public TreeOnCpu<TreePmSolver<precision, TreeOf, TreeTargets>> {
 public:
  using Base = TreeOnCpu<TreePmSolver<precision, TreeOf, TreeTargets>>;
  using Base::Base;
  using typename Base::State, typename Base::Pair;

  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override {
    this->set_up(sources);
    if (total_ == 0) return {};
    return Base::divide_points(Base::points(sources, parameters_->tree_box), this->softening(*parameters_), kept);
  }
  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override {
    this->set_up(sources);
    if (total_ > 0) this->find_mesh_forces(sources, into);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto found = this->parameters_for(n);
    return this->tree_bytes(n, found.opening.order, this->softening(found)) + this->mesh_bytes(n, found);
  }

 private:
  using Base::options_, Base::device_, Base::ranks_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;
  using Base::total_, Base::has_mesh_forces_, Base::parameters_, Base::mesh_, Base::long_range_, Base::potential_;

  bool take(const Sources<State>& sources, bool moved) override;
  template <class T>
  tree::ShortRangeBox<T> short_range(bool with_potential) const {
    return short_range_box<T>(*parameters_, with_potential);
  }
  void add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces);
};

template <Precision precision, template <class> class TreeOf>
bool TreePmCpu<precision, TreeOf>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  sources_ = sources;
  this->set_up(sources);
  if (total_ == 0) return true;
  if (moved && !this->tree_is_in_box()) return false;
  const auto points = Base::points(sources, parameters_->tree_box);
  const tree::TreeSoftening softening = this->softening(*parameters_);
  const tree::Opening& opening = parameters_->opening;
  clock_->begin("tree");
  if (moved && !tree_.refresh(points, softening, opening.order)) return false;
  this->find_mesh_forces(sources);
  clock_->begin("tree");
  if (!moved) {
    tree_.build(points, softening, opening.order, false);
    targets_.forget();
    const State* rest[3];
    for (int a = 0; a < 3; ++a) rest[a] = has_mesh_forces_ ? long_range_[a].data() : sources.long_range[a];
    if (opening.tolerance > 0) tree_.estimate_accelerations(short_range<double>(false), rest, this->per_acceleration());
  }
  clock_->end();
  return true;
}

template <Precision precision, template <class> class TreeOf>
void TreePmCpu<precision, TreeOf>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (total_ == 0 || (!Base::on_ranks && targets.count == 0)) return;
  this->check_wants(want);
  this->serve(targets, want, forces, short_range<Pair>((want & want_potential) != 0), parameters_->opening);
  if (has_mesh_forces_) add_long_range(targets, want, forces);
}

/// The mesh's part. Ranks ask it for potentials together: each for all of its particles.
template <Precision precision, template <class> class TreeOf>
void TreePmCpu<precision, TreeOf>::add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces) {
  const LongRangePotential correction = long_range_potential(options_, *parameters_, tree_.frame().mass);
  const std::int64_t n = sources_.count;
  const Targets asked = ranks_ ? Targets{nullptr, n, n} : targets;
  if (want & want_potential) {
    Arena(device_).room(potential_, asked.count, ranks_ ? n / 16 : 0);
    Forces<State> of_mesh;
    of_mesh.potential = potential_.data();
    mesh_->evaluate(asked, want_potential, of_mesh);
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
        forces.potential[t] += static_cast<State>(correction.of(static_cast<double>(potential_.data()[ranks_ ? i : t]),
                                                                static_cast<double>(sources_.mass[i])));
    }
  });
}

template <Precision precision>
using TreePmOnOneProcess = TreePmCpu<precision, tree::OctreeCpu>;
template <Precision precision>
using TreePmOnRanks = TreePmCpu<precision, tree::DistributedOctree>;

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver<Real>, TreePmOnOneProcess>(options, device);
}
template std::unique_ptr<Solver<float>> make_treepm_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_treepm_cpu(const SolverOptions& options, const Device& device);

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_treepm(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks) {
  if (const auto conflict = treepm_conflict(options))
    throw Error(ErrorKind::input, conflict->key + ": " + conflict->why);
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_distributed_treepm_cuda<Real>(options, device, std::move(ranks));
  return make_for_precision<Solver<Real>, TreePmOnRanks>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_treepm(const SolverOptions&, const Device&,
                                                                std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_treepm(const SolverOptions&, const Device&,
                                                                 std::shared_ptr<Communicator>);

}  // namespace pergola

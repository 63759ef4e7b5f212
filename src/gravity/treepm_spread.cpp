#include <optional>
#include <string>

#include "device/arena.hpp"
#include "device/parallel.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver.hpp"
#include "gravity/tree_spread.hpp"
#include "gravity/treepm.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 8192;
/// Numbers change a little where particles move to their work: this part more room.
constexpr std::int64_t spare_part = 16;

/// TreePM over particles that ranks own by the cells of the tree: the forces of one rank, bit for bit. The mesh gives
/// particles their long range wherever they are.
template <Precision precision>
class DistributedTreePm final : public DistributedTreeSolver<precision> {
 public:
  using Base = DistributedTreeSolver<precision>;
  using typename Base::State, typename Base::Pair;

  DistributedTreePm(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : Base(options, device, std::move(ranks)), box_(tree_box(options_)) {
    if (!box_.given()) box_.side = {1, 1, 1};  // for device_bytes
  }

  const SolverInfo& info() const override { return box_.periodic() ? treepm_info() : open_treepm_info(); }
  void set_clock(StageClock* clock) override {
    Base::set_clock(clock);
    if (mesh_) mesh_->set_clock(clock);
  }
  std::vector<std::string> choices() const override {
    if (!parameters_) return {};
    return {parameters_->text(options_.solver)};
  }
  Division divide(const Sources<State>& sources, const tree::KeptTree* kept) override;
  void prepare(const Sources<State>& sources) override;
  bool update(const Sources<State>& sources) override;
  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override {
    set_up_mesh(sources);
    if (total_ > 0) find_mesh_forces(sources, into);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  /// With as many on the other ranks.
  std::int64_t device_bytes(std::int64_t n) const override {
    const TreePmParameters found = treepm_parameters(options_, n * ranks_->size(), box_);
    return this->tree_bytes(n, found.opening) + 4 * n * static_cast<std::int64_t>(sizeof(State)) +
           make_mesh(found)->device_bytes(n);
  }

 private:
  using Base::options_, Base::device_, Base::ranks_, Base::clock_, Base::tree_, Base::sources_;

  std::unique_ptr<Solver<State>> make_mesh(const TreePmParameters& found) const {
    return make_smoothed_mesh<State>(treepm_mesh_options(options_, found), device_, treepm_law(found), ranks_);
  }
  tree::Points<State> points(const Sources<State>& of) const { return Base::points(of, parameters_->tree_box); }
  tree::TreeSoftening softening() const { return tree_softening(this->softening_, parameters_->opening); }
  void find_own_mesh_forces();
  bool in_box() const override { return true; }
  void set_up_mesh(std::int64_t total);
  void set_up_mesh(const Sources<State>& sources) {
    std::int64_t sums[2] = {sources.count, sources.long_range[0] ? 1 : 0};  // without particles there may be no arrays
    ranks_->all_reduce(sums, 2, Reduction::sum);
    if (!box_.periodic() && sums[0] > 0) {
      const Box found = steady_cube(tree_.frame_of(Base::points(sources, {})));
      if (!is_same_cube(found, box_)) total_ = -1;
      box_ = found;
    }
    set_up_mesh(sums[0]);
    has_mesh_forces_ = sums[1] == 0;
  }
  void find_mesh_forces(const Sources<State>& sources, State* const (&into)[3]);
  void add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces);

  Box box_;                      // periodic, or the cube of the sources
  std::int64_t total_ = -1;      // particles on all ranks
  bool has_mesh_forces_ = true;  // of its own; else sources bring their long range along
  std::optional<TreePmParameters> parameters_;
  std::unique_ptr<Solver<State>> mesh_;
  Buffer<State> long_range_[3], potential_;
};

/// For another number of particles than before, or another box.
template <Precision precision>
void DistributedTreePm<precision>::set_up_mesh(std::int64_t total) {
  if (total == total_) return;
  total_ = total;
  parameters_ = treepm_parameters(options_, total, box_);
  mesh_ = make_mesh(*parameters_);
  mesh_->set_clock(clock_);
}

template <Precision precision>
void DistributedTreePm<precision>::find_mesh_forces(const Sources<State>& sources, State* const (&into)[3]) {
  mesh_->prepare(sources);
  Forces<State> forces;
  forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
  mesh_->evaluate({nullptr, sources.count, sources.count}, want_acceleration, forces);
}

/// Unless the sources bring them along.
template <Precision precision>
void DistributedTreePm<precision>::find_own_mesh_forces() {
  if (!has_mesh_forces_) return;
  Arena arena(device_);
  for (auto& axis : long_range_) arena.room(axis, sources_.count, sources_.count / spare_part);
  find_mesh_forces(sources_, {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()});
}

template <Precision precision>
Division DistributedTreePm<precision>::divide(const Sources<State>& sources, const tree::KeptTree* kept) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  set_up_mesh(sources);
  if (total_ == 0) return {};
  clock_->begin("to owners");
  return {&tree_.divide(points(sources), softening(), kept)};
}

template <Precision precision>
void DistributedTreePm<precision>::prepare(const Sources<State>& sources) {
  sources_ = sources;
  set_up_mesh(sources);
  if (total_ == 0) return;
  find_own_mesh_forces();
  clock_->begin("tree");
  const tree::Opening& opening = parameters_->opening;
  tree_.build(points(sources), softening(), opening.order);
  const State* rest[3];
  for (int a = 0; a < 3; ++a) rest[a] = has_mesh_forces_ ? long_range_[a].data() : sources.long_range[a];
  if (opening.tolerance > 0)
    tree_.estimate_accelerations(short_range_box<double>(*parameters_, false), rest,
                                 per_acceleration(options_, tree_.frame()));
  clock_->end();
}

template <Precision precision>
bool DistributedTreePm<precision>::update(const Sources<State>& sources) {
  sources_ = sources;
  set_up_mesh(sources);
  if (total_ == 0) return true;
  if (!is_in_box(tree_.frame(), *parameters_)) return false;
  clock_->begin("tree");
  if (!tree_.refresh(points(sources), softening(), parameters_->opening.order)) return false;
  find_own_mesh_forces();
  clock_->end();
  return true;
}

template <Precision precision>
void DistributedTreePm<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (total_ == 0) return;
  if ((want & want_potential) && !has_mesh_forces_)
    throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  const tree::Opening& opening = parameters_->opening;
  const auto box = short_range_box<Pair>(*parameters_, (want & want_potential) != 0);
  this->serve(
      targets, want, forces, box, opening,
      [&](const auto& view, const tree::ActiveSet& own, std::uint32_t grain, const tree::Sink& sink) {
        return tree::begin_walk(view, box, opening, own, grain, sink);
      },
      [&](const auto& view, const tree::ActiveSet& own, const tree::WalkTask<Pair>& task, const tree::Sink& sink) {
        tree::walk(view, box, opening, own, task, sink);
      });
  if (has_mesh_forces_) add_long_range(targets, want, forces);
}

/// The mesh's part.
template <Precision precision>
void DistributedTreePm<precision>::add_long_range(const Targets& targets, unsigned want, const Forces<State>& forces) {
  const std::int64_t n = sources_.count;
  const LongRangePotential correction = long_range_potential(options_, *parameters_, tree_.frame().mass);
  if (want & want_potential) {
    Arena arena(device_);
    arena.room(potential_, n, n / spare_part);
    Forces<State> of_mesh;
    of_mesh.potential = potential_.data();
    mesh_->evaluate({nullptr, n, n}, want_potential, of_mesh);
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
            correction.of(static_cast<double>(potential_.data()[i]), static_cast<double>(sources_.mass[i])));
    }
  });
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_treepm(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks) {
  if (const auto conflict = treepm_conflict(options))
    throw Error(ErrorKind::input, conflict->key + ": " + conflict->why);
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_distributed_treepm_cuda<Real>(options, device, std::move(ranks));
  return make_for_precision<Solver<Real>, DistributedTreePm>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_treepm(const SolverOptions&, const Device&,
                                                                std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_treepm(const SolverOptions&, const Device&,
                                                                 std::shared_ptr<Communicator>);

}  // namespace pergola

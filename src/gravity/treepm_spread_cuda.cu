#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "device/launch.cuh"
#include "gravity/for_precision.hpp"
#include "gravity/mesh_beside_cuda.cuh"
#include "gravity/source_moves.hpp"
#include "gravity/spread_targets_cuda.cuh"
#include "gravity/tree_solver.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "gravity/treepm.hpp"
#include "tree/forest_domains_cuda.cuh"
#include "tree/group_places_cuda.cuh"
#include "tree/spread_bounds_cuda.cuh"

namespace pergola {

namespace {

/// TreePM over particles that are spread over ranks, on GPUs: the forces of one rank, bit for bit. The mesh gives a
/// rank's particles their long range where they are kept. They go to the rank of their root and as guests to those
/// around it; the walk there serves own particles only, and its answers go back. Trees are built and walked beside what
/// the mesh does: in between the estimate of accelerations needs its forces at the centres of groups.
template <Precision precision>
class TreePmSpreadCuda final : public SolverWithTree<precision, tree::OctreeCuda, TreeTargetsCuda>,
                               public DeviceSourceMoves {
 public:
  using Base = SolverWithTree<precision, tree::OctreeCuda, TreeTargetsCuda>;
  using typename Base::State, typename Base::Pair;

  TreePmSpreadCuda(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : Base(options, device),
        ranks_(std::move(ranks)),
        box_(tree_box(options_)),
        mesh_(device, ranks_),
        domains_(make_domains()),
        bounds_(device, ranks_),
        asking_(device, ranks_) {
    if (!box_.given()) box_.side = {1, 1, 1};  // for device_bytes
  }

  const SolverInfo& info() const override { return box_.periodic() ? treepm_info() : open_treepm_info(); }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void set_clock(StageClock* clock) override {
    Base::set_clock(clock);
    mesh_.set_clock(clock);
  }
  std::vector<std::string> choices() const override {
    if (!parameters_) return {};
    return {parameters_->text(options_.solver)};
  }
  void find_long_range(const Sources<State>& sources, State* const (&into)[3]) override {
    device_.make_current();
    set_up(sources);
    if (total_ > 0) mesh_.find_now(sources, into);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  /// With as many on the other ranks.
  std::int64_t device_bytes(std::int64_t n) const override;

  /// The tree of one rank on rank 0, the same names on the others.
  void save(StateBlocks& blocks) override {
    if (restored_) return save_restored(blocks);
    const Shares shares{total_, ranks_->size()};
    tree_.save_share(blocks, domains_->bring_places(shares.first(ranks_->rank())));
  }
  void put_aside() override {
    weigh();
    Base::put_aside();
    aside_ = std::exchange(domains_, make_domains());
  }
  void take_up() override {
    walked_ = false;
    Base::take_up();
    domains_ = std::move(aside_);
    begin_to_count();
  }

  DeviceRouting* way() override { return total_ > 0 ? &domains_->way() : nullptr; }
  std::int64_t one_in() const override { return one_in_moves_of_forest; }
  void have_come(const Buffer<std::uint32_t>& places) override {
    tree_.renumber(places.data(), domains_->own());
    domains_->keep_here(places);
    targets_.forget();
  }
  void have_left(const DeviceRouting& home, const Buffer<std::uint32_t>& places) override {
    domains_->keep_elsewhere(home, places);
    targets_.forget();
  }

  // Steps of evaluate(). Public, for nvcc allows no device lambda in a private function.
  void complete(const Targets& targets, unsigned want, const Forces<State>& forces,
                const std::array<const double*, 4>& short_range);
  void number_asked(const std::uint32_t* numbers, std::int64_t count);

 private:
  using Base::options_, Base::device_, Base::clock_, Base::tree_, Base::targets_, Base::sources_;

  std::unique_ptr<tree::ForestDomains<State>> make_domains() const {
    return std::make_unique<tree::ForestDomains<State>>(device_, ranks_);
  }
  static std::string tree_kind() { return tree::tree_kind("cuda", true); }
  tree::TreeSoftening softening() const { return tree_softening(this->softening_, parameters_->opening); }
  bool restore_tree(const StateBlocks& blocks, std::int64_t count) override;
  void put(const tree::SavedTree& saved);
  void save_restored(StateBlocks& blocks) const {
    tree::SavedTree names;
    names.centre.assign(3, 0);
    (ranks_->is_root() ? *restored_ : names).save(blocks, tree_kind());
  }
  void set_up(std::int64_t total);
  void set_up(const Sources<State>& sources);
  void take(const Sources<State>& sources, bool moved);
  void build(const tree::Points<State>& kept, const tree::Forest& forest);
  bool refresh(const tree::Points<State>& kept, const tree::Forest& forest);
  MeshPlaces<State> find_groups();
  void estimate();
  void begin_to_count();
  void weigh();
  std::int64_t serve(const Targets& own, unsigned want, const std::array<double*, 4>& answers);
  void check(std::int64_t failed);

  std::shared_ptr<Communicator> ranks_;
  Box box_;                      // periodic, or the cube of the sources
  std::int64_t total_ = -1;      // particles on all ranks
  bool has_mesh_forces_ = true;  // of its own; else sources bring their long range along
  bool with_species_ = false, with_id_ = false;
  std::optional<TreePmParameters> parameters_;
  MeshBeside<State> mesh_;
  tree::ShortRangeBox<Pair> walk_box_;    // for the walk
  tree::ShortRangeBox<float> rough_box_;  // for the estimate of accelerations
  std::unique_ptr<tree::ForestDomains<State>> domains_, aside_;
  tree::SpreadBounds<State> bounds_;
  std::optional<tree::SavedTree> restored_;  // in open space, until the sources say in which box
  AskingTargets asking_;
  Buffer<State> long_range_[3], rest_[3];
  Buffer<float> group_rest_[3];
  Buffer<std::byte> group_memory_;
  tree::GroupPlaces<State> groups_;
  Buffer<double> answer_[4], kept_answer_[4];
  Buffer<std::int64_t> asked_index_;
  Buffer<std::uint32_t> work_;  // of walks since the tree was built, by cell
  bool walked_ = false;
  std::int64_t times_ = 0;  // so often particles have come since then
  Buffer<unsigned long long> work_of_place_;
  typename tree::ForestDomains<State>::CountedWork counted_;  // of the tree before, or the one before that
};

template <Precision precision>
void TreePmSpreadCuda<precision>::set_up(std::int64_t total) {
  if (total == total_) return;
  total_ = total;
  parameters_ = treepm_parameters(options_, total, box_);
  mesh_.set_up(options_, *parameters_, clock_);
  walk_box_ = short_range_box<Pair>(*parameters_, true);
  rough_box_ = short_range_box<float>(*parameters_, false);
}

/// A rank without particles may have no arrays.
template <Precision precision>
void TreePmSpreadCuda<precision>::set_up(const Sources<State>& sources) {
  std::int64_t sums[4] = {sources.count, sources.long_range[0] ? 1 : 0,
                          sources.species && !this->softening_.uniform() ? 1 : 0, sources.id ? 1 : 0};
  ranks_->all_reduce(sums, 4, Reduction::sum);
  if (!box_.periodic() && sums[0] > 0) {
    const Box found = steady_cube(tree::SpreadBounds<State>::frame(bounds_.find(Base::points(sources, {})), 1));
    if (!is_same_cube(found, box_)) total_ = -1;
    box_ = found;
  }
  set_up(sums[0]);
  has_mesh_forces_ = sums[1] == 0, with_species_ = sums[2] > 0, with_id_ = sums[3] > 0;
}

template <Precision precision>
void TreePmSpreadCuda<precision>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  mesh_.forget();
  sources_ = sources;
  set_up(sources);
  if (total_ == 0) return;
  if (has_mesh_forces_) {
    for (auto& axis : long_range_) Arena(device_).room(axis, sources.count);
    mesh_.begin(sources, {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()});
  }
  clock_->begin("tree");
  const auto kept = Base::points(sources, parameters_->tree_box);
  const tree::Forest forest = treepm_forest(*parameters_, total_, softening());
  if (restored_) {
    if (is_in_box(restored_->frame, *parameters_)) put(*restored_);
    restored_.reset();
  }
  const bool anew = !moved || !refresh(kept, forest);
  if (anew) {
    build(kept, forest);
    targets_.forget();
  }
  const bool estimates = anew && parameters_->opening.tolerance > 0;
  if (has_mesh_forces_) mesh_.serve_first(estimates ? std::optional(find_groups()) : std::nullopt, *clock_);
  if (estimates) estimate();
  clock_->end();
}

/// Where the estimate asks for the mesh's forces: in the own groups.
template <Precision precision>
auto TreePmSpreadCuda<precision>::find_groups() -> MeshPlaces<State> {
  const std::int64_t cells = tree_.count() > 0 ? tree_.cells() : 0;
  Arena(device_).room(group_memory_, tree::GroupPlaces<State>::bytes(cells), cells);
  MemoryParts parts(group_memory_.data());
  groups_ = {parts, cells};
  tree::find_groups_cuda(device_, tree_, domains_->own(), groups_);
  return groups_.template as<MeshPlaces<State>>();
}

template <Precision precision>
bool TreePmSpreadCuda<precision>::refresh(const tree::Points<State>& kept, const tree::Forest& forest) {
  if (!is_in_box(tree_.frame(), *parameters_)) return false;
  std::int64_t differs = kept.count != domains_->kept() ? 1 : 0;
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  if (differs) return false;
  ++times_;
  return tree_.refresh(domains_->bring(kept, with_species_, false), softening(), parameters_->opening.order, forest);
}

template <Precision precision>
void TreePmSpreadCuda<precision>::build(const tree::Points<State>& kept, const tree::Forest& forest) {
  std::int64_t limbs[ExactSum::limbs], finite = tree_.sum_masses(kept, limbs) ? 1 : 0;
  ranks_->all_reduce(&finite, 1, Reduction::minimum);
  if (!finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
  ranks_->all_reduce(limbs, ExactSum::limbs, Reduction::sum);
  const double sum = ExactSum::value(limbs), mass = sum > 0 ? sum : 1;
  const tree::Frame frame = tree::frame_within({0, 0, 0}, {0, 0, 0}, mass, kept.box);
  weigh();
  clock_->begin("to trees");
  domains_->cut(kept, frame, forest, counted_);
  const auto here = domains_->bring(kept, with_species_, with_id_);
  clock_->begin("tree");
  on_all(*ranks_, [&] {
    tree_.build(here, softening(), parameters_->opening.order, forest, {ranks_.get(), domains_->own(), mass});
  });
  begin_to_count();
}

/// Work of walks over the tree that is there now.
template <Precision precision>
void TreePmSpreadCuda<precision>::begin_to_count() {
  const std::int64_t cells = tree_.count() > 0 ? tree_.cells() : 0;
  Arena(device_).room(work_, cells, cells / 16);
  work_.zero();
  targets_.count_work(work_.data());
  times_ = 1;
}

/// What was counted goes to the places of the roots. It decides who works on which of them when the tree is built anew,
/// and no result.
template <Precision precision>
void TreePmSpreadCuda<precision>::weigh() {
  if (!std::exchange(walked_, false)) return;
  const std::int64_t places = tree_.root_places();
  Arena(device_).room(work_of_place_, places);
  work_of_place_.zero();
  tree_.add_work(work_.data(), work_of_place_.data());
  const auto found = tree::on_host(device_, work_of_place_.data(), places);
  counted_ = {{found.begin(), found.end()}, times_};
}

/// The accelerations that the walk's opening compares with; guests have none.
template <Precision precision>
void TreePmSpreadCuda<precision>::estimate() {
  clock_->begin("estimate");
  const double unit = per_acceleration(options_, tree_.frame());
  const std::int64_t n = domains_->count(), cells = n > 0 ? tree_.cells() : 0;
  for (auto& axis : group_rest_) Arena(device_).room(axis, cells, cells / 16);
  if (has_mesh_forces_) {
    for (int axis = 0; axis < 3; ++axis) {
      group_rest_[axis].zero();
      tree::set_rest_cuda(device_, groups_, axis, unit, group_rest_[axis].data());
    }
  } else {
    for (auto& axis : rest_) Arena(device_).room(axis, n, n / 16), axis.zero();
    domains_->bring({sources_.long_range[0], sources_.long_range[1], sources_.long_range[2]},
                    {rest_[0].data(), rest_[1].data(), rest_[2].data()});
    for (int axis = 0; axis < 3 && n > 0; ++axis) tree_.find_rest(rest_[axis].data(), unit, group_rest_[axis].data());
  }
  tree_.estimate_accelerations(rough_box_, {group_rest_[0].data(), group_rest_[1].data(), group_rest_[2].data()});
}

/// The walk for own particles. Returns the lowest number of one whose force is not finite, or how many there are.
template <Precision precision>
std::int64_t TreePmSpreadCuda<precision>::serve(const Targets& own, unsigned want,
                                                const std::array<double*, 4>& answers) {
  if (own.count == 0) return tree_.count();
  tree::WalkOutput out = targets_.output(tree_, 0, options_.gravitational_constant, {});
  if (want & want_acceleration) out.ax = answers[0], out.ay = answers[1], out.az = answers[2];
  if (want & want_potential) out.potential = answers[3];
  out.doubles = true;  // rounded once, with the long range
  return targets_.serve(tree_, walk_box_, parameters_->opening, own, out, [] {});
}

/// The long range where particles are kept, and the short range that came back, by target.
template <Precision precision>
void TreePmSpreadCuda<precision>::complete(const Targets& targets, unsigned want, const Forces<State>& forces,
                                           const std::array<const double*, 4>& short_range) {
  const auto stream = device_.stream();
  if (want & want_acceleration) {
    State* const to[3] = {forces.ax, forces.ay, forces.az};
    for (std::size_t axis = 0; axis < 3; ++axis)
      cuda::launch("treepm forces", targets.count, stream,
                   [targets, to = to[axis], from = short_range[axis],
                    mesh = has_mesh_forces_ ? long_range_[axis].data() : nullptr] __device__(std::int64_t k) {
                     const std::int64_t i = targets.index ? targets.index[k] : targets.first + k;
                     double value = from[k];
                     if (mesh) value += static_cast<double>(mesh[i]);
                     to[k] = static_cast<State>(value);
                   });
  }
  if (!(want & want_potential)) return;
  const std::int64_t n = sources_.count;
  Arena(device_).room(rest_[0], n, n / 16);
  mesh_.find_potentials(n, rest_[0].data());
  const LongRangePotential correction = long_range_potential(options_, *parameters_, tree_.frame().mass);
  cuda::launch("treepm potential", targets.count, stream,
               [correction, targets, to = forces.potential, from = short_range[3], mesh = rest_[0].data(),
                mass = sources_.mass] __device__(std::int64_t k) {
                 const std::int64_t i = targets.index ? targets.index[k] : targets.first + k;
                 const auto far =
                     static_cast<State>(correction.of(static_cast<double>(mesh[i]), static_cast<double>(mass[i])));
                 to[k] = static_cast<State>(from[k] + static_cast<double>(far));
               });
}

template <Precision precision>
void TreePmSpreadCuda<precision>::number_asked(const std::uint32_t* numbers, std::int64_t count) {
  Arena(device_).room(asked_index_, count);
  cuda::launch("treepm targets", count, device_.stream(),
               [numbers, to = asked_index_.data()] __device__(std::int64_t k) { to[k] = numbers[k]; });
}

template <Precision precision>
void TreePmSpreadCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (total_ == 0) return;
  check_tree_wants(want);
  if ((want & want_potential) && !has_mesh_forces_)
    throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  device_.make_current();
  std::int64_t all = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&all, 1, Reduction::minimum);
  clock_->begin("walk");
  Arena arena(device_);
  Targets own{nullptr, domains_->own(), domains_->own()};
  if (!all) {
    asking_.list(targets, domains_->workers());
    number_asked(asking_.numbers(), asking_.asked());
    own = {asked_index_.data(), asking_.asked(), asking_.asked()};
  }
  std::array<double*, 4> answers{}, kept{};
  std::array<const double*, 4> came_back{};
  for (std::size_t f = 0; f < 4; ++f) {
    if (!(want & (f < 3 ? want_acceleration : want_potential))) continue;
    arena.room(answer_[f], own.count, own.count / 16), arena.room(kept_answer_[f], targets.count);
    answers[f] = answer_[f].data(), came_back[f] = kept[f] = kept_answer_[f].data();
  }
  std::int64_t failed = tree_.count();
  walked_ = true;
  on_all(*ranks_, [&] { failed = serve(own, want, answers); });
  check(failed);
  const std::array<const double*, 3> found{answers[0], answers[1], answers[2]};
  const std::array<double*, 3> back{kept[0], kept[1], kept[2]};
  if (want & want_acceleration) all ? domains_->give_back(found, back) : asking_.way().back(found, back);
  if (want & want_potential) {
    if (all)
      domains_->give_back(answers[3], kept[3]);
    else
      asking_.way().template back<double, 1>({answers[3]}, {kept[3]});
  }
  mesh_.end(*clock_);
  complete(targets, want, forces, came_back);
  clock_->end();
}

template <Precision precision>
void TreePmSpreadCuda<precision>::check(std::int64_t failed) {
  const auto places = [&] { return domains_->bring_places(places_before(*ranks_, sources_.count)); };
  check_spread_forces(*ranks_, device_, failed, tree_.count(), places, sources_, options_);
}

template <Precision precision>
bool TreePmSpreadCuda<precision>::restore_tree(const StateBlocks& blocks, std::int64_t count) {
  device_.make_current();
  tree::SavedTree saved;
  if (!saved.restore(blocks, tree_kind(), count)) return false;
  set_up(count);
  if (count == 0) return true;
  if (box_.periodic())
    put(saved);
  else
    restored_ = std::move(saved);
  return true;
}

/// A rank's share of a tree of all.
template <Precision precision>
void TreePmSpreadCuda<precision>::put(const tree::SavedTree& saved) {
  tree::Forest forest = treepm_forest(*parameters_, total_, softening());
  forest.level = saved.root_level;
  const tree::SavedTree part = domains_->cut(saved, forest);
  tree_.restore_share(part, {ranks_.get(), domains_->own(), saved.frame.mass});
  begin_to_count();
}

template <Precision precision>
std::int64_t TreePmSpreadCuda<precision>::device_bytes(std::int64_t n) const {
  const TreePmParameters found = treepm_parameters(options_, n * ranks_->size(), box_);
  const tree::TreeSoftening softening = tree_softening(this->softening_, found.opening);
  const tree::Forest forest = treepm_forest(found, n * ranks_->size(), softening);
  const std::int64_t cells = tree::first_guess_of_cells(n);
  Arena count;
  for (const auto& axis : long_range_) count.room(axis, n);
  for (const auto& axis : rest_) count.room(axis, n);
  for (const auto& axis : group_rest_) count.room(axis, cells);
  count.room(group_memory_, tree::GroupPlaces<State>::bytes(cells));
  count.room(work_, cells);
  for (int f = 0; f < 3; ++f) count.room(answer_[f], n), count.room(kept_answer_[f], n);
  return count.bytes() + domains_->device_bytes(n) +
         MeshBeside<State>::make(options_, found, device_, ranks_)->device_bytes(n) +
         targets_.device_bytes(n, found.opening.order, softening, forest, 0);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_spread_treepm_cuda(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, TreePmSpreadCuda>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_spread_treepm_cuda(const SolverOptions&, const Device&,
                                                                std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_spread_treepm_cuda(const SolverOptions&, const Device&,
                                                                 std::shared_ptr<Communicator>);

}  // namespace pergola

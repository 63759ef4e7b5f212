#include "gravity/treepm_spread_cuda.cuh"

#include "gravity/solver.hpp"

namespace pergola {

template <Precision precision>
void DistributedTreePmCuda<precision>::set_up(std::int64_t total) {
  if (total == total_) return;
  total_ = total;
  parameters_ = treepm_parameters(options_, total, box_);
  has_mesh_ = false;
  if (const Overlap overlap = treepm_options(options_).overlap; !is_chosen_) {
    const auto needed = static_cast<double>(bytes((total + ranks_->size() - 1) / ranks_->size(), true));
    beside_ = overlap != Overlap::never && mesh_.may_work_beside(overlap == Overlap::always ? 0 : needed);
    is_chosen_ = true;
  }
  typename MeshBeside<State>::Borrowed borrowed;
  if (!beside_) {
    borrowed.arrivals = [this](std::int64_t bytes) { return domains_.memory(bytes); };
    borrowed.way = [this](std::int64_t) { return reinterpret_cast<std::byte*>(mesh_memory().way); };
  }
  mesh_.set_up(options_, *parameters_, clock_, borrowed);
  walk_box_ = short_range_box<Pair>(*parameters_, true);
  rough_box_ = short_range_box<float>(*parameters_, false);
}

/// A rank without particles may have no arrays.
template <Precision precision>
void DistributedTreePmCuda<precision>::set_up(const Sources<State>& sources) {
  std::int64_t sums[4] = {sources.count, sources.long_range[0] ? 1 : 0,
                          sources.species && !this->softening_.uniform() ? 1 : 0, sources.id ? 1 : 0};
  ranks_->all_reduce(sums, 4, Reduction::sum);
  if (!box_.periodic() && sums[0] > 0) {
    const Box found = steady_cube(tree::DistributedBounds<State>::frame(bounds_.find(Base::points(sources, {})), 1));
    if (!is_same_cube(found, box_)) total_ = -1;
    box_ = found;
  }
  set_up(sums[0]);
  has_mesh_forces_ = sums[1] == 0, with_species_ = sums[2] > 0, with_id_ = sums[3] > 0;
}

template <Precision precision>
Division DistributedTreePmCuda<precision>::divide(const Sources<State>& sources, const tree::KeptTree* kept) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  set_up(sources);
  if (total_ == 0) return {};
  clock_->begin("to owners");
  const auto points = Base::points(sources, parameters_->tree_box);
  if (kept) {
    frame_ = kept->frame;
  } else {
    std::int64_t limbs[ExactSum::limbs], finite = tree_.sum_masses(points, limbs) ? 1 : 0;
    ranks_->all_reduce(&finite, 1, Reduction::minimum);
    if (!finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
    ranks_->all_reduce(limbs, ExactSum::limbs, Reduction::sum);
    const double sum = ExactSum::value(limbs);
    frame_ = tree::frame_within({0, 0, 0}, {0, 0, 0}, sum > 0 ? sum : 1, points.box);
  }
  weigh();
  domains_.cut(kept ? tree::with_keys(points, *kept) : points, frame_, treepm_forest(*parameters_, total_, softening()),
               counted_);
  return {&domains_.way(), [this](std::int64_t bytes) {
            has_mesh_ = false;
            return tree_.arena(bytes);
          }};
}

template <Precision precision>
bool DistributedTreePmCuda<precision>::take(const Sources<State>& sources, bool moved) {
  device_.make_current();
  mesh_.forget();
  has_mesh_ = false;
  sources_ = sources;
  set_up(sources);
  if (total_ == 0) return true;
  const bool begins_mesh = beside_ && has_mesh_forces_;
  if (begins_mesh) {
    for (auto& axis : long_range_) Arena(device_).room(axis, sources.count);
    clock_->begin("to slabs");
    mesh_.begin(sources, {long_range_[0].data(), long_range_[1].data(), long_range_[2].data()});
  }
  clock_->begin("tree");
  const auto own = Base::points(sources, parameters_->tree_box);
  const tree::Forest forest = treepm_forest(*parameters_, total_, softening());
  if (moved && !refresh(own, forest)) {
    mesh_.forget();
    return false;
  }
  if (!moved) {
    build(own, forest);
    targets_.forget();
    lacks_estimate_ = parameters_->opening.tolerance > 0;
  }
  if (begins_mesh) mesh_.serve_first(lacks_estimate_ ? std::optional(find_groups()) : std::nullopt, *clock_);
  if (lacks_estimate_ && (begins_mesh || !has_mesh_forces_)) estimate();
  clock_->end();
  return true;
}

template <Precision precision>
void DistributedTreePmCuda<precision>::find_long_range(const Sources<State>& sources, State* const (&into)[3]) {
  device_.make_current();
  set_up(sources);
  if (total_ == 0) return;
  if (beside_) return mesh_.find_now(sources, into);
  sources_ = sources;
  has_mesh_ = false;
  find_mesh();
  Forces<State> forces;
  forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
  mesh_.alone().evaluate({nullptr, sources.count, sources.count}, want_acceleration, forces);
  has_mesh_ = false;
}

/// Where the estimate asks for the mesh's forces: in the own groups.
template <Precision precision>
auto DistributedTreePmCuda<precision>::find_groups() -> MeshPlaces<State> {
  groups_ = mesh_memory().groups;
  tree::find_groups_cuda(device_, tree_, domains_.own(), *groups_);
  return groups_->template as<MeshPlaces<State>>();
}

/// The sources on the mesh, by itself.
template <Precision precision>
void DistributedTreePmCuda<precision>::find_mesh() {
  if (std::exchange(has_mesh_, true)) return;
  mesh_.alone().lend(mesh_memory().mesh, nullptr);
  mesh_.alone().prepare(sources_);
}

/// Its forces and potentials at the targets, and what the estimate lacks. Where groups are served first no
/// field is left for potentials.
template <Precision precision>
void DistributedTreePmCuda<precision>::evaluate_mesh(const Targets& targets, unsigned want,
                                                     const Forces<State>& forces) {
  find_mesh();
  const bool estimates = lacks_estimate_ && (want & want_acceleration);
  if (estimates) {
    mesh_.alone().serve_first([&] { return std::optional(find_groups()); }, [] {});
    mesh_.alone().evaluate(targets, want_acceleration, forces);
    estimate();
    want &= ~static_cast<unsigned>(want_acceleration);
  }
  if (want) mesh_.alone().evaluate(targets, want, forces);
}

template <Precision precision>
bool DistributedTreePmCuda<precision>::refresh(const tree::Points<State>& own, const tree::Forest& forest) {
  const tree::KeptTree* const again = std::exchange(again_, nullptr);
  if (!is_in_box(again ? again->frame : tree_.frame(), *parameters_)) return false;
  std::int64_t differs = own.count != (again ? again->count() : domains_.own()) ? 1 : 0;
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  if (differs || (again && again->root_level != forest.level)) return false;
  if (again) make_again(own, forest, *again);
  ++times_;
  return tree_.refresh(domains_.with_ghosts(own, with_species_, nullptr), softening(), parameters_->opening.order,
                       forest);
}

template <Precision precision>
void DistributedTreePmCuda<precision>::build(const tree::Points<State>& own, const tree::Forest& forest) {
  again_ = nullptr;
  domains_.find_ghosts(own, frame_, forest);
  tree_.build(with_ghosts(own), softening(), parameters_->opening.order, forest,
              {ranks_.get(), domains_.own(), frame_.mass});
  begin_to_count();
}

/// The cells of a kept tree. Its moments are found by the refresh that follows. Ghosts have keys, and no accelerations.
template <Precision precision>
void DistributedTreePmCuda<precision>::make_again(const tree::Points<State>& own, const tree::Forest& forest,
                                                  const tree::KeptTree& again) {
  domains_.find_ghosts(tree::with_keys(own, again), again.frame, forest);
  const std::int64_t all = domains_.count();
  Buffer<std::uint64_t> upper(device_, all), lower(device_, again.has_lower() ? all : 0);
  Buffer<double> acceleration(device_, again.has_accelerations() ? all : 0);
  domains_.add_ghosts(again.upper.data(), upper.data());
  if (again.has_lower()) domains_.add_ghosts(again.lower.data(), lower.data());
  acceleration.zero();
  if (again.has_accelerations()) domains_.copy_own(again.acceleration.data(), acceleration.data());
  tree::Points<State> here = with_ghosts(own);
  here.upper = upper.data(), here.lower = again.has_lower() ? lower.data() : nullptr;
  tree_.make_again(here, acceleration.data(), again, forest, {ranks_.get(), domains_.own(), again.frame.mass});
  begin_to_count();
}

template <Precision precision>
void DistributedTreePmCuda<precision>::put_aside(tree::KeptTree& to) {
  device_.make_current();
  if (total_ > 0) {
    if (lacks_estimate_) estimate();
    tree_.know_spread();
    tree_.keep_points(domains_.own(), to);
  }
  weigh();
}

/// Work of walks over the tree that is there now.
template <Precision precision>
void DistributedTreePmCuda<precision>::begin_to_count() {
  const std::int64_t cells = tree_.count() > 0 ? tree_.cells() : 0;
  Arena(device_).room(work_, cells, cells / 16);
  work_.zero();
  targets_.count_work(work_.data());
  times_ = 1;
}

/// What was counted goes to the plots of the roots. It decides who works on which of them when the tree is built anew,
/// and no result.
template <Precision precision>
void DistributedTreePmCuda<precision>::weigh() {
  if (!std::exchange(walked_, false)) return;
  const std::int64_t root_blocks = tree_.root_blocks();
  Arena(device_).room(work_of_root_block_, root_blocks);
  work_of_root_block_.zero();
  tree_.add_work(work_.data(), work_of_root_block_.data());
  const auto found = tree::on_host(device_, work_of_root_block_.data(), root_blocks);
  counted_ = {{found.begin(), found.end()}, times_};
}

/// The accelerations that the walk's opening compares with; ghosts have none. From the mesh's forces in groups, where
/// these were found.
template <Precision precision>
void DistributedTreePmCuda<precision>::estimate() {
  if (has_mesh_forces_ && !groups_) return evaluate_mesh({}, want_acceleration, {});
  clock_->begin("estimate");
  const double unit = per_acceleration(options_, tree_.frame());
  const std::int64_t n = domains_.count();
  if (has_mesh_forces_) {
    const MeshInTree<State> memory = mesh_memory();
    for (int axis = 0; axis < 3 && n > 0; ++axis) {
      device_.memory().zero(memory.rest[axis], tree_.cells() * sizeof(float));
      tree::set_rest_cuda(device_, *groups_, axis, unit, memory.rest[axis]);
    }
    groups_.reset();
    return finish_estimate(memory);
  }
  const MeshInTree<State> memory = mesh_memory(n);
  const auto [x, y, z] = memory.values;
  State* const values[3] = {x, y, z};
  for (int axis = 0; axis < 3; ++axis) {
    device_.memory().zero(values[axis], static_cast<std::size_t>(n) * sizeof(State));
    domains_.copy_own(sources_.long_range[axis], values[axis]);
  }
  for (int axis = 0; axis < 3 && n > 0; ++axis) tree_.find_rest(memory.values[axis], unit, memory.rest[axis]);
  finish_estimate(memory);
}

template <Precision precision>
tree::Forest DistributedTreePmCuda<precision>::forest_for(const TreePmParameters& found, std::int64_t n) const {
  return treepm_forest(found, n * ranks_->size(), tree_softening(this->softening_, found.opening));
}

template <Precision precision>
std::int64_t DistributedTreePmCuda<precision>::bytes(std::int64_t n, bool beside) const {
  const TreePmParameters found = treepm_parameters(options_, n * ranks_->size(), box_);
  const tree::TreeSoftening softening = tree_softening(this->softening_, found.opening);
  const tree::Forest forest = forest_for(found, n);
  const std::int64_t with_ghosts = n + domains_.ghosts_of(n, forest), cells = tree::first_guess_of_cells(with_ghosts);
  typename MeshBeside<State>::Borrowed in_tree;  // which has room for them
  if (!beside) in_tree.arrivals = in_tree.way = [](std::int64_t) { return nullptr; };
  const auto mesh = MeshBeside<State>::make(options_, found, device_, ranks_, in_tree);
  const std::int64_t borrowed = beside ? 0 : mesh->borrowed_bytes();
  Arena count;
  count.room(work_, cells), count.room(work_of_root_block_, forest.root_blocks());
  for (const auto& axis : long_range_) count.room(axis, beside ? n : 0);
  std::int64_t of_others =
      std::max(domains_.scratch_bytes(n), MeshInTree<State>(nullptr, borrowed, cells, beside ? 0 : n).bytes);
  if (beside) {
    constexpr auto doubles = std::int64_t{3 * sizeof(double)}, arrived = std::int64_t{4 * sizeof(State)};
    count.count<std::byte>(std::max<std::int64_t>(0, n * doubles - with_ghosts * arrived));
  }
  return count.bytes() + messages_->bytes(domains_.way().message_bytes(n)) +
         domains_.device_bytes(n, forest, !this->softening_.uniform()) + mesh->device_bytes(n) - borrowed +
         targets_.device_bytes(with_ghosts, found.opening.order, softening, forest, of_others) +
         targets_.bytes_for_own(with_ghosts);
}

template class DistributedTreePmCuda<Precision::single>;
template class DistributedTreePmCuda<Precision::mixed>;
template class DistributedTreePmCuda<Precision::double_>;

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_treepm_cuda(const SolverOptions& options, const Device& device,
                                                           std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, DistributedTreePmCuda>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_treepm_cuda(const SolverOptions&, const Device&,
                                                                     std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_treepm_cuda(const SolverOptions&, const Device&,
                                                                      std::shared_ptr<Communicator>);

}  // namespace pergola

#include "gravity/treepm_cuda.cuh"
#include "gravity/treepm_spread_cuda.cuh"

namespace pergola {

/// The walk for own particles: those of an index, or all. Returns the lowest number of one whose force is not finite,
/// or how many there are.
template <Precision precision>
template <class Value>
std::int64_t DistributedTreePmCuda<precision>::serve(const Targets& own, unsigned want,
                                                     const std::array<Value*, 4>& answers, bool adds,
                                                     const std::function<void()>& begin) {
  if (own.count == 0) return tree_.count();
  tree::WalkOutput out = targets_.output(tree_, 0, options_.gravitational_constant, {});
  if (want & want_acceleration) out.ax = answers[0], out.ay = answers[1], out.az = answers[2];
  if (want & want_potential) out.potential = answers[3];
  out.doubles = sizeof(Value) == 8;
  out.adds = adds;
  if (!own.index) return targets_.serve_own(tree_, walk_box_, parameters_->opening, own.count, out, begin);
  return targets_.serve(tree_, walk_box_, parameters_->opening, own, out, begin);
}

/// The long range where particles are kept, and the short range that came back, by target.
template <Precision precision>
void DistributedTreePmCuda<precision>::complete(const Targets& targets, unsigned want, const Forces<State>& forces,
                                                const std::array<double*, 4>& short_range,
                                                const State* mesh_potential) {
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
  cuda::launch("treepm potential", targets.count, stream,
               [targets, to = forces.potential, mesh = mesh_potential] __device__(std::int64_t k) {
                 to[k] = mesh[targets.index ? targets.index[k] : targets.first + k];
               });
  complete_potentials(targets, forces.potential);
  cuda::launch("treepm potential", targets.count, stream,
               [to = forces.potential, from = short_range[3]] __device__(std::int64_t k) {
                 to[k] = static_cast<State>(from[k] + static_cast<double>(to[k]));
               });
}

/// From the mesh's potentials to those of the long range.
template <Precision precision>
void DistributedTreePmCuda<precision>::complete_potentials(const Targets& targets, State* potential) {
  complete_potentials_cuda(device_, long_range_potential(options_, *parameters_, tree_.frame().mass), targets,
                           sources_.mass, potential);
}

template <Precision precision>
void DistributedTreePmCuda<precision>::number_asked(const std::uint32_t* numbers, std::int64_t count) {
  Arena(device_).room(asked_index_, count);
  cuda::launch("treepm targets", count, device_.stream(),
               [numbers, to = asked_index_.data()] __device__(std::int64_t k) { to[k] = numbers[k]; });
}

template <Precision precision>
void DistributedTreePmCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (total_ == 0) return;
  check_tree_wants(want);
  if ((want & want_potential) && !has_mesh_forces_)
    throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  device_.make_current();
  std::int64_t all = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&all, 1, Reduction::minimum);
  Targets own{nullptr, domains_.own(), domains_.own()};
  if (!all) {
    clock_->begin("walk");
    asking_.list(targets, domains_.workers(), [this](std::int64_t bytes) { return lend(bytes); });
    number_asked(asking_.numbers(), asking_.asked());
    own = {asked_index_.data(), asking_.asked(), asking_.asked()};
  }
  walked_ = true;
  DeviceRouting& way = all ? domains_.way() : asking_.way();
  beside_ ? answer_beside(targets, own, way, want, forces) : answer_in_turn(targets, own, way, want, forces);
  clock_->end();
}

/// Answers are doubles, and are rounded once, with the long range. They are found in the memory of the points, which
/// the tree needs no more, and come back to that of the walk.
template <Precision precision>
void DistributedTreePmCuda<precision>::answer_beside(const Targets& targets, const Targets& own, DeviceRouting& way,
                                                     unsigned want, const Forces<State>& forces) {
  clock_->begin("walk");
  const auto lay_out = [want](std::byte* memory, std::int64_t count, std::array<double*, 4>& to) {
    MemoryParts parts(memory);
    for (std::size_t f = 0; f < 4; ++f)
      to[f] = parts.take<double>(want & (f < 3 ? want_acceleration : want_potential) ? count : 0);
    return parts.used();
  };
  std::array<double*, 4> found{}, kept{};
  lay_out(domains_.memory(lay_out(nullptr, own.count, found)), own.count, found);
  std::int64_t failed = tree_.count();
  on_all(*ranks_, [&] { failed = serve(own, want, found, false, [] {}); });
  check(failed);
  const std::int64_t n = sources_.count, kept_bytes = lay_out(nullptr, targets.count, kept);
  const bool potentials = want & want_potential;
  std::byte* const memory = tree_.arena(kept_bytes + (potentials ? n * std::int64_t{sizeof(State)} : 0));
  lay_out(memory, targets.count, kept);
  if (want & want_acceleration)
    way.template back<double, 3>({found[0], found[1], found[2]}, {kept[0], kept[1], kept[2]});
  if (potentials) way.template back<double, 1>({found[3]}, {kept[3]});
  mesh_.end(*clock_);
  State* const of_mesh = reinterpret_cast<State*>(memory + kept_bytes);
  if (potentials) mesh_.find_potentials(n, of_mesh);
  complete(targets, want, forces, kept, of_mesh);
}

/// Answers begin as the long range, and are rounded as they are found. Where lists find no room on a rank all bring it
/// again, for answers have taken its place.
template <Precision precision>
void DistributedTreePmCuda<precision>::answer_in_turn(const Targets& targets, const Targets& own, DeviceRouting& way,
                                                      unsigned want, const Forces<State>& forces) {
  struct NoRoom {};
  const bool accelerations = want & want_acceleration, potentials = want & want_potential;
  if (has_mesh_forces_) {
    if (lacks_estimate_ && !accelerations) estimate();
    evaluate_mesh(targets, want, forces);
    if (potentials) complete_potentials(targets, forces.potential);
    has_mesh_ = false;
  }
  clock_->begin("walk");
  const std::array<State*, 4> here = domains_.arrays();
  std::int64_t failed = tree_.count();
  for (std::int64_t again = 1; again > 0;) {
    if (has_mesh_forces_ && accelerations)
      way.template there<State, 3>({forces.ax, forces.ay, forces.az}, {here[0], here[1], here[2]});
    if (has_mesh_forces_ && potentials) way.template there<State, 1>({forces.potential}, {here[3]});
    again = 0;
    int tries = 0;
    on_all(*ranks_, [&] {
      try {
        failed = serve(own, want, here, has_mesh_forces_, [&] {
          if (tries++ > 0) throw NoRoom();
        });
      } catch (const NoRoom&) {
        again = 1;
      }
    });
    ranks_->all_reduce(&again, 1, Reduction::maximum);
  }
  check(failed);
  if (accelerations) way.template back<State, 3>({here[0], here[1], here[2]}, {forces.ax, forces.ay, forces.az});
  if (potentials) way.template back<State, 1>({here[3]}, {forces.potential});
}

template <Precision precision>
void DistributedTreePmCuda<precision>::check(std::int64_t failed) {
  const auto places = [&] { return domains_.bring_places(places_before(*ranks_, sources_.count)); };
  check_distributed_forces(*ranks_, device_, failed, tree_.count(), places, sources_, options_);
}

template class DistributedTreePmCuda<Precision::single>;
template class DistributedTreePmCuda<Precision::mixed>;
template class DistributedTreePmCuda<Precision::double_>;

}  // namespace pergola

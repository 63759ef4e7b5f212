#include "gravity/treepm_cuda.cuh"
#include "gravity/treepm_spread_cuda.cuh"

namespace pergola {

/// The walk for targets among own particles, or all of these. Returns the lowest of those whose force is not finite, or
/// how many points the tree has.
template <Precision precision>
template <class Value>
std::int64_t DistributedTreePmCuda<precision>::serve(const Targets& targets, unsigned want,
                                                     const std::array<Value*, 4>& answers, bool adds,
                                                     const std::function<void()>& begin) {
  if (targets.count == 0) return tree_.count();
  tree::WalkOutput out = targets_.output(tree_, 0, options_.gravitational_constant, {});
  if (want & want_acceleration) out.ax = answers[0], out.ay = answers[1], out.az = answers[2];
  if (want & want_potential) out.potential = answers[3];
  out.doubles = sizeof(Value) == 8;
  out.adds = adds;
  if (!targets.index && targets.count == domains_.own())
    return targets_.serve_own(tree_, walk_box_, parameters_->opening, targets.count, out, begin);
  return targets_.serve(tree_, walk_box_, parameters_->opening, targets, out, begin);
}

/// The long range and the short range, by target.
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
void DistributedTreePmCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (total_ == 0) return;
  check_tree_wants(want);
  if ((want & want_potential) && !has_mesh_forces_)
    throw Error(ErrorKind::input, "treepm: expected potentials to be asked for of the whole, found the short range");
  device_.make_current();
  walked_ = true;
  beside_ ? answer_beside(targets, want, forces) : answer_in_turn(targets, want, forces);
  clock_->end();
}

/// Answers of the walk are doubles, and are rounded once, with the long range. They are found in the memory of the
/// points, which the tree needs no more.
template <Precision precision>
void DistributedTreePmCuda<precision>::answer_beside(const Targets& targets, unsigned want,
                                                     const Forces<State>& forces) {
  clock_->begin("walk");
  const auto lay_out = [want, count = targets.count](std::byte* memory, std::array<double*, 4>& to) {
    MemoryParts parts(memory);
    for (std::size_t f = 0; f < 4; ++f)
      to[f] = parts.take<double>(want & (f < 3 ? want_acceleration : want_potential) ? count : 0);
    return parts.used();
  };
  std::array<double*, 4> found{};
  lay_out(domains_.memory(lay_out(nullptr, found)), found);
  std::int64_t failed = tree_.count();
  on_all(*ranks_, [&] { failed = serve(targets, want, found, false, [] {}); });
  check_distributed_forces(*ranks_, device_, failed, sources_, options_);
  mesh_.end(*clock_);
  State* of_mesh = nullptr;
  if (want & want_potential) {
    of_mesh = reinterpret_cast<State*>(tree_.arena(sources_.count * std::int64_t{sizeof(State)}));
    mesh_.find_potentials(sources_.count, of_mesh);
  }
  complete(targets, want, forces, found, of_mesh);
}

/// Answers begin as the long range, and are rounded as they are found. Where lists find no room on a rank all find it
/// again, for answers have taken its place.
template <Precision precision>
void DistributedTreePmCuda<precision>::answer_in_turn(const Targets& targets, unsigned want,
                                                      const Forces<State>& forces) {
  struct NoRoom {};
  const bool accelerations = want & want_acceleration;
  std::int64_t failed = tree_.count();
  for (std::int64_t again = 1; again > 0;) {
    if (has_mesh_forces_) {
      if (lacks_estimate_ && !accelerations) estimate();
      evaluate_mesh(targets, want, forces);
      if (want & want_potential) complete_potentials(targets, forces.potential);
      has_mesh_ = false;
    }
    clock_->begin("walk");
    again = 0;
    int tries = 0;
    on_all(*ranks_, [&] {
      try {
        failed = serve(targets, want, std::array<State*, 4>{forces.ax, forces.ay, forces.az, forces.potential},
                       has_mesh_forces_, [&] {
                         if (tries++ > 0) throw NoRoom();
                       });
      } catch (const NoRoom&) {
        again = 1;
      }
    });
    ranks_->all_reduce(&again, 1, Reduction::maximum);
  }
  check_distributed_forces(*ranks_, device_, failed, sources_, options_);
}

template class DistributedTreePmCuda<Precision::single>;
template class DistributedTreePmCuda<Precision::mixed>;
template class DistributedTreePmCuda<Precision::double_>;

}  // namespace pergola

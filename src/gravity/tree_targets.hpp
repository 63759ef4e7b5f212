#pragma once
// Between a solver and the walk: which particles are targets, which cells hold one, and where answers go.
// Three numberings: a place in the input (source), a place in the tree (sorted by keys), a slot among the targets.
// Answers are converted from units of the tree (mass of the total, length of the cube) to those of the caller.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "device/parallel.hpp"
#include "gravity/solver.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/walk.hpp"

namespace pergola {

/// Serves the targets of an evaluation by a walk over a tree on the CPU and stores the results. For the tree solver and
/// TreePM.
template <class State, class Pair>
class TreeTargets {
 public:
  explicit TreeTargets(const Device& device) : device_(device) {}

  /// The tree was built anew.
  void forget() { has_rank_ = false; }

  /// Answers the targets. begin(active, grain, sink) gives the tasks of the walk, walk(active, task, sink) does one.
  /// Returns the lowest place whose force is not a finite number, or the number of sources where all are.
  template <class Begin, class Walk>
  std::int64_t serve(const tree::OctreeCpu<Pair>& tree, const Targets& targets, unsigned want,
                     double gravitational_constant, const Forces<State>& forces, const Begin& begin, const Walk& walk);

 private:
  /// About the number of particles of a task. It gives enough tasks for many threads and few cells above them, and does
  /// not depend on the number of threads.
  static constexpr std::uint32_t grain = 2048;
  static constexpr std::int64_t chunk = 8192, target_chunk = 256;

  struct Output {
    const TreeTargets* targets;
    const std::uint32_t* order;
    const Forces<State>* forces;
    unsigned want;
    double per_psi, per_gradient;
    std::atomic<std::int64_t> failed;
  };

  void mark_active(const tree::OctreeCpu<Pair>& tree, const Targets& targets);
  static void put(void* context, std::uint32_t place, const double (&field)[4]);

  Device device_;
  bool all_ask_ = true;
  // If only a part of the sources is active: the place of each source in the tree; by place, whether it is active and
  // its number among the targets; by cell, whether it has an active particle.
  bool has_rank_ = false;
  std::vector<std::uint32_t> rank_;
  std::vector<std::int64_t> slot_;
  std::vector<std::uint8_t> active_particle_, active_cell_;
};

/// Slots and the cells that hold a target, for a part of the sources: work for the targets, not for all particles, but
/// for the first time after a tree was built.
template <class State, class Pair>
void TreeTargets<State, Pair>::mark_active(const tree::OctreeCpu<Pair>& tree, const Targets& targets) {
  const std::int64_t n = tree.count();
  const auto size = static_cast<std::size_t>(n);
  const std::uint32_t* const order = tree.order();
  if (!has_rank_) {
    rank_.resize(size);
    parallel_chunks(device_.threads(), n, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) rank_[order[k]] = static_cast<std::uint32_t>(k);
    });
    has_rank_ = true;
  }
  const auto& link = tree.cells().link;
  slot_.resize(size);
  active_particle_.assign(size, 0);
  active_cell_.assign(link.size(), 0);
  parallel_chunks(device_.threads(), targets.count, target_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const auto source = static_cast<std::size_t>(targets.index ? targets.index[t] : targets.first + t);
      const std::uint32_t place = rank_[source];
      slot_[place] = t;
      active_particle_[place] = 1;
      for (std::uint32_t cell = 0;;) {
        std::atomic_ref(active_cell_[cell]).store(1, std::memory_order_relaxed);
        if (link[cell].children == 0) break;
        cell = link[cell].child;
        while (link[cell].first + link[cell].count <= place) ++cell;
      }
    }
  });
}

/// The sink of the walk, called once per active particle: ψ and its gradient become potential and acceleration.
template <class State, class Pair>
void TreeTargets<State, Pair>::put(void* context, std::uint32_t place, const double (&field)[4]) {
  auto& out = *static_cast<Output*>(context);
  const std::int64_t source = out.order[place];
  const std::int64_t to = out.targets->all_ask_ ? source : out.targets->slot_[place];
  bool finite = true;
  const auto write = [&](State* values, double value) {
    values[to] = static_cast<State>(value);
    finite = finite && std::isfinite(values[to]);
  };
  if (out.want & want_acceleration) {
    write(out.forces->ax, out.per_gradient * field[1]);
    write(out.forces->ay, out.per_gradient * field[2]);
    write(out.forces->az, out.per_gradient * field[3]);
  }
  if (out.want & want_potential) write(out.forces->potential, -out.per_psi * field[0]);
  std::int64_t lowest = out.failed.load();
  while (!finite && source < lowest && !out.failed.compare_exchange_weak(lowest, source)) {
  }
}

/// Steps: (1) mark targets and their cells, (2) divide the walk into tasks, (3) do them in parallel. After a failure
/// the remaining tasks are skipped.
template <class State, class Pair>
template <class Begin, class Walk>
std::int64_t TreeTargets<State, Pair>::serve(const tree::OctreeCpu<Pair>& tree, const Targets& targets, unsigned want,
                                             double gravitational_constant, const Forces<State>& forces,
                                             const Begin& begin, const Walk& walk) {
  all_ask_ = !targets.index && targets.count == tree.count();
  if (!all_ask_) mark_active(tree, targets);
  const tree::ActiveSet active =
      all_ask_ ? tree::ActiveSet{} : tree::ActiveSet{active_particle_.data(), active_cell_.data()};
  const auto& frame = tree.frame();
  const double per_psi = gravitational_constant * frame.mass / frame.side;
  Output out{this, tree.order(), &forces, want, per_psi, per_psi / frame.side, tree.count()};
  const tree::Sink sink{&out, &TreeTargets::put};
  const auto tasks = begin(active, grain, sink);
  parallel_for(device_.threads(), std::ssize(tasks), [&](std::int64_t k) {
    if (out.failed == tree.count()) walk(active, tasks[static_cast<std::size_t>(k)], sink);
  });
  return out.failed;
}

}  // namespace pergola

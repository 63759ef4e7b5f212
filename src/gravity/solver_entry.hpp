#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/key.hpp"
#include "comm/communicator.hpp"
#include "gravity/solver.hpp"
#include "mesh/grid.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// How the potential energy of the particles in each other's field is measured.
struct EnergyMethod {
  /// Up to so many particles: the sum over all pairs in double precision.
  std::int64_t pairs_up_to = std::numeric_limits<std::int64_t>::max();
  /// Beyond: half the sum of mass times the potential of the solver with these options; null: with the run's own.
  SolverOptions (*options)(SolverOptions run) = nullptr;
  /// The cells outside of which particles do not act on the others: they count with the whole of their potential, not
  /// with half of it. Null: all act.
  Grid (*acting_cells)(const SolverOptions& options) = nullptr;
  /// The field is not made by the particles: each counts with the whole of its potential.
  bool fixed_field = false;
};

/// What the forces of a solver are compared with, by `force` and the audit of a run.
enum class AuditReference {
  none,      // nothing: its forces are exact but for rounding
  exact_sum  // the sum over all pairs in double precision; in a periodic box Ewald's
};

/// What the time of a step grows with, for `plan`.
enum class StepCost {
  pairs,    // targets times sources
  targets,  // the particles that ask
  cells     // the cells of a mesh, and all particles
};

/// A solver describes itself. Whoever lists, checks, explains or plans asks the entry; its name is compared nowhere
/// else.
struct SolverEntry {
  std::string name;
  std::string summary;
  SolverInfo can;
  Precision default_precision = Precision::mixed;
  std::vector<Key<SolverOptions>> keys{};  // in [gravity.NAME]
  EnergyMethod energy{};
  AuditReference audit = AuditReference::exact_sum;
  bool keeps_accuracy = false;  // gravity.tree.accuracy is the median of its relative errors
  StepCost cost = StepCost::targets;
  /// For cost = cells: options with at most `cells` per side, and by how much there are fewer of them.
  SolverOptions (*trial)(SolverOptions options, int cells, double& fewer) = nullptr;
  /// The box that the solver works in; null: open space.
  Box& (*box)(SolverOptions& options) = nullptr;
  /// That box with all that is left open found from the particles and the side that their file or model states (0:
  /// none). Throws Error(input) that names the key.
  Box (*find_box)(const SolverOptions& options, ParticleSource& particles, double stated_side) = nullptr;
  /// What cannot be had together within the solver's own options; null: anything can.
  std::optional<Conflict> (*check)(const SolverOptions& options) = nullptr;
  std::unique_ptr<Solver<float>> (*make_single)(const SolverOptions& options, const Device& device) = nullptr;
  std::unique_ptr<Solver<double>> (*make_double)(const SolverOptions& options, const Device& device) = nullptr;
  /// For particles that are spread over ranks: sources and targets are a rank's own, and all calls about them, save()
  /// and restore() too, are of all ranks. Null, or null from there: it wants all particles on every rank (of GPUs).
  std::unique_ptr<Solver<float>> (*make_spread_single)(const SolverOptions& options, const Device& device,
                                                       std::shared_ptr<Communicator> ranks) = nullptr;
  std::unique_ptr<Solver<double>> (*make_spread_double)(const SolverOptions& options, const Device& device,
                                                        std::shared_ptr<Communicator> ranks) = nullptr;
};

// Each in gravity/NAME_entry.cpp.
SolverEntry direct_entry();
SolverEntry tree_entry();
SolverEntry mesh_entry();

/// All solvers in the order in which they are listed.
PERGOLA_API const std::vector<SolverEntry>& solver_entries();
/// Throws Error(input) with the nearest valid name.
PERGOLA_API const SolverEntry& solver_entry(const std::string& name);
/// Adds a solver of one's own: before the first configuration is read, by one thread.
PERGOLA_API void register_solver(SolverEntry entry);

/// The box that the solver of these options works in; open space where it has none.
PERGOLA_API Box box_of(const SolverOptions& options);
PERGOLA_API void set_box(SolverOptions& options, const Box& box);

/// Whether ranks may keep their own particles only, and the solver for them, with external potentials.
PERGOLA_API bool can_spread(const SolverOptions& options, const Device& device);
template <class Real>
PERGOLA_API std::unique_ptr<Solver<Real>> make_spread_solver(const SolverOptions& options, const Device& device,
                                                             std::shared_ptr<Communicator> ranks);

/// What the options ask for and cannot be had together.
PERGOLA_API std::optional<Conflict> solver_conflict(const SolverOptions& options);

}  // namespace pergola

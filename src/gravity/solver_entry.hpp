#pragma once
// What a solver says about itself, and the registry of solvers.
//
// Each solver has one source gravity/NAME_entry.cpp with a function that returns its SolverEntry: what it can do, its
// keys with their help, how its energy is measured, what its forces are compared with, how it is made.
// The configuration, `plan`, `force`, audits and the documentation read entries. A solver's name is compared in its own
// files only; scripts/check_house.py checks that.
// To add a solver: implement Solver<Real>, write an entry, and add one line to the registry in gravity/solver.cpp. A
// program that links the library calls register_solver().
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
  /// The largest number of particles for which it is the sum over all pairs in double precision.
  std::int64_t pairs_up_to = std::numeric_limits<std::int64_t>::max();
  /// For more particles it is half the sum of mass times potential, with these options; null: with the run's own.
  SolverOptions (*options)(SolverOptions run) = nullptr;
  /// Particles outside these cells do not act on the others. They count with their whole potential, not with half of
  /// it. Null: all particles act.
  Grid (*acting_cells)(const SolverOptions& options) = nullptr;
  /// The field is external: each particle counts with its whole potential.
  bool fixed_field = false;
};

/// The reference for the forces of a solver, in `force` and in audits.
enum class AuditReference {
  none,      // none: the forces are exact except for rounding
  exact_sum  // the sum over all pairs in double precision; in a periodic box Ewald's
};

/// The number that the time of a step is proportional to, for `plan`.
enum class StepCost {
  pairs,    // targets times sources
  targets,  // the active particles
  cells     // the cells of a mesh, and all particles
};

/// The description of a solver.
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
  /// For cost = cells: options with at most `cells` per side. `fewer`: the factor by which that lowers their number.
  SolverOptions (*trial)(SolverOptions options, int cells, double& fewer) = nullptr;
  /// For n particles in the box that the options have: the sentence of choices() about what is chosen by their number.
  /// Empty: that needs the particles. Null: nothing is.
  std::string (*choice)(const SolverOptions& options, std::int64_t n) = nullptr;
  /// The place of the solver's box in the options; null: the solver works in open space.
  Box& (*box)(SolverOptions& options) = nullptr;
  /// Finds what the options leave open of that box from the particles and `stated_side`, the side that their file or
  /// model states (0: none). Throws Error(input) that names the key.
  Box (*find_box)(const SolverOptions& options, ParticleSource& particles, double stated_side) = nullptr;
  /// The conflict between the solver's own options, if there is one; null: there never is.
  std::optional<Conflict> (*check)(const SolverOptions& options) = nullptr;
  std::unique_ptr<Solver<float>> (*make_single)(const SolverOptions& options, const Device& device) = nullptr;
  std::unique_ptr<Solver<double>> (*make_double)(const SolverOptions& options, const Device& device) = nullptr;
  /// For distributed particles: sources and targets are a rank's own, as Solver::divide() has divided them. All ranks
  /// make all calls about them. Null, or a null result: every rank gets all particles for each evaluation.
  std::unique_ptr<Solver<float>> (*make_distributed_single)(const SolverOptions& options, const Device& device,
                                                            std::shared_ptr<Communicator> ranks) = nullptr;
  std::unique_ptr<Solver<double>> (*make_distributed_double)(const SolverOptions& options, const Device& device,
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
/// Adds a solver. Call it before the first configuration is read, from one thread.
PERGOLA_API void register_solver(SolverEntry entry);

/// The box of the solver of these options; open space if it has none.
PERGOLA_API Box box_of(const SolverOptions& options);
PERGOLA_API void set_box(SolverOptions& options, const Box& box);

/// The solver for ranks, with external potentials and forces of the user, which may want particles to be divided. Where
/// the entry has none, or a user's forces may want all particles, each rank gets all of them for each evaluation.
template <class Real>
PERGOLA_API std::unique_ptr<Solver<Real>> make_dividing_solver(const SolverOptions& options, const Device& device,
                                                               std::shared_ptr<Communicator> ranks);
/// The same for particles on any ranks, which stay there.
template <class Real>
PERGOLA_API std::unique_ptr<Solver<Real>> make_distributed_solver(const SolverOptions& options, const Device& device,
                                                                  std::shared_ptr<Communicator> ranks);

/// The first conflict between options, if there is one.
PERGOLA_API std::optional<Conflict> solver_conflict(const SolverOptions& options);

}  // namespace pergola

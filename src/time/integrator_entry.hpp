#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/key.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// What an integrator needs of the solver with these options.
struct IntegratorNeeds {
  bool jerk = false;
  bool subset = false;       // forces on a part of the particles
  std::string because = "";  // the key that causes it, if not time.integrator itself
};

/// How the steps of a run grow with the number of particles, for `plan`: powers of N of the particle steps per particle
/// and of the steps, both per unit of time.
struct StepGrowth {
  double particle_steps = 0;
  double steps = 0;
};

/// An integrator describes itself: its name, its keys of [time], what it needs of a solver, what cannot be had
/// together, and how it is made. The registry, the configuration, `plan` and the docs read the entry. The name of an
/// integrator is compared in its own files only.
struct IntegratorEntry {
  std::string name;
  std::string summary;
  std::vector<Key<TimeOptions>> keys{};  // in [time]; a key that several integrators have is the same for all
  IntegratorNeeds (*needs)(const TimeOptions& time, const SolverOptions& gravity) = nullptr;  // null: accelerations
  /// What else cannot be had together; null: anything can.
  std::optional<Conflict> (*check)(const TimeOptions& time, const SolverOptions& gravity) = nullptr;
  /// The step, where it is fixed and given; 0: chosen by the integrator.
  double (*fixed_step)(const TimeOptions& time) = nullptr;  // null: always chosen
  /// Whether times are counted in ticks of a block step.
  bool (*block_steps)(const TimeOptions& time) = nullptr;  // null: never
  StepGrowth growth{};
  bool expanding_space = false;  // knows TimeOptions::background
  std::unique_ptr<Integrator> (*make)(const TimeOptions& time, const SolverOptions& gravity,
                                      const IntegratorContext& context) = nullptr;

  IntegratorNeeds needs_with(const TimeOptions& time, const SolverOptions& gravity) const {
    return needs ? needs(time, gravity) : IntegratorNeeds{};
  }
  double step_of(const TimeOptions& time) const { return fixed_step ? fixed_step(time) : 0; }
  bool in_blocks(const TimeOptions& time) const { return block_steps && block_steps(time); }
};

// Each in time/NAME_entry.cpp.
IntegratorEntry hermite_entry();
IntegratorEntry leapfrog_entry();

/// All integrators in the order in which they are listed.
PERGOLA_API const std::vector<IntegratorEntry>& integrator_entries();
/// Throws Error(input) with the nearest valid name.
PERGOLA_API const IntegratorEntry& integrator_entry(const std::string& name);
/// Adds an integrator of one's own: before the first configuration is read, by one thread.
PERGOLA_API void register_integrator(IntegratorEntry entry);

/// What integrator and solver need and cannot be had together.
PERGOLA_API std::optional<Conflict> integrator_conflict(const TimeOptions& time, const SolverOptions& gravity);

/// A warning if a key says how steps are taken and is none of the integrator's; else empty.
PERGOLA_API std::string unused_steps_remark(const TimeOptions& time);

/// The integrator of a run that names none: the first of the list that can do with what the solver, external potentials
/// and user forces give, and takes the steps that are asked for. `expanding`: and that knows an expanding universe.
PERGOLA_API std::string default_integrator(const TimeOptions& time, const SolverOptions& gravity, bool expanding);

// Keys that several integrators have.
Key<TimeOptions> eta_key();
Key<TimeOptions> step_max_key();

}  // namespace pergola

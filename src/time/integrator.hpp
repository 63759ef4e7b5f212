#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

struct TimeOptions {
  std::string integrator = "hermite";  // leapfrog
  double eta = 0.02;                   // accuracy of adaptive and block steps
  double eta_start = 0.005;            // the same for the first step of a Hermite run
  double step = 0;                     // leapfrog with a fixed step; 0: chosen at the start
  std::string steps = "shared";        // leapfrog: block: each particle has its own, a power of two
  bool adaptive = false;               // leapfrog: a shared step chosen anew each time
  double courant = 0.25;               // adaptive or block on a mesh: cells that a particle may cross in a step
  double step_max = 0.125;             // longest block step; a power of two
  int corrector_iterations = 1;        // Hermite: force evaluations per step, P(EC)^n
  KeyValues own{};                     // of integrators that have no member here, by "integrator.key"
  /// Where space expands: all times of the integrator are then ln a, steps too. The particles that it is given and
  /// shows have GADGET's velocities √a dx/dt with comoving x.
  std::optional<physics::Background> background{};
};

/// Work done so far.
struct StepCounts {
  std::int64_t steps = 0;           // block steps, or shared steps
  std::int64_t particle_steps = 0;  // sum over steps of the active particles
  std::int64_t interactions = 0;    // pairs evaluated, force sums only
};

/// Particles whose next step has the same length.
struct StepClass {
  double length = 0;
  std::int64_t particles = 0;
};

/// Advances a system of particles that lives on a device. All times are absolute, in the units of the run.
///
/// start() or restore() comes first. Then advance() takes whole steps, again and again, with outputs in between:
/// show() for files and energies, save() for checkpoints, idle_solver() for other evaluations. finish() takes the last
/// step, to exactly the end.
/// Always: which steps are taken depends on the state and the options only, neither on the limits of advance() nor on
/// what was shown or saved in between. With several ranks all ranks make all calls together, and each rank has only its
/// share of the particles (comm/shares.hpp): start() and restore() read the whole, and take the share; show() and
/// save() give a rank's own, in the order of the input, and rank 0 all else; probe_forces() takes places among a rank's
/// own. StepDriver (time/step_driver.hpp) does all that; an integrator without it runs on one process only.
class PERGOLA_API Integrator {
 public:
  virtual ~Integrator() = default;

  /// Whether it knows how to keep a rank's own particles.
  virtual bool runs_on_ranks() const { return false; }

  /// Takes the particles to the device and evaluates the first forces.
  virtual void start(ParticleSource& particles, double time) = 0;
  void start(const Particles& particles, double time) {
    HostParticles source(particles);
    start(source, time);
  }

  /// Takes whole steps until the next one would end beyond `limit`, or until `enough()` returns true; it is asked after
  /// every step or small batch of steps. Returns true when `limit` was reached. The steps taken do not depend on
  /// `limit`.
  virtual bool advance(double limit, const std::function<bool()>& enough) = 0;

  /// Brings all particles to exactly `end`, with one last step as short as needed. Nothing comes after it but output.
  virtual void finish(double end) = 0;

  /// The latest time that a step has reached.
  virtual double time() const = 0;

  /// The time at which energies that are due at `due` are measured, once advance(due, …) has returned true: the first
  /// end of a step of all particles that is not before `due`, because the prediction between steps is worse than the
  /// steps. An integrator without that difference returns `due` itself.
  virtual double measured_at(double due) const { return due; }

  /// The particles at `time`, predicted where a particle's own time is another one, where they live. Good until the
  /// next step; changes nothing.
  virtual std::unique_ptr<ShownParticles> show(double time) const = 0;
  /// The same on the host.
  Particles state_at(double time) const { return fetch(*show(time)); }

  virtual StepCounts counts() const = 0;
  /// How long the next steps of all particles are, in the integrator's time, the longest first; empty: not known.
  virtual std::vector<StepClass> step_classes() const { return {}; }

  /// All that is needed to go on bit-identically; ids, species and masses included.
  virtual void save(StateSource& to) const = 0;
  virtual void restore(StateInput& from) = 0;
  StateBlocks save() const {
    StateSource source;
    save(source);
    return source.blocks();
  }
  void restore(const StateBlocks& blocks) {
    BlocksInput input(blocks);
    restore(input);
  }

  /// Bytes that this integrator and its solver take on the device for n particles, for `plan`.
  virtual std::int64_t device_bytes(std::int64_t n) const = 0;

  /// The solver, for evaluations between steps; null: this integrator does not lend it.
  virtual AnySolver* idle_solver() { return nullptr; }
  /// Bytes on the device that such an evaluation takes beside device_bytes().
  virtual std::int64_t idle_bytes(std::int64_t /*n*/) const { return 0; }
  /// advance() asks `enough` after every multiple of this number of steps, even if it takes them in batches. 0: after
  /// any number.
  virtual void pause_every(std::int64_t /*steps*/) {}
  /// For a solver whose next step builds on its last one (block steps with a kept tree): the particles where the solver
  /// has them, valid until the next step, and the accelerations that it gives now to those at `places`. Null: the
  /// solver keeps nothing. Changes nothing.
  virtual std::unique_ptr<ShownParticles> probe_forces(const std::vector<std::int64_t>& /*places*/, ForceResult&) {
    return nullptr;
  }
  /// The arrays of the particles on their device, all at time(), valid until the next step. Does not change the steps.
  /// Nothing if velocities and places are not known at one time (block steps).
  virtual std::optional<BorrowedParticles> lend() { return std::nullopt; }
  /// After places or velocities of lend() were changed: finds the forces anew. Throws Error(numerics) if one of them is
  /// not a finite number.
  virtual void take_back() {}
  /// If a reader still holds the arrays of lend(): what is returned keeps them alive, and the steps continue with
  /// copies.
  virtual std::shared_ptr<void> leave_borrowed() { return nullptr; }
  /// Particles that are outside the solver's mesh now; they are kept. Waits.
  virtual std::int64_t outside() const { return 0; }
  /// What integrator and solver have chosen where their options leave it open: sentences.
  virtual std::vector<std::string> choices() const { return {}; }
  /// A warning about the steps or the last force evaluation; empty when there is none.
  virtual std::string remark() const { return {}; }
};

struct IntegratorContext {
  Device device;
  std::shared_ptr<Communicator> communicator;
  Profile* profile = nullptr;
};

/// The registry of integrators. Throws Error(input) when the solver cannot do what the integrator needs.
PERGOLA_API std::unique_ptr<Integrator> make_integrator(const TimeOptions& time, const SolverOptions& gravity,
                                                        const IntegratorContext& context);
PERGOLA_API std::vector<std::string> integrator_names();

}  // namespace pergola

#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "particles/particle_store.hpp"
#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/block_steps.hpp"
#include "time/integrator.hpp"
#include "time/particle_failure.hpp"
#include "time/step_driver.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

/// A particle at the start of its step.
struct HermiteStart {
  Vec3<double> x, v, a, j;
};

/// What a step needs beside the particle.
struct HermiteStep {
  std::int64_t now = 0;     // tick at which it ends, when the next step is chosen
  double eta = 0;           // accuracy
  double step_max = 0;      // the step of level 0
  bool choose_next = true;  // false: no step comes after this one
  int evaluation = 1;       // the forces are those of this evaluation, of `most`
  int most = 1;
  bool everywhere = true;  // all particles have `most` evaluations; false: those of bound pairs, others one
};

/// Force evaluations of a step of particles in bound pairs, if all others have one. With one the corrector is not
/// time-symmetric, and an orbit shrinks by some 10⁻⁶ each time round.
inline constexpr int evaluations_in_pairs = 3;

/// The end of a Hermite step of length dt with the force (a, j) found there: corrects position and velocity into (x, v)
/// and puts the level of the next step into `level`. `again`: the forces shall be evaluated once more, at (x, v), and
/// the level is not chosen yet. One function for both devices.
PERGOLA_HD StepFault hermite_end_step(const HermiteStep& step, double dt, const HermiteStart& start,
                                      const Vec3<double>& a, const Vec3<double>& j, Vec3<double>& x, Vec3<double>& v,
                                      int& level, bool& again) {
  again = step.evaluation < step.most && (step.everywhere || step.evaluation > 1);
  if (!is_finite(a) || !is_finite(j)) return StepFault::force_not_finite;
  x = start.x, v = start.v;
  physics::hermite_correct(dt, x, v, start.a, start.j, a, j);
  if (!is_finite(x) || !is_finite(v)) return StepFault::state_not_finite;
  if (again || !step.choose_next) return StepFault::none;
  Vec3<double> snap, crackle;
  physics::hermite_derivatives(dt, start.a, start.j, a, j, snap, crackle);
  again = step.evaluation < step.most && physics::in_bound_pair(a, j, snap);
  if (again) return StepFault::none;
  const double wanted = physics::aarseth_step(step.eta, a, j, snap, crackle);
  const int next = physics::next_level(level, wanted, step.step_max, step.now);
  if (next > physics::deepest_level) return StepFault::step_too_short;
  level = next;
  return StepFault::none;
}

/// The state of a Hermite run on its device: what is saved and restored, and nothing that can be derived from it.
/// Particle i is known at tick[i] (counted from start_time) with acceleration and jerk of that tick, and takes a step
/// of level[i] next. Both engines (hermite_cpu.cpp, hermite_cuda.cu) use it.
template <class Real>
struct HermiteState : RunState<Real> {
  using RunState<Real>::start_time;
  VectorField<Real> a{*this, "acceleration"}, j{*this, "jerk"};
  ParticleField<std::int64_t> tick{*this, "tick"};
  ParticleField<std::int8_t> level{*this, "level"};
  double tick_length = 0;
  std::int64_t now = 0;
  double offset = 0;  // after the last step of a run: how far all particles are beyond `now`

  HermiteState(const Device& on, double step_max);

  double time_of(std::int64_t at) const { return start_time + static_cast<double>(at) * tick_length; }
  double time() const { return start_time + (static_cast<double>(now) * tick_length + offset); }

  /// Takes positions, velocities, masses, with `ranks` (null: one rank) those of this rank's share; all particles at
  /// tick 0, forces and levels still open.
  void start(ParticleSource& particles, double time, Communicator* ranks = nullptr);
  /// Fills a, j and level from the first forces (in these arrays on the device), which external potentials are part of.
  /// Throws ParticleFailure, with `ranks` on all of them.
  void set_first_forces(const VectorBuffer<Real>& first_a, const VectorBuffer<Real>& first_j,
                        const Buffer<Real>& potential, const TimeOptions& options, const SolverOptions& gravity,
                        Communicator* ranks = nullptr);

  /// The sources of a force evaluation, predicted to `to_tick` + `to_offset` or as they are.
  Sources<Real> sources() const;
  Sources<Real> sources_at(std::int64_t to_tick, double to_offset) const;

  std::unique_ptr<ShownParticles> show_at(double time) const;
  std::vector<StepClass> step_classes() const;
  void save(StateSource& to) const;
  void restore(StateInput& from, Communicator* ranks = nullptr);
  /// The particle in a place, for the record of a failure.
  ParticleState particle_at(std::int64_t i) const;
  [[noreturn]] void fail(std::int64_t i, StepFault fault, double at) const;
  /// pergola::fail_where() of particle i, −1: this rank has no fault.
  void fail_where(std::int64_t i, StepFault fault, double at, Communicator* ranks) const;
};

/// The calls of Integrator that both engines answer from the state.
template <class Real>
class HermiteIntegrator : public StepDriver<HermiteState<Real>> {
 public:
  HermiteIntegrator(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : StepDriver<HermiteState<Real>>(time, gravity, context, time.step_max),
        gravity_(gravity),
        profile_(context.profile),
        most_evaluations_(time.corrector_iterations > 1 ? time.corrector_iterations : evaluations_in_pairs),
        everywhere_(time.corrector_iterations > 1) {}
  double time() const override { return this->state_.time(); }
  std::unique_ptr<ShownParticles> show(double time) const override { return this->state_.show_at(time); }
  void save(StateSource& to) const override { this->state_.save(to); }

 protected:
  SolverOptions gravity_;
  Profile* profile_;
  int most_evaluations_;  // of the forces in a step: HermiteStep
  bool everywhere_;
};

/// 4th-order Hermite with individual block steps. Makino & Aarseth 1992; formulas in physics/hermite.hpp.
///
/// A step: (1) the earliest tick at which a particle's step ends, (2) the particles that end there, (3) all particles
/// predicted to that tick as sources, (4) acceleration and jerk of the active ones, (5) their correction and next
/// level. (3) to (5) are repeated for all active particles as corrector_iterations says, by default for those in bound
/// pairs. The last step, off the grid, is repeated only if it is so for all.
std::unique_ptr<Integrator> make_hermite_cpu(const TimeOptions& time, const SolverOptions& gravity,
                                             const IntegratorContext& context);
/// The same with the whole state and the choice of the next block on the GPU.
std::unique_ptr<Integrator> make_hermite_cuda(const TimeOptions& time, const SolverOptions& gravity,
                                              const IntegratorContext& context);

}  // namespace pergola

#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

#include "particles/particle_source.hpp"
#include "particles/particle_store.hpp"
#include "physics/cosmology.hpp"
#include "time/integrator.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/particle_failure.hpp"
#include "time/step_driver.hpp"

namespace pergola {

/// The factors of kicks and drifts. In a space at rest they are the steps themselves. In one that expands, the time of
/// an integrator is ln a, its velocities are the momenta a² dx/dt, and the factors are the integrals of
/// physics/cosmology.hpp. Where particles come in or are shown, velocities are GADGET's √a dx/dt.
class Expansion {
 public:
  explicit Expansion(const std::optional<physics::Background>& background) : background_(background) {}

  bool given() const { return background_.has_value(); }

  /// Of a step from `begin` on: kick of its first half, drift, kick of its second half.
  struct Factors {
    double open, drift, close;
  };
  Factors step(double begin, double length, double end) const {
    if (!background_) return {length / 2, length, length / 2};
    const double middle = begin + length / 2;
    return {kick(begin, middle), drift(begin, end), kick(middle, end)};
  }
  double kick(double from, double to) const {
    return background_ ? physics::kick_factor(*background_, from, to) : to - from;
  }
  double drift(double from, double to) const {
    return background_ ? physics::drift_factor(*background_, from, to) : to - from;
  }
  /// Of a time `length` from `from` on.
  double kick_over(double from, double length) const {
    return background_ ? physics::kick_factor(*background_, from, from + length) : length;
  }
  double drift_over(double from, double length) const {
    return background_ ? physics::drift_factor(*background_, from, from + length) : length;
  }

  /// What is shown as velocity over the velocity of the state: GADGET's √a dx/dt of a² dx/dt.
  double shown_velocity(double time) const {
    return background_ ? 1 / physics::momentum_over_file_velocity(std::exp(time)) : 1;
  }
  /// The time in messages: the scale factor.
  double shown_time(double time) const { return background_ ? std::exp(time) : time; }

  /// Steps in ln a from comoving accelerations and momenta.
  void scale(StepWish& wish, double time) const {
    if (!background_) return;
    const double a = std::exp(time);
    wish.acceleration_scale = physics::log_step_of_acceleration(*background_, a);
    wish.courant_scale = physics::log_step_of_crossing(*background_, a);
    wish.softening = wish.softening.at(a);
  }
  /// Tells a solver the softening lengths of a time, where they change.
  void soften(AnySolver& solver, const Softening& softening, double time) const {
    if (background_ && softening.changes()) solver.set_softening(softening.at(std::exp(time)));
  }

 private:
  std::optional<physics::Background> background_;
};

/// Particles with their velocities times a factor.
class ScaledVelocities final : public DeviceSource {
 public:
  ScaledVelocities(ParticleSource& source, double factor) : source_(source), factor_(factor) {}
  std::int64_t count() const override { return source_.count(); }
  std::string name() const override { return source_.name(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    source_.read(first, n, to);
    for (auto* values : {&to.vx, &to.vy, &to.vz})
      for (double& value : *values) value *= factor_;
  }
  bool put(const Device& device, double factor, const AnyDeviceArrays& to, Portion portion) override {
    DeviceSource* const made = source_.device_source();
    return made && made->put(device, factor * factor_, to, portion);
  }
  void let_go() override { source_.let_go(); }
  double box_side() const override { return source_.box_side(); }
  double total_mass() const override { return source_.total_mass(); }

 private:
  ParticleSource& source_;
  double factor_;
};

/// The particles of a leapfrog run on their device, with shared or with block steps: the fields of a store, which save,
/// restore, reorder and move together, and what is derived from them.
template <class Real>
struct LeapfrogState : RunState<Real> {
  VectorField<Real> a{*this, "acceleration"};
  VectorField<Real> j{*this, "jerk", FieldUse::derived};  // where the step is chosen from it
  double mass_quantum = 0;

  explicit LeapfrogState(const Device& on) : RunState<Real>(on) { choose_jerk(false); }
  void choose_jerk(bool wanted) { j.set_used(wanted); }
  bool with_jerk() const { return j.x.used(); }

  /// Takes the particles, with `ranks` (null: one rank) the share of this rank; accelerations are zero.
  void start(ParticleSource& particles, double time, const Expansion& expansion, Communicator* ranks);
  LeapfrogArrays<Real> arrays();
  Sources<Real> sources() const {
    Sources<Real> sources = RunState<Real>::sources();
    sources.mass_quantum = mass_quantum;
    return sources;
  }
  void restore(StateInput& from, Communicator* ranks);
  /// The particle at a place in memory, for the record of a failure.
  ParticleState particle_at(std::int64_t place, double time) const;
  [[noreturn]] void fail(const char* reason, std::int64_t place, double time) const {
    throw ParticleFailure(reason, time, particle_at(place, time));
  }
  /// pergola::fail_where() of a particle at a place in memory.
  void fail_where(std::int64_t place, std::int64_t kind, const char* (*reason)(std::int64_t kind), double time,
                  Communicator* ranks) const;
};

/// Kick-drift-kick leapfrog with a shared step, fixed or chosen anew each time, on any device. Springel 2005, section
/// 4.1; formulas in physics/leapfrog.hpp.
std::unique_ptr<Integrator> make_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                          const IntegratorContext& context);

/// Kick-drift-kick leapfrog with a step for each particle, step_max / 2^level: all drift together, and those whose step
/// ends are kicked. Springel 2005, section 4; formulas in physics/leapfrog.hpp and physics/block_steps.hpp.
std::unique_ptr<Integrator> make_block_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                                const IntegratorContext& context);

}  // namespace pergola

#pragma once
#include <cmath>
#include <optional>

#include "particles/particle_source.hpp"
#include "physics/cosmology.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

/// What steps multiply accelerations and velocities with. In a space at rest these are the steps themselves; in one
/// that expands an integrator's time is ln a, its velocities are the momenta a² dx/dt, and kicks and drifts multiply
/// the integrals of physics/cosmology.hpp.
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
  double box_side() const override { return source_.box_side(); }
  double total_mass() const override { return source_.total_mass(); }

 private:
  ParticleSource& source_;
  double factor_;
};

}  // namespace pergola

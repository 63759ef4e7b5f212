#include "toys/toy_integrator.hpp"

#include <cmath>

#include "time/leapfrog_loops.hpp"
#include "time/show_rules.hpp"
#include "time/step_driver.hpp"

namespace pergola {

namespace {

const char* const step_name = "toy.toy_step";

double toy_step(const TimeOptions& time) {
  const auto given = time.own.find(step_name);
  return given == time.own.end() ? 0.01 : number_of(given->second).value_or(0.01);
}

template <class Real>
struct ToyState : RunState<Real> {
  VectorField<Real> a{*this, "acceleration"};
  using RunState<Real>::RunState;
};

/// Nothing here knows of ranks or devices.
template <class Real>
class ToyIntegrator final : public StepDriver<ToyState<Real>> {
 public:
  ToyIntegrator(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : StepDriver<ToyState<Real>>(time, gravity, context),
        step_(toy_step(time)),
        loops_(make_leapfrog_loops<Real>(context.device)) {}

  void start(ParticleSource& particles, double time) override {
    this->start_particles(particles, time);
    time_ = time;
  }
  bool advance(double limit, const std::function<bool()>& enough) override {
    while (next_time() <= limit) {
      step(next_time() - time_);
      ++state_.counts.steps;
      time_ = state_.start_time + static_cast<double>(state_.counts.steps) * step_;
      if (enough && enough()) return false;
    }
    return true;
  }
  void finish(double end) override {
    advance(end, nullptr);
    step(end - time_);
    time_ = end;
  }
  double time() const override { return time_; }
  std::unique_ptr<ShownParticles> show(double time) const override {
    return state_.show(
        ShowLeapfrog<Real>{state_.a.x.data(), state_.a.y.data(), state_.a.z.data(), 0, time - time_, 0, 1, Box{}});
  }
  void save(StateSource& to) const override {
    state_.save(to);
    to.put_value("time", time_);
  }
  void restore(StateInput& from) override {
    this->restore_particles(from);
    time_ = from.get_value<double>("time");
  }
  std::int64_t device_bytes(std::int64_t n) const override { return this->particle_bytes(n); }

 private:
  using StepDriver<ToyState<Real>>::state_;

  double next_time() const { return state_.start_time + static_cast<double>(state_.counts.steps + 1) * step_; }
  void step(double dt) {
    LeapfrogArrays<Real> arrays;
    arrays.count = state_.count();
    arrays.x = state_.x.x.data(), arrays.y = state_.x.y.data(), arrays.z = state_.x.z.data();
    arrays.vx = state_.v.x.data(), arrays.vy = state_.v.y.data(), arrays.vz = state_.v.z.data();
    arrays.ax = state_.a.x.data(), arrays.ay = state_.a.y.data(), arrays.az = state_.a.z.data();
    Forces<Real> forces;
    forces.ax = arrays.ax, forces.ay = arrays.ay, forces.az = arrays.az;
    this->solver_->prepare(state_.sources());
    this->evaluate_at(*this->solver_, nullptr, arrays.count, want_acceleration, forces, time_);
    loops_->kick_drift(arrays, {dt, 0, dt, Box{}});
    state_.counts.particle_steps += this->total_;
  }

  double step_, time_ = 0;
  std::unique_ptr<LeapfrogLoops<Real>> loops_;
};

}  // namespace

IntegratorEntry toy_integrator_entry() {
  Key<TimeOptions> key{"toy_step", "toy: the step",
                       [](TimeOptions& time, const KeyValue& value) -> std::optional<KeyProblem> {
                         const auto number = number_of(value);
                         if (!number || !(*number > 0)) return KeyProblem{"a number > 0", {}};
                         time.own[step_name] = *number;
                         return std::nullopt;
                       },
                       [](const TimeOptions& time) -> KeyValue { return toy_step(time); }};
  return {.name = "toy",
          .summary = "kick and drift in turn",
          .keys = {key},
          .fixed_step = toy_step,
          .make = [](const TimeOptions& time, const SolverOptions& gravity,
                     const IntegratorContext& context) -> std::unique_ptr<Integrator> {
            if (gravity.precision == Precision::single)
              return std::make_unique<ToyIntegrator<float>>(time, gravity, context);
            return std::make_unique<ToyIntegrator<double>>(time, gravity, context);
          }};
}

}  // namespace pergola

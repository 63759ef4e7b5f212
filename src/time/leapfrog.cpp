#include "time/leapfrog.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/particle_failure.hpp"
#include "time/shared_evaluation.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

namespace {

/// Two times closer than this part of a step are the same one: k h and a limit written as a decimal differ by rounding.
constexpr double same_time = 1e-9;
/// An adaptive step shorter than this part of step_max ends the run; the same bound as for block steps.
const double shortest_step = std::ldexp(1.0, -40);

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_loops(const Device& device) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_leapfrog_loops_cuda<Real>(device);
  }
  return make_leapfrog_loops_cpu<Real>(device);
}

template <class Real>
class Leapfrog final : public Integrator {
 public:
  Leapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : options_(time),
        softening_(gravity.softening),
        device_(context.device),
        profile_(context.profile),
        solver_(make_solver(gravity, context.device)),
        evaluation_(context.device, context.communicator),
        loops_(make_loops<Real>(context.device)) {
    const auto& epsilon = softening_.epsilon;
    needs_jerk_ = time.adaptive && *std::min_element(epsilon.begin(), epsilon.end()) <= 0;
    if (needs_jerk_ && !solver_->info().jerk)
      throw Error(ErrorKind::input, fmt::format("time.adaptive: solver {} gives no jerk, which the step with zero "
                                                "softening needs; set gravity.softening > 0",
                                                gravity.solver));
  }

  void start(const Particles& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return time_; }
  Particles state_at(double time) const override;
  StepCounts counts() const override { return counts_; }
  StateBlocks save() const override;
  void restore(const StateBlocks& blocks) override;
  std::int64_t device_bytes(std::int64_t n) const override;

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(id_.size()); }
  LeapfrogArrays<Real> arrays();
  double next_time() const;
  void step(double dt, double end);
  void evaluate(double time);
  void check(double time);

  TimeOptions options_;
  Softening softening_;
  Device device_;
  Profile* profile_;
  std::unique_ptr<Solver> solver_;
  SharedEvaluation<Real> evaluation_;
  std::unique_ptr<LeapfrogLoops<Real>> loops_;
  bool needs_jerk_ = false;

  std::vector<std::uint64_t> id_;
  Buffer<std::uint8_t> species_;
  Buffer<Real> mass_;
  VectorBuffer<Real> x_, v_, a_;
  VectorBuffer<Real> j_;  // empty unless needs_jerk_
  double start_time_ = 0, time_ = 0;
  double wanted_step_ = 0;  // adaptive: the next step
  StepCounts counts_;
};

template <class Real>
LeapfrogArrays<Real> Leapfrog<Real>::arrays() {
  LeapfrogArrays<Real> arrays;
  arrays.count = count();
  arrays.x = x_.x.data(), arrays.y = x_.y.data(), arrays.z = x_.z.data();
  arrays.vx = v_.x.data(), arrays.vy = v_.y.data(), arrays.vz = v_.z.data();
  arrays.ax = a_.x.data(), arrays.ay = a_.y.data(), arrays.az = a_.z.data();
  arrays.jx = j_.x.data(), arrays.jy = j_.y.data(), arrays.jz = j_.z.data();
  arrays.species = species_.data();
  return arrays;
}

template <class Real>
void Leapfrog<Real>::start(const Particles& particles, double time) {
  const std::int64_t n = particles.size();
  id_ = particles.id;
  species_ = Buffer<std::uint8_t>(device_, particles.species);
  mass_ = Buffer<Real>(device_, std::vector<Real>(particles.mass.begin(), particles.mass.end()));
  x_ = VectorBuffer<Real>(device_, particles.x, particles.y, particles.z);
  v_ = VectorBuffer<Real>(device_, particles.vx, particles.vy, particles.vz);
  a_ = VectorBuffer<Real>(device_, n);
  j_ = VectorBuffer<Real>(device_, needs_jerk_ ? n : 0);
  start_time_ = time_ = time;
  counts_ = {};
  evaluate(time);
}

/// Forces at the present positions, the check for numbers that are none, and the next adaptive step.
template <class Real>
void Leapfrog<Real>::evaluate(double time) {
  Sources<Real> sources;
  sources.count = count();
  sources.x = x_.x.data(), sources.y = x_.y.data(), sources.z = x_.z.data();
  sources.vx = v_.x.data(), sources.vy = v_.y.data(), sources.vz = v_.z.data();
  sources.mass = mass_.data();
  sources.species = species_.data();
  Forces<Real> forces;
  forces.ax = a_.x.data(), forces.ay = a_.y.data(), forces.az = a_.z.data();
  if (needs_jerk_) forces.jx = j_.x.data(), forces.jy = j_.y.data(), forces.jz = j_.z.data();
  {
    Profile::Scope scope(profile_, "force");
    solver_->prepare(sources);
    try {
      evaluation_.evaluate(*solver_, nullptr, count(), want_acceleration | (needs_jerk_ ? unsigned{want_jerk} : 0u),
                           forces);
    } catch (const CoincidentParticles& collision) {
      throw with_ids(collision, id_, time);
    }
    device_.synchronize();
  }
  counts_.interactions += count() * count();
  check(time);
  if (!options_.adaptive) return;
  wanted_step_ = std::min(options_.step_max, loops_->minimum_step(arrays(), options_.eta, softening_));
  if (!(wanted_step_ >= options_.step_max * shortest_step))
    throw Error(
        ErrorKind::numerics,
        fmt::format("leapfrog at time {}: the shared step fell to {}, below time.step_max / 2^40; two particles "
                    "are too close for zero softening",
                    to_text(time), to_text(wanted_step_)));
}

template <class Real>
void Leapfrog<Real>::check(double time) {
  const std::int64_t i = loops_->first_not_finite(arrays());
  if (i < 0) return;
  ParticleState state;
  const auto k = static_cast<std::size_t>(i);
  const auto place = [&](const VectorBuffer<Real>& b) {
    return Vec3<double>{b.x.to_host()[k], b.y.to_host()[k], b.z.to_host()[k]};
  };
  state.id = id_[k];
  state.mass = mass_.to_host()[k];
  state.position = place(x_), state.velocity = place(v_), state.acceleration = place(a_);
  state.time = time;
  throw ParticleFailure("its position, velocity or acceleration is not a finite number", time, state);
}

template <class Real>
double Leapfrog<Real>::next_time() const {
  if (options_.adaptive) return time_ + wanted_step_;
  return start_time_ + static_cast<double>(counts_.steps + 1) * options_.step;
}

template <class Real>
void Leapfrog<Real>::step(double dt, double end) {
  {
    Profile::Scope scope(profile_, "kick and drift");
    loops_->kick(arrays(), dt / 2);
    loops_->drift(arrays(), dt);
  }
  evaluate(end);
  Profile::Scope scope(profile_, "kick and drift");
  loops_->kick(arrays(), dt / 2);
  time_ = end;
  ++counts_.steps;
  counts_.particle_steps += count();
}

template <class Real>
bool Leapfrog<Real>::advance(double limit, const std::function<bool()>& enough) {
  const double reach = options_.adaptive ? limit : limit + same_time * options_.step;
  while (next_time() <= reach) {
    step(options_.adaptive ? wanted_step_ : options_.step, next_time());
    if (enough && enough()) return false;
  }
  return true;
}

template <class Real>
void Leapfrog<Real>::finish(double end) {
  advance(end, nullptr);
  if (options_.adaptive || end - time_ > same_time * options_.step) step(end - time_, end);
  time_ = end;
}

template <class Real>
Particles Leapfrog<Real>::state_at(double time) const {
  Particles particles;
  particles.resize(count());
  particles.id = id_;
  particles.species = species_.to_host();
  const auto mass = mass_.to_host(), x = x_.x.to_host(), y = x_.y.to_host(), z = x_.z.to_host();
  const auto vx = v_.x.to_host(), vy = v_.y.to_host(), vz = v_.z.to_host();
  const auto ax = a_.x.to_host(), ay = a_.y.to_host(), az = a_.z.to_host();
  const double dt = time - time_;
  for (std::size_t k = 0; k < id_.size(); ++k) {
    Vec3<double> at{x[k], y[k], z[k]}, velocity{vx[k], vy[k], vz[k]};
    if (dt != 0) physics::leapfrog_predict<double>(dt, at, velocity, {ax[k], ay[k], az[k]});
    particles.mass[k] = mass[k];
    particles.x[k] = at.x, particles.y[k] = at.y, particles.z[k] = at.z;
    particles.vx[k] = velocity.x, particles.vy[k] = velocity.y, particles.vz[k] = velocity.z;
  }
  return particles;
}

template <class Real>
StateBlocks Leapfrog<Real>::save() const {
  StateBlocks blocks;
  blocks.put_value("count", count());
  blocks.put("id", id_);
  blocks.put("species", species_.to_host());
  blocks.put("mass", mass_.to_host());
  x_.save(blocks, "position");
  v_.save(blocks, "velocity");
  a_.save(blocks, "acceleration");
  blocks.put_value("start_time", start_time_);
  blocks.put_value("time", time_);
  blocks.put_value("wanted_step", wanted_step_);
  blocks.put_value("counts", counts_);
  return blocks;
}

template <class Real>
void Leapfrog<Real>::restore(const StateBlocks& blocks) {
  const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
  id_ = blocks.get<std::uint64_t>("id", n);
  species_ = Buffer<std::uint8_t>(device_, blocks.get<std::uint8_t>("species", n));
  mass_ = Buffer<Real>(device_, blocks.get<Real>("mass", n));
  x_.restore(blocks, "position", device_, n);
  v_.restore(blocks, "velocity", device_, n);
  a_.restore(blocks, "acceleration", device_, n);
  j_ = VectorBuffer<Real>(device_, needs_jerk_ ? count() : 0);
  start_time_ = blocks.get_value<double>("start_time");
  time_ = blocks.get_value<double>("time");
  wanted_step_ = blocks.get_value<double>("wanted_step");
  counts_ = blocks.get_value<StepCounts>("counts");
}

template <class Real>
std::int64_t Leapfrog<Real>::device_bytes(std::int64_t n) const {
  const std::size_t vectors = needs_jerk_ ? 4 : 3;
  const std::size_t per_particle = sizeof(std::uint8_t) + sizeof(Real) + vectors * 3 * sizeof(Real);
  return n * static_cast<std::int64_t>(per_particle) + solver_->device_bytes(n);
}

}  // namespace

std::unique_ptr<Integrator> make_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                          const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<Leapfrog<float>>(time, gravity, context);
  return std::make_unique<Leapfrog<double>>(time, gravity, context);
}

}  // namespace pergola

#include "time/leapfrog.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "gravity/mesh.hpp"
#include "mesh/exchange.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/order_keeper.hpp"
#include "time/particle_failure.hpp"
#include "time/shared_evaluation.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

namespace {

/// Two times closer than this part of a step are the same one: k h and a limit written as a decimal differ by rounding.
constexpr double same_time = 1e-9;
/// An adaptive step shorter than this part of step_max ends the run; the same bound as for block steps.
const double shortest_step = std::ldexp(1.0, -40);

/// On a GPU steps are queued for about this long before the host looks at them.
constexpr double batch_seconds = 0.02;
constexpr std::int64_t longest_batch = 256;
/// Ranks that share the work sort together, every so many steps.
constexpr std::int64_t steps_between_sorts = 32;

/// Particles that a thread takes at once in loops over host arrays.
constexpr std::int64_t host_chunk = 65536;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

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
  Leapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context);

  void start(const Particles& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return time_; }
  Particles state_at(double time) const override;
  StepCounts counts() const override { return counts_; }
  StateBlocks save() const override;
  void restore(const StateBlocks& blocks) override;
  std::int64_t device_bytes(std::int64_t n) const override;
  Solver* idle_solver() override {
    solver_->set_clock(nullptr);
    return solver_.get();
  }
  std::int64_t outside() const override { return solver_->outside(); }
  std::string remark() const override { return solver_->remark(); }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(id_.size()); }
  LeapfrogArrays<Real> arrays();
  Sources<Real> sources() const;
  double next_time() const;
  void step(double dt, double end);
  void evaluate();
  void choose_step(double time);
  void begin_order();
  void sort();
  void settle();
  [[noreturn]] void fail(std::int64_t place, double time) const;
  template <class T>
  std::vector<T> as_given(const Buffer<T>& stored, const std::vector<std::uint32_t>& place) const;

  TimeOptions options_;
  StepWish wish_;
  Box box_;
  Device device_;
  bool alone_;
  std::unique_ptr<Solver> solver_;
  SharedEvaluation<Real> evaluation_;
  std::unique_ptr<LeapfrogLoops<Real>> loops_;
  StageClock clock_;
  bool needs_jerk_ = false;

  std::vector<std::uint64_t> id_;  // as given
  Buffer<std::uint8_t> species_;
  Buffer<Real> mass_;
  VectorBuffer<Real> x_, v_, a_;
  VectorBuffer<Real> j_;  // empty unless needs_jerk_
  double mass_quantum_ = 0;
  double start_time_ = 0, time_ = 0;
  double pending_kick_ = 0;  // what the velocities lack at time_: the closing kick of the last step
  double wanted_step_ = 0;   // adaptive: the next step
  StepCounts counts_;

  // The order in memory, for solvers to which it matters.
  Buffer<std::uint32_t> place_;  // where each particle stood in what was given; empty: all in that order
  Buffer<std::uint32_t> order_;
  Buffer<std::byte> order_work_;
  OrderKeeper keeper_;
  bool unsorted_ = false;

  // Steps that are queued on the device and not yet looked at.
  std::vector<double> queued_;  // the times at their ends
  std::int64_t batch_ = 1;
  Clock::time_point batch_begin_ = Clock::now();
};

template <class Real>
Leapfrog<Real>::Leapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
    : options_(time),
      box_(gravity.solver == "mesh" ? gravity.mesh.box : Box{}),
      device_(context.device),
      alone_(context.communicator->size() == 1),
      solver_(make_solver(gravity, context.device)),
      evaluation_(context.device, context.communicator),
      loops_(make_loops<Real>(context.device)),
      clock_(context.device, context.profile) {
  const double cell = solver_->resolution();
  wish_.eta = time.eta;
  wish_.softening = cell > 0 ? Softening::same(cell) : gravity.softening;
  wish_.courant_length = time.courant * cell;
  const auto& epsilon = wish_.softening.epsilon;
  needs_jerk_ = time.adaptive && *std::min_element(epsilon.begin(), epsilon.end()) <= 0;
  if (needs_jerk_ && !solver_->info().jerk)
    throw Error(ErrorKind::input, fmt::format("time.adaptive: solver {} gives no jerk, which the step with zero "
                                              "softening needs; set gravity.softening > 0",
                                              gravity.solver));
  if (time.adaptive && time.leapfrog == "staggered")
    throw Error(ErrorKind::input,
                "time.leapfrog: staggered needs a fixed step, found time.adaptive = true; use kick-drift-kick");
}

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
Sources<Real> Leapfrog<Real>::sources() const {
  Sources<Real> sources;
  sources.count = count();
  sources.x = x_.x.data(), sources.y = x_.y.data(), sources.z = x_.z.data();
  sources.vx = v_.x.data(), sources.vy = v_.y.data(), sources.vz = v_.z.data();
  sources.mass = mass_.data();
  sources.species = species_.data();
  sources.mass_quantum = mass_quantum_;
  return sources;
}

template <class Real>
void Leapfrog<Real>::start(const Particles& particles, double time) {
  const std::int64_t n = particles.size();
  id_ = particles.id;
  species_ = Buffer<std::uint8_t>(device_, particles.species);
  const std::vector<Real> mass(particles.mass.begin(), particles.mass.end());
  mass_ = Buffer<Real>(device_, mass);
  mass_quantum_ = mass_quantum(std::vector<double>(mass.begin(), mass.end()), std::is_same_v<Real, float>);
  x_ = VectorBuffer<Real>(device_, particles.x, particles.y, particles.z);
  v_ = VectorBuffer<Real>(device_, particles.vx, particles.vy, particles.vz);
  a_ = VectorBuffer<Real>(device_, n);
  j_ = VectorBuffer<Real>(device_, needs_jerk_ ? n : 0);
  a_.zero();
  start_time_ = time_ = time;
  pending_kick_ = 0;
  counts_ = {};
  loops_->kick_drift(arrays(), {0, 0, 0, box_});  // into the box
  begin_order();
  if (unsorted_) sort();
  evaluate();
  settle();
  const std::int64_t bad = loops_->first_not_finite(arrays());
  if (bad >= 0) fail(bad, time);
  choose_step(time);
}

template <class Real>
void Leapfrog<Real>::begin_order() {
  place_ = Buffer<std::uint32_t>();
  unsorted_ = false;
  const std::int64_t bytes = solver_->order_bytes(count());
  if (bytes == 0 || count() > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) return;
  std::vector<std::uint32_t> as_given(id_.size());
  std::iota(as_given.begin(), as_given.end(), 0u);
  place_ = Buffer<std::uint32_t>(device_, as_given);
  order_ = Buffer<std::uint32_t>(device_, count());
  order_work_ = Buffer<std::byte>(device_, std::max(bytes, count()));
  unsorted_ = true;
}

/// Brings the particles into the solver's order. The accelerations are lost: it is done before they are evaluated.
template <class Real>
void Leapfrog<Real>::sort() {
  device_.synchronize();
  const auto begin = Clock::now();
  clock_.begin("sort");
  solver_->find_order(sources(), order_.data(), order_work_.data());
  const auto reorder = [&](Buffer<Real>& values) {
    permute(device_, count(), order_.data(), std::as_const(values).data(), a_.x.data());
    values.swap(a_.x);
  };
  for (auto* vector : {&x_, &v_}) reorder(vector->x), reorder(vector->y), reorder(vector->z);
  reorder(mass_);
  auto* work = order_work_.data();
  permute(device_, count(), order_.data(), std::as_const(species_).data(), reinterpret_cast<std::uint8_t*>(work));
  device_.memory().copy(species_.data(), work, species_.bytes());
  auto* places = reinterpret_cast<std::uint32_t*>(a_.x.data());
  permute(device_, count(), order_.data(), std::as_const(place_).data(), places);
  device_.memory().copy(place_.data(), places, place_.bytes());
  clock_.end();
  device_.synchronize();
  keeper_.sorted(seconds_since(begin));
  unsorted_ = false;
  batch_begin_ += Clock::now() - begin;  // the steps are timed without it
}

/// Forces at the present positions.
template <class Real>
void Leapfrog<Real>::evaluate() {
  Forces<Real> forces;
  forces.ax = a_.x.data(), forces.ay = a_.y.data(), forces.az = a_.z.data();
  if (needs_jerk_) forces.jx = j_.x.data(), forces.jy = j_.y.data(), forces.jz = j_.z.data();
  solver_->set_clock(&clock_);
  if (solver_->info().pairwise) clock_.begin("force");
  solver_->prepare(sources());
  evaluation_.evaluate(*solver_, nullptr, count(), want_acceleration | (needs_jerk_ ? unsigned{want_jerk} : 0u),
                       forces);
  clock_.end();
  if (solver_->info().pairwise) counts_.interactions += count() * count();
}

/// The next adaptive step.
template <class Real>
void Leapfrog<Real>::choose_step(double time) {
  if (!options_.adaptive) return;
  wish_.pending_kick = pending_kick_;
  wanted_step_ = std::min(options_.step_max, loops_->minimum_step(arrays(), wish_));
  if (!(wanted_step_ >= options_.step_max * shortest_step))
    throw Error(
        ErrorKind::numerics,
        fmt::format("leapfrog at time {}: the shared step fell to {}, below time.step_max / 2^40; two particles "
                    "are too close for zero softening",
                    to_text(time), to_text(wanted_step_)));
}

template <class Real>
void Leapfrog<Real>::fail(std::int64_t place, double time) const {
  ParticleState state;
  const auto k = static_cast<std::size_t>(place);
  const auto at = [&](const VectorBuffer<Real>& b) {
    return Vec3<double>{b.x.to_host()[k], b.y.to_host()[k], b.z.to_host()[k]};
  };
  state.id = id_[place_.size() > 0 ? place_.to_host()[k] : k];
  state.mass = mass_.to_host()[k];
  state.position = at(x_), state.velocity = at(v_), state.acceleration = at(a_);
  state.time = time;
  throw ParticleFailure("its position, velocity or acceleration is not a finite number", time, state);
}

template <class Real>
double Leapfrog<Real>::next_time() const {
  if (options_.adaptive) return time_ + wanted_step_;
  return start_time_ + static_cast<double>(counts_.steps + 1) * options_.step;
}

/// Closing kick of the step before, opening kick, drift, forces. Kick-drift-kick and the staggered scheme differ in
/// rounding only: the latter takes the two kicks as one.
template <class Real>
void Leapfrog<Real>::step(double dt, double end) {
  if (queued_.empty()) batch_begin_ = Clock::now();
  clock_.begin("position");
  const bool staggered = options_.leapfrog == "staggered";
  loops_->kick_drift(arrays(), {staggered ? 0 : pending_kick_, staggered ? pending_kick_ + dt / 2 : dt / 2, dt, box_});
  clock_.end();
  queued_.push_back(end);
  const bool due =
      alone_ ? queued_.size() == 1 && keeper_.due() : counts_.steps % steps_between_sorts == steps_between_sorts - 1;
  if (unsorted_ || (due && place_.size() > 0)) sort();
  try {
    evaluate();
  } catch (const CoincidentParticles& collision) {
    throw with_ids(collision, id_, end);
  }
  pending_kick_ = dt / 2;
  time_ = end;
  ++counts_.steps;
  counts_.particle_steps += count();
  if (options_.adaptive) {
    settle();
    choose_step(end);
  }
}

/// Waits for the queued steps and looks whether all went well.
template <class Real>
void Leapfrog<Real>::settle() {
  device_.synchronize();
  const double seconds = seconds_since(batch_begin_);
  if (const auto bad = loops_->take_not_finite())
    fail(bad->place, queued_.empty() ? time_ : queued_[static_cast<std::size_t>(bad->pass)]);
  if (queued_.empty()) return;
  const auto steps = static_cast<std::int64_t>(queued_.size());
  keeper_.stepped(steps, seconds);
  batch_ = std::clamp(static_cast<std::int64_t>(batch_seconds * static_cast<double>(steps) / seconds), std::int64_t{1},
                      longest_batch);
  queued_.clear();
  clock_.collect();
}

template <class Real>
bool Leapfrog<Real>::advance(double limit, const std::function<bool()>& enough) {
  const double reach = options_.adaptive ? limit : limit + same_time * options_.step;
  while (next_time() <= reach) {
    step(options_.adaptive ? wanted_step_ : options_.step, next_time());
    const std::int64_t most = place_.size() > 0 ? std::min(batch_, keeper_.steps_to_look()) : batch_;
    const bool queue_more = device_.is_cuda() && alone_ && static_cast<std::int64_t>(queued_.size()) < most;
    if (queue_more && !options_.adaptive) continue;
    settle();
    if (enough && enough()) return false;
  }
  settle();
  return true;
}

template <class Real>
void Leapfrog<Real>::finish(double end) {
  advance(end, nullptr);
  if (options_.adaptive || end - time_ > same_time * options_.step) step(end - time_, end);
  settle();
  loops_->kick_drift(arrays(), {pending_kick_, 0, 0, box_});
  pending_kick_ = 0;
  const std::int64_t bad = loops_->first_not_finite(arrays());
  if (bad >= 0) fail(bad, end);
  time_ = end;
}

/// Values on the host in the order in which the particles were given; `place` from place_.
template <class Real>
template <class T>
std::vector<T> Leapfrog<Real>::as_given(const Buffer<T>& stored, const std::vector<std::uint32_t>& place) const {
  std::vector<T> values = stored.to_host();
  if (place.empty()) return values;
  std::vector<T> result(values.size());
  parallel_chunks(device_.threads(), stored.size(), host_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) result[place[k]] = values[k];
  });
  return result;
}

template <class Real>
Particles Leapfrog<Real>::state_at(double time) const {
  Particles particles;
  particles.resize(count());
  particles.id = id_;
  const auto place = place_.to_host();
  particles.species = as_given(species_, place);
  const auto mass = as_given(mass_, place);
  const auto x = as_given(x_.x, place), y = as_given(x_.y, place), z = as_given(x_.z, place);
  const auto vx = as_given(v_.x, place), vy = as_given(v_.y, place), vz = as_given(v_.z, place);
  const auto ax = as_given(a_.x, place), ay = as_given(a_.y, place), az = as_given(a_.z, place);
  const double dt = time - time_;
  const auto predict = [&](std::size_t k) {
    Vec3<double> at{x[k], y[k], z[k]}, velocity{vx[k], vy[k], vz[k]};
    const Vec3<double> acceleration{ax[k], ay[k], az[k]};
    if (pending_kick_ != 0) physics::kick<double>(pending_kick_, velocity, acceleration);
    if (dt != 0) physics::leapfrog_predict<double>(dt, at, velocity, acceleration);
    if (dt != 0 && box_.periodic())
      at = {wrap(at.x, box_.corner.x, box_.side.x), wrap(at.y, box_.corner.y, box_.side.y),
            wrap(at.z, box_.corner.z, box_.side.z)};
    particles.mass[k] = mass[k];
    particles.x[k] = at.x, particles.y[k] = at.y, particles.z[k] = at.z;
    particles.vx[k] = velocity.x, particles.vy[k] = velocity.y, particles.vz[k] = velocity.z;
  };
  parallel_chunks(device_.threads(), count(), host_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) predict(k);
  });
  return particles;
}

template <class Real>
StateBlocks Leapfrog<Real>::save() const {
  StateBlocks blocks;
  const auto place = place_.to_host();
  blocks.put_value("count", count());
  blocks.put("id", id_);
  blocks.put("species", as_given(species_, place));
  blocks.put("mass", as_given(mass_, place));
  const auto put = [&](const char* name, const VectorBuffer<Real>& vector) {
    blocks.put(fmt::format("{}.x", name), as_given(vector.x, place));
    blocks.put(fmt::format("{}.y", name), as_given(vector.y, place));
    blocks.put(fmt::format("{}.z", name), as_given(vector.z, place));
  };
  put("position", x_), put("velocity", v_), put("acceleration", a_);
  blocks.put_value("start_time", start_time_);
  blocks.put_value("time", time_);
  blocks.put_value("pending_kick", pending_kick_);
  blocks.put_value("wanted_step", wanted_step_);
  blocks.put_value("counts", counts_);
  return blocks;
}

/// The particles stay in the order in which they were saved until the first step has used their accelerations.
template <class Real>
void Leapfrog<Real>::restore(const StateBlocks& blocks) {
  const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
  id_ = blocks.get<std::uint64_t>("id", n);
  species_ = Buffer<std::uint8_t>(device_, blocks.get<std::uint8_t>("species", n));
  const auto mass = blocks.get<Real>("mass", n);
  mass_ = Buffer<Real>(device_, mass);
  mass_quantum_ = mass_quantum(std::vector<double>(mass.begin(), mass.end()), std::is_same_v<Real, float>);
  x_.restore(blocks, "position", device_, n);
  v_.restore(blocks, "velocity", device_, n);
  a_.restore(blocks, "acceleration", device_, n);
  j_ = VectorBuffer<Real>(device_, needs_jerk_ ? count() : 0);
  start_time_ = blocks.get_value<double>("start_time");
  time_ = blocks.get_value<double>("time");
  pending_kick_ = blocks.get_value<double>("pending_kick");
  wanted_step_ = blocks.get_value<double>("wanted_step");
  counts_ = blocks.get_value<StepCounts>("counts");
  begin_order();
}

template <class Real>
std::int64_t Leapfrog<Real>::device_bytes(std::int64_t n) const {
  const std::size_t vectors = needs_jerk_ ? 4 : 3;
  const std::size_t per_particle = sizeof(std::uint8_t) + sizeof(Real) + vectors * 3 * sizeof(Real);
  const std::int64_t work = solver_->order_bytes(n);
  const std::int64_t order =
      work > 0 ? std::max(work, n) + 2 * n * static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
  return n * static_cast<std::int64_t>(per_particle) + order + solver_->device_bytes(n);
}

}  // namespace

std::unique_ptr<Integrator> make_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                          const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<Leapfrog<float>>(time, gravity, context);
  return std::make_unique<Leapfrog<double>>(time, gravity, context);
}

}  // namespace pergola

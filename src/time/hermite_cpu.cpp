#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/text.hpp"
#include "device/parallel.hpp"
#include "physics/hermite.hpp"
#include "time/hermite.hpp"
#include "time/particle_failure.hpp"
#include "time/shared_evaluation.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

namespace {

using physics::deepest_level;
using physics::level_ticks;

constexpr std::int64_t schedule_chunk = 512;  // particles that share one entry of the schedule
constexpr std::int64_t correct_chunk = 128;   // active particles corrected by one thread at a time
constexpr std::int64_t last_tick = std::int64_t{1} << 62;

/// A particle at the start of its step.
struct StepStart {
  Vec3<double> x, v, a, j;
  std::int64_t tick;
};

bool finite(const Vec3<double>& v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

/// Where a block of particles goes.
struct Block {
  std::int64_t now = 0;
  double offset = 0;        // beyond `now`: the last step of a run, where all particles are active
  bool choose_next = true;  // false: no step comes after this one
};

enum class Fault : std::uint8_t { none, force_not_finite, state_not_finite, step_too_short };

const char* fault_text(Fault fault) {
  switch (fault) {
    case Fault::force_not_finite:
      return "the force on it is not a finite number";
    case Fault::state_not_finite:
      return "its position or velocity is no longer a finite number";
    default:
      return "its step fell below the shortest one (time.step_max / 2^40)";
  }
}

template <class Real>
class HermiteCpu final : public Integrator {
 public:
  HermiteCpu(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : options_(time),
        gravitational_constant_(gravity.gravitational_constant),
        device_(context.device),
        profile_(context.profile),
        solver_(make_solver(gravity, context.device)),
        evaluation_(context.device, context.communicator),
        tick_length_(std::ldexp(time.step_max, -deepest_level)) {}

  void start(const Particles& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return start_time_ + (static_cast<double>(now_) * tick_length_ + offset_); }
  Particles state_at(double time) const override;
  StepCounts counts() const override { return counts_; }
  StateBlocks save() const override;
  void restore(const StateBlocks& blocks) override;
  std::int64_t device_bytes(std::int64_t n) const override;

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(id_.size()); }
  double time_of(std::int64_t tick) const { return start_time_ + static_cast<double>(tick) * tick_length_; }
  void allocate_scratch();
  void prepare(std::int64_t now, double offset, bool predict);
  void evaluate(std::int64_t n, const std::int64_t* index, double time, Real* potential = nullptr);
  void step(const Block& block);
  Fault correct(std::int64_t t, const Block& block, bool first, bool last);
  [[noreturn]] void fail(std::int64_t i, Fault fault, double time) const;
  void reschedule(std::int64_t chunk);
  void collect_active(std::int64_t now);

  TimeOptions options_;
  double gravitational_constant_;
  Device device_;
  Profile* profile_;
  std::unique_ptr<Solver> solver_;
  SharedEvaluation<Real> evaluation_;
  double tick_length_;
  double start_time_ = 0;

  // The state. Particle i is known at tick_[i] and takes a step of level_[i] next.
  std::vector<std::uint64_t> id_;
  Buffer<std::uint8_t> species_;
  Buffer<Real> mass_;
  VectorBuffer<Real> x_, v_, a_, j_;
  Buffer<std::int64_t> tick_;
  Buffer<std::int8_t> level_;
  std::int64_t now_ = 0;
  double offset_ = 0;  // after finish(): how far all particles are beyond now_
  StepCounts counts_;

  // Scratch, derived from the state.
  std::vector<std::int64_t> chunk_next_;  // the earliest end of a step within each chunk of particles
  std::int64_t active_count_ = 0;
  Buffer<std::int64_t> active_;
  VectorBuffer<Real> new_a_, new_j_;
  std::vector<StepStart> starts_;  // only when the corrector is iterated
};

template <class Real>
void HermiteCpu<Real>::start(const Particles& particles, double time) {
  const std::int64_t n = particles.size();
  id_ = particles.id;
  species_ = Buffer<std::uint8_t>(device_, particles.species);
  mass_ = Buffer<Real>(device_, std::vector<Real>(particles.mass.begin(), particles.mass.end()));
  x_ = VectorBuffer<Real>(device_, particles.x, particles.y, particles.z);
  v_ = VectorBuffer<Real>(device_, particles.vx, particles.vy, particles.vz);
  a_ = VectorBuffer<Real>(device_, n);
  j_ = VectorBuffer<Real>(device_, n);
  tick_ = Buffer<std::int64_t>(device_, n);
  tick_.zero();
  level_ = Buffer<std::int8_t>(device_, n);
  start_time_ = time;
  now_ = 0;
  offset_ = 0;
  counts_ = {};
  allocate_scratch();

  Buffer<Real> potential(device_, n);
  double gm = 0;
  for (const double mass : particles.mass) gm += gravitational_constant_ * mass;
  prepare(0, 0, false);
  evaluate(n, nullptr, time, potential.data());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto a = new_a_.at(i), j = new_j_.at(i);
    a_.set(i, {}), j_.set(i, {});
    if (!finite(a) || !finite(j)) fail(i, Fault::force_not_finite, time);
    a_.set(i, a), j_.set(i, j);
    const double wanted = physics::starting_step<double>(options_.eta_start, a, j, potential.data()[i], gm);
    const int level = physics::first_level(wanted, options_.step_max, 0);
    if (level > deepest_level) fail(i, Fault::step_too_short, time);
    level_.data()[i] = static_cast<std::int8_t>(level);
  }
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(chunk_next_.size()); ++c) reschedule(c);
}

template <class Real>
void HermiteCpu<Real>::allocate_scratch() {
  const std::int64_t n = count();
  chunk_next_.resize(static_cast<std::size_t>((n + schedule_chunk - 1) / schedule_chunk));
  active_ = Buffer<std::int64_t>(device_, n);
  new_a_ = VectorBuffer<Real>(device_, n);
  new_j_ = VectorBuffer<Real>(device_, n);
  starts_.resize(options_.corrector_iterations > 1 ? static_cast<std::size_t>(n) : 0);
}

template <class Real>
void HermiteCpu<Real>::prepare(std::int64_t now, double offset, bool predict) {
  Profile::Scope scope(profile_, "predict");
  Sources<Real> sources;
  sources.count = count();
  sources.x = x_.x.data(), sources.y = x_.y.data(), sources.z = x_.z.data();
  sources.vx = v_.x.data(), sources.vy = v_.y.data(), sources.vz = v_.z.data();
  sources.mass = mass_.data();
  sources.species = species_.data();
  if (predict) {
    sources.ax = a_.x.data(), sources.ay = a_.y.data(), sources.az = a_.z.data();
    sources.jx = j_.x.data(), sources.jy = j_.y.data(), sources.jz = j_.z.data();
    sources.tick = tick_.data();
    sources.now = now;
    sources.tick_length = tick_length_;
    sources.offset = offset;
  }
  solver_->prepare(sources);
}

template <class Real>
void HermiteCpu<Real>::evaluate(std::int64_t n, const std::int64_t* index, double time, Real* potential) {
  Profile::Scope scope(profile_, "force");
  Forces<Real> forces;
  forces.ax = new_a_.x.data(), forces.ay = new_a_.y.data(), forces.az = new_a_.z.data();
  forces.jx = new_j_.x.data(), forces.jy = new_j_.y.data(), forces.jz = new_j_.z.data();
  forces.potential = potential;
  try {
    evaluation_.evaluate(*solver_, index, n,
                         want_acceleration | want_jerk | (potential ? unsigned{want_potential} : 0u), forces);
  } catch (const CoincidentParticles& collision) {
    throw with_ids(collision, id_, time);
  }
  counts_.interactions += n * count();
}

template <class Real>
bool HermiteCpu<Real>::advance(double limit, const std::function<bool()>& enough) {
  while (count() > 0) {
    const std::int64_t next = *std::min_element(chunk_next_.begin(), chunk_next_.end());
    if (time_of(next) > limit) return true;
    if (next >= last_tick)
      throw Error(ErrorKind::input, fmt::format("run.end_time: expected at most {} steps of time.step_max, found {}",
                                                last_tick >> deepest_level, to_text(limit)));
    collect_active(next);
    step({.now = next});
    now_ = next;
    if (enough && enough()) return false;
  }
  return true;
}

/// The particles whose step ends at `now`, in rising order.
template <class Real>
void HermiteCpu<Real>::collect_active(std::int64_t now) {
  Profile::Scope scope(profile_, "schedule");
  active_count_ = 0;
  for (std::size_t c = 0; c < chunk_next_.size(); ++c) {
    if (chunk_next_[c] != now) continue;
    const std::int64_t begin = static_cast<std::int64_t>(c) * schedule_chunk;
    for (std::int64_t i = begin; i < std::min(begin + schedule_chunk, count()); ++i)
      if (tick_.data()[i] + level_ticks(level_.data()[i]) == now) active_.data()[active_count_++] = i;
  }
}

template <class Real>
void HermiteCpu<Real>::reschedule(std::int64_t chunk) {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = chunk * schedule_chunk;
  for (std::int64_t i = begin; i < std::min(begin + schedule_chunk, count()); ++i)
    next = std::min(next, tick_.data()[i] + level_ticks(level_.data()[i]));
  chunk_next_[static_cast<std::size_t>(chunk)] = next;
}

/// Predict, evaluate, correct the active particles, as often as the options say.
template <class Real>
void HermiteCpu<Real>::step(const Block& block) {
  const double end = time_of(block.now) + block.offset;
  std::vector<Fault> fault(static_cast<std::size_t>((active_count_ + correct_chunk - 1) / correct_chunk));
  std::vector<std::int64_t> culprit(fault.size());
  for (int iteration = 1; iteration <= options_.corrector_iterations; ++iteration) {
    const bool first = iteration == 1, last = iteration == options_.corrector_iterations;
    prepare(block.now, first ? block.offset : 0.0, true);
    evaluate(active_count_, active_.data(), end);
    Profile::Scope scope(profile_, "correct");
    parallel_chunks(device_.threads(), active_count_, correct_chunk, [&](std::int64_t from, std::int64_t to) {
      const auto c = static_cast<std::size_t>(from / correct_chunk);
      for (std::int64_t t = from; t < to && fault[c] == Fault::none; ++t) {
        fault[c] = correct(t, block, first, last);
        culprit[c] = active_.data()[t];
      }
    });
    for (std::size_t c = 0; c < fault.size(); ++c)
      if (fault[c] != Fault::none) fail(culprit[c], fault[c], end);
  }
  ++counts_.steps;
  counts_.particle_steps += active_count_;
  std::int64_t done = -1;
  for (std::int64_t t = 0; t < active_count_; ++t) {
    const std::int64_t chunk = active_.data()[t] / schedule_chunk;
    if (chunk != done) reschedule(done = chunk);
  }
}

template <class Real>
Fault HermiteCpu<Real>::correct(std::int64_t t, const Block& block, bool first, bool last) {
  const std::int64_t i = active_.data()[t];
  const StepStart start =
      first ? StepStart{x_.at(i), v_.at(i), a_.at(i), j_.at(i), tick_.data()[i]} : starts_[static_cast<std::size_t>(t)];
  if (first && !last) starts_[static_cast<std::size_t>(t)] = start;
  const double dt = static_cast<double>(block.now - start.tick) * tick_length_ + block.offset;
  const auto a = new_a_.at(t), j = new_j_.at(t);
  if (!finite(a) || !finite(j)) return Fault::force_not_finite;
  auto x = start.x, v = start.v;
  physics::hermite_correct(dt, x, v, start.a, start.j, a, j);
  if (!finite(x) || !finite(v)) return Fault::state_not_finite;

  if (last && block.choose_next) {
    Vec3<double> snap, crackle;
    physics::hermite_derivatives(dt, start.a, start.j, a, j, snap, crackle);
    const double wanted = physics::aarseth_step(options_.eta, a, j, snap, crackle);
    const int level = physics::next_level<double>(level_.data()[i], wanted, options_.step_max, block.now);
    if (level > deepest_level) return Fault::step_too_short;
    level_.data()[i] = static_cast<std::int8_t>(level);
  }
  x_.set(i, x), v_.set(i, v), a_.set(i, a), j_.set(i, j);
  tick_.data()[i] = block.now;
  return Fault::none;
}

template <class Real>
void HermiteCpu<Real>::fail(std::int64_t i, Fault fault, double time) const {
  ParticleState state;
  state.id = id_[static_cast<std::size_t>(i)];
  state.mass = static_cast<double>(mass_.data()[i]);
  state.position = x_.at(i), state.velocity = v_.at(i);
  state.acceleration = a_.at(i), state.jerk = j_.at(i);
  state.time = time_of(tick_.data()[i]);
  throw ParticleFailure(fault_text(fault), time, state);
}

template <class Real>
void HermiteCpu<Real>::finish(double end) {
  advance(end, nullptr);
  const double offset = (end - start_time_) - static_cast<double>(now_) * tick_length_;
  active_count_ = 0;
  for (std::int64_t i = 0; i < count(); ++i)
    if (offset > 0 || tick_.data()[i] < now_) active_.data()[active_count_++] = i;
  if (active_count_ == 0) return;
  step({now_, offset, false});
  offset_ = offset;
}

template <class Real>
Particles HermiteCpu<Real>::state_at(double time) const {
  Particles particles;
  particles.resize(count());
  particles.id = id_;
  particles.species = species_.to_host();
  particles.mass.assign(mass_.data(), mass_.data() + count());
  for (std::int64_t i = 0; i < count(); ++i) {
    auto x = x_.at(i), v = v_.at(i);
    const double dt = ((time - start_time_) - static_cast<double>(tick_.data()[i]) * tick_length_) - offset_;
    if (dt != 0) physics::hermite_predict(dt, x, v, a_.at(i), j_.at(i));
    const auto k = static_cast<std::size_t>(i);
    particles.x[k] = x.x, particles.y[k] = x.y, particles.z[k] = x.z;
    particles.vx[k] = v.x, particles.vy[k] = v.y, particles.vz[k] = v.z;
  }
  return particles;
}

template <class Real>
StateBlocks HermiteCpu<Real>::save() const {
  StateBlocks blocks;
  blocks.put_value("count", count());
  blocks.put("id", id_);
  blocks.put("species", species_.to_host());
  blocks.put("mass", mass_.to_host());
  x_.save(blocks, "position");
  v_.save(blocks, "velocity");
  a_.save(blocks, "acceleration");
  j_.save(blocks, "jerk");
  blocks.put("tick", tick_.to_host());
  blocks.put("level", level_.to_host());
  blocks.put_value("now", now_);
  blocks.put_value("offset", offset_);
  blocks.put_value("start_time", start_time_);
  blocks.put_value("counts", counts_);
  return blocks;
}

template <class Real>
void HermiteCpu<Real>::restore(const StateBlocks& blocks) {
  const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
  id_ = blocks.get<std::uint64_t>("id", n);
  species_ = Buffer<std::uint8_t>(device_, blocks.get<std::uint8_t>("species", n));
  mass_ = Buffer<Real>(device_, blocks.get<Real>("mass", n));
  x_.restore(blocks, "position", device_, n);
  v_.restore(blocks, "velocity", device_, n);
  a_.restore(blocks, "acceleration", device_, n);
  j_.restore(blocks, "jerk", device_, n);
  tick_ = Buffer<std::int64_t>(device_, blocks.get<std::int64_t>("tick", n));
  level_ = Buffer<std::int8_t>(device_, blocks.get<std::int8_t>("level", n));
  now_ = blocks.get_value<std::int64_t>("now");
  offset_ = blocks.get_value<double>("offset");
  start_time_ = blocks.get_value<double>("start_time");
  counts_ = blocks.get_value<StepCounts>("counts");
  allocate_scratch();
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(chunk_next_.size()); ++c) reschedule(c);
}

template <class Real>
std::int64_t HermiteCpu<Real>::device_bytes(std::int64_t n) const {
  const std::size_t per_particle = sizeof(std::uint64_t) + sizeof(std::uint8_t) + sizeof(Real) + 6 * 3 * sizeof(Real) +
                                   2 * sizeof(std::int64_t) + sizeof(std::int8_t) +
                                   (options_.corrector_iterations > 1 ? sizeof(StepStart) : 0);
  return n * static_cast<std::int64_t>(per_particle) + solver_->device_bytes(n);
}

}  // namespace

std::unique_ptr<Integrator> make_hermite_cpu(const TimeOptions& time, const SolverOptions& gravity,
                                             const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<HermiteCpu<float>>(time, gravity, context);
  return std::make_unique<HermiteCpu<double>>(time, gravity, context);
}

}  // namespace pergola

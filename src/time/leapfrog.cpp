// The state of both leapfrogs, and the leapfrog with one step for all particles, on any device and on ranks.
// Units are those of the run; where space expands, velocities of the state are momenta and times are ln a (Expansion).
// The step is fixed, or adaptive: the smallest that a particle wants. A fixed step counts from the start, k × step, so
// that rounding does not add up.
#include "time/leapfrog.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "device/arena.hpp"
#include "device/sort.hpp"
#include "device/stage_clock.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "mesh/coupling/exchange.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/particle_failure.hpp"
#include "time/show_rules.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace pergola {

/// Fields of the particles that this rank owns. In an expanding universe velocities are scaled to momenta.
template <class Real>
void LeapfrogState<Real>::start(ParticleSource& particles, double time, const Expansion& expansion,
                                Communicator* ranks) {
  if (expansion.given()) {
    ScaledVelocities momenta(particles, 1 / expansion.shown_velocity(time));
    RunState<Real>::start(momenta, time, ranks);
  } else {
    RunState<Real>::start(particles, time, ranks);
  }
  mass_quantum = pergola::mass_quantum(this->device(), std::as_const(this->mass).data(), this->count(), ranks);
}

template <class Real>
LeapfrogArrays<Real> LeapfrogState<Real>::arrays() {
  auto &place = this->x, &speed = this->v;
  LeapfrogArrays<Real> arrays;
  arrays.count = this->count();
  arrays.x = place.x.data(), arrays.y = place.y.data(), arrays.z = place.z.data();
  arrays.vx = speed.x.data(), arrays.vy = speed.y.data(), arrays.vz = speed.z.data();
  arrays.ax = a.x.data(), arrays.ay = a.y.data(), arrays.az = a.z.data();
  arrays.jx = j.x.data(), arrays.jy = j.y.data(), arrays.jz = j.z.data();
  arrays.species = this->species.data();
  return arrays;
}

template <class Real>
void LeapfrogState<Real>::restore(StateInput& from, Communicator* ranks) {
  RunState<Real>::restore(from, ranks);
  mass_quantum = pergola::mass_quantum(this->device(), std::as_const(this->mass).data(), this->count(), ranks);
}

/// The last state of one particle, for an error message.
template <class Real>
ParticleState LeapfrogState<Real>::particle_at(std::int64_t place, double time) const {
  ParticleState state;
  state.id = this->id_at(place);
  state.mass = this->mass.fetch(place);
  state.position = this->x.fetch(place), state.velocity = this->v.fetch(place);
  state.acceleration = a.fetch(place);
  state.time = time;
  return state;
}

template <class Real>
void LeapfrogState<Real>::fail_where(std::int64_t place, std::int64_t kind, const char* (*reason)(std::int64_t kind),
                                     double time, Communicator* ranks) const {
  pergola::fail_where(
      {place, kind, time}, reason, [&] { return particle_at(place, time); }, ranks);
}

template struct LeapfrogState<float>;
template struct LeapfrogState<double>;

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops(const Device& device) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_leapfrog_loops_cuda<Real>(device);
  }
  return make_leapfrog_loops_cpu<Real>(device);
}
template std::unique_ptr<LeapfrogLoops<float>> make_leapfrog_loops(const Device& device);
template std::unique_ptr<LeapfrogLoops<double>> make_leapfrog_loops(const Device& device);

namespace {

/// Two times closer than this part of a step are the same one: k h and a limit written as a decimal differ by rounding.
constexpr double same_time = 1e-9;
constexpr double logarithm_rounding = 4 * std::numeric_limits<double>::epsilon();
/// An adaptive step shorter than this part of step_max ends the run; the same bound as for block steps.
const double shortest_step = std::ldexp(1.0, -40);

/// On a GPU steps are queued for about this long before the host looks at them.
constexpr double batch_seconds = 0.02;
constexpr std::int64_t longest_batch = 256;
/// Ranks that share the work sort together, after this number of steps.
constexpr std::int64_t steps_between_sorts = 32;

/// Says when it pays to sort the particles into the order in memory that their solver works best with: as soon as the
/// time lost by disorder since the last sorting exceeds what a sorting costs. No result depends on when that is.
class OrderKeeper {
 public:
  void sorted(double seconds) {
    cost_ = seconds;
    ordered_ = lost_ = 0;
    steps_ = 0;
  }
  /// `steps` steps took `seconds`, nothing else included. The other steps are compared with the mean of the first ones
  /// after a sorting; the mean is little disturbed by a busy machine. If these were slow by accident, the mean of an
  /// earlier sorting counts.
  void stepped(std::int64_t steps, double seconds) {
    const bool in_order = steps_ < ordered_steps;
    steps_ += steps;
    if (!in_order) {
      lost_ += seconds - static_cast<double>(steps) * best_;
      return;
    }
    ordered_ += seconds;
    if (steps_ >= ordered_steps) best_ = std::min(ordered_ / static_cast<double>(steps_), slower * best_);
  }
  bool due() const { return lost_ > cost_; }
  /// The number of steps that may be taken before the next look: few while the particles are in order, then half of
  /// those since the sorting.
  std::int64_t steps_to_look() const { return std::max(std::int64_t{2}, steps_ / 2); }

 private:
  /// For this number of steps after a sorting the particles count as ordered.
  static constexpr std::int64_t ordered_steps = 4;
  /// From one sorting to the next steps may become slower by this much without being taken for an accident.
  static constexpr double slower = 1.05;
  double cost_ = 0;
  double ordered_ = 0;                                     // seconds of the steps in order
  double best_ = std::numeric_limits<double>::infinity();  // seconds of a step in order
  double lost_ = 0;
  std::int64_t steps_ = 0;
};

/// Kick-drift-kick leapfrog with one step for all particles. Springel 2005, section 4.1.
///
/// A step: (1) the closing kick of the step before, the opening kick and the drift in one pass, (2) forces. The closing
/// kick stays pending until the next step or until the particles are shown. On a GPU steps are queued in batches and
/// looked at afterwards (wait); an adaptive step is looked at each time.
/// The solver may want an order of the particles in memory (sort); no result depends on it.
template <class Real>
class Leapfrog final : public StepDriver<LeapfrogState<Real>> {
  using Driver = StepDriver<LeapfrogState<Real>>;

 public:
  Leapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context);

  void start(ParticleSource& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return time_; }
  double measured_at(double due) const override;
  std::unique_ptr<ShownParticles> show(double asked) const override {
    owners_.require_home();
    // The logarithm of a scale factor that was found from the logarithm differs from it by rounding.
    const double time = std::abs(asked - time_) <= logarithm_rounding * std::abs(time_) ? time_ : asked;
    return state_.show(ShowLeapfrog<Real>{state_.a.x.data(), state_.a.y.data(), state_.a.z.data(), pending_kick_,
                                          expansion_.drift(time_, time), expansion_.kick(time_, time),
                                          expansion_.shown_velocity(time), box_});
  }
  std::vector<StepClass> step_classes() const override { return {{options_.adaptive ? wanted_step_ : step_, total_}}; }
  void save(StateSource& to) const override;
  void restore(StateInput& from) override;
  std::int64_t device_bytes(std::int64_t n) const override;
  void pause_every(std::int64_t steps) override { pause_every_ = steps; }
  std::optional<BorrowedParticles> lend() override;
  void take_back() override;
  std::shared_ptr<void> leave_borrowed() override { return state_.leave_borrowed(); }
  std::vector<std::string> choices() const override {
    std::vector<std::string> all = Driver::choices();
    if (!step_choice_.empty()) all.insert(all.begin(), step_choice_);
    return all;
  }
  std::string remark() const override {
    const std::string of_forces = Driver::remark();
    return step_remark_ + (step_remark_.empty() || of_forces.empty() ? "" : "; ") + of_forces;
  }

 private:
  using Driver::options_, Driver::device_, Driver::ranks_, Driver::solver_, Driver::clock_, Driver::state_;
  using Driver::owners_, Driver::total_, Driver::count;
  double next_time() const;
  void step(double dt, double end);
  void evaluate(double time);
  void choose_step(double time);
  void choose_fixed_step();
  template <class Self>
  static void room_for_order(Self& self, Arena& arena, std::int64_t n, std::int64_t work_bytes) {
    arena.room(self.order_, n), arena.room(self.order_work_, std::max(work_bytes, n));
  }
  void begin_order();
  void sort();
  void wait();
  double least_step(const StepWish& wish);
  void end_where_not_finite(std::int64_t place, double time);

  Expansion expansion_;
  StepWish wish_;
  Box box_;
  std::unique_ptr<LeapfrogLoops<Real>> loops_;
  double time_ = 0;
  double pending_kick_ = 0;  // what the velocities lack at time_: the closing kick of the last step
  double step_ = 0;          // fixed: as it was given or chosen at the start
  double wanted_step_ = 0;   // adaptive: the next step; fixed: the one that was chosen
  std::string step_choice_, step_remark_;

  // The order in memory, for solvers to which it matters.
  Buffer<std::uint32_t> order_;
  Buffer<std::byte> order_work_;
  OrderKeeper keeper_;
  bool unsorted_ = false;

  // Steps that are queued on the device and not yet looked at.
  std::vector<double> queued_;  // the times at their ends
  std::int64_t batch_ = 1;
  std::int64_t pause_every_ = 0;
  Clock::time_point batch_begin_ = Clock::now();
};

/// Jerks are needed only to choose a step where softening is zero.
template <class Real>
Leapfrog<Real>::Leapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
    : Driver(Driver::Travel::particles, time, gravity, context),
      expansion_(time.background),
      box_(box_of(gravity)),
      loops_(make_leapfrog_loops<Real>(context.device)) {
  const double cell = solver_->resolution();
  wish_.eta = time.eta;
  wish_.softening = cell > 0 ? Softening::same(cell) : gravity.softening;
  wish_.courant_length = time.courant * cell;
  const auto& epsilon = wish_.softening.epsilon;
  const bool chosen = time.adaptive || time.step <= 0;
  state_.choose_jerk(chosen && *std::min_element(epsilon.begin(), epsilon.end()) <= 0);
}

/// Wraps particles into the box, orders them, finds the first forces and, from these, the first step.
template <class Real>
void Leapfrog<Real>::start(ParticleSource& particles, double time) {
  total_ = particles.count();
  state_.start(particles, time, expansion_, ranks_.get());
  time_ = time;
  pending_kick_ = 0;
  loops_->kick_drift(state_.arrays(), {0, 0, 0, box_});  // into the box
  begin_order();
  if (unsorted_) sort();
  evaluate(time);
  wait();
  end_where_not_finite(loops_->first_not_finite(state_.arrays()), time);
  choose_step(time);
  choose_fixed_step();
  owners_.go_home();
}

/// The smallest step that a particle wants, on any rank.
template <class Real>
double Leapfrog<Real>::least_step(const StepWish& wish) {
  double step = loops_->minimum_step(state_.arrays(), wish);
  if (ranks_) ranks_->all_reduce(&step, 1, Reduction::minimum);
  return step;
}

/// Ends the run on all ranks if one of them has a particle that is not finite. Place −1: this rank has none.
template <class Real>
void Leapfrog<Real>::end_where_not_finite(std::int64_t place, double time) {
  std::int64_t kind = 0;
  const std::int64_t at_home = owners_.find_at_home(place, kind);
  state_.fail_where(
      at_home, kind, [](std::int64_t) { return "its position, velocity or acceleration is not a finite number"; },
      expansion_.shown_time(time), ranks_.get());
}

/// Memory for the order, if the solver works better with one; without it `unsorted_` stays false.
template <class Real>
void Leapfrog<Real>::begin_order() {
  unsorted_ = false;
  const std::int64_t bytes = solver_->order_bytes(count());
  if (bytes == 0 || count() > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) return;
  state_.keep_order();
  Arena arena(device_);
  room_for_order(*this, arena, count(), bytes);
  unsorted_ = true;
}

/// Brings the particles into the solver's order. The accelerations are lost: it is done before they are evaluated.
template <class Real>
void Leapfrog<Real>::sort() {
  device_.synchronize();
  const auto begin = Clock::now();
  clock_.begin("sort");
  solver_->find_order(state_.sources(), order_.data(), order_work_.data());
  state_.reorder(order_.data(), state_.a.x, order_work_.data());
  clock_.end();
  device_.synchronize();
  keeper_.sorted(seconds_since(begin));
  unsorted_ = false;
  batch_begin_ += Clock::now() - begin;  // the steps are timed without it
}

/// Forces at the present positions, which are those of `time`.
template <class Real>
void Leapfrog<Real>::evaluate(double time) {
  solver_->set_clock(&clock_);
  if (solver_->info().pairwise) clock_.begin("force");
  expansion_.soften(*solver_, wish_.softening, time);
  const auto sources_now = [&] {
    Sources<Real> sources = state_.sources();
    sources.moment = time;
    sources.longest_step = options_.step_max;
    sources.place = owners_.places();
    return sources;
  };
  this->settle(sources_now(), nullptr, {&state_.a.x, &state_.a.y, &state_.a.z, &state_.j.x, &state_.j.y, &state_.j.z});
  solver_->prepare(sources_now());
  Forces<Real> forces;
  forces.ax = state_.a.x.data(), forces.ay = state_.a.y.data(), forces.az = state_.a.z.data();
  if (state_.with_jerk()) forces.jx = state_.j.x.data(), forces.jy = state_.j.y.data(), forces.jz = state_.j.z.data();
  const unsigned want = want_acceleration | (state_.with_jerk() ? unsigned{want_jerk} : 0u);
  this->evaluate_at(*solver_, nullptr, count(), want, forces, expansion_.shown_time(time));
  clock_.end();
  if (solver_->info().pairwise) state_.counts.interactions += total_ * total_;
}

/// The next adaptive step.
template <class Real>
void Leapfrog<Real>::choose_step(double time) {
  if (!options_.adaptive) return;
  wish_.pending_kick = pending_kick_;
  expansion_.scale(wish_, time);
  wanted_step_ = std::min(options_.step_max, least_step(wish_));
  if (!(wanted_step_ >= options_.step_max * shortest_step))
    throw Error(
        ErrorKind::numerics,
        fmt::format("leapfrog at time {}: the shared step fell to {}, below time.step_max / 2^40; two particles "
                    "are too close for zero softening",
                    to_text(expansion_.shown_time(time)), to_text(wanted_step_)));
  if (time + wanted_step_ == time)
    throw Error(ErrorKind::numerics,
                fmt::format("leapfrog at time {}: the shared step fell to {}, which is too short to change the time",
                            to_text(expansion_.shown_time(time)), to_text(wanted_step_)));
}

/// A fixed step that was not given: the longest power of two within the step that the particles want at the start. One
/// that was given is compared with the softening time √(ε/|a|), which is the step wanted with η = 1/2.
template <class Real>
void Leapfrog<Real>::choose_fixed_step() {
  if (options_.adaptive) return;
  step_ = options_.step;
  const auto& epsilon = wish_.softening.epsilon;
  const bool softened = *std::min_element(epsilon.begin(), epsilon.end()) > 0;
  if (step_ > 0 && !softened) return;
  StepWish wish = wish_;
  expansion_.scale(wish, time_);
  if (step_ > 0) wish.eta = 0.5;
  const double wanted = least_step(wish);
  if (step_ > wanted)
    step_remark_ = fmt::format(
        "time.step: {} is too long for these particles: the shortest time in which one crosses the softening length is "
        "{:.3g}; set time.step to {:.2g} or less, or leave it out",
        to_text(step_), wanted, wanted * std::sqrt(2 * wish_.eta));
  if (step_ > 0) return;
  int exponent = 0;
  std::frexp(wanted, &exponent);
  wanted_step_ = step_ = std::isfinite(wanted) ? std::ldexp(1.0, exponent - 1) : options_.step_max;
  step_choice_ = fmt::format("time.step: {} was chosen from the {} and the accelerations at the start, time.eta = {}",
                             to_text(step_), softened ? "softening" : "jerks", to_text(wish_.eta));
}

/// The time at the end of the next step.
template <class Real>
double Leapfrog<Real>::next_time() const {
  if (options_.adaptive) return time_ + wanted_step_;
  return state_.start_time + static_cast<double>(state_.counts.steps + 1) * step_;
}

/// Closing kick of the step before, opening kick, drift, forces.
template <class Real>
void Leapfrog<Real>::step(double dt, double end) {
  if (queued_.empty()) batch_begin_ = Clock::now();
  clock_.begin("position");
  const auto [open, drift, close] = expansion_.step(time_, dt, end);
  loops_->kick_drift(state_.arrays(), {pending_kick_, open, drift, box_});
  clock_.end();
  queued_.push_back(end);
  const bool due = !ranks_ ? queued_.size() == 1 && keeper_.due()
                           : state_.counts.steps % steps_between_sorts == steps_between_sorts - 1;
  if (unsorted_ || (due && state_.given_places().size() > 0)) sort();
  try {
    evaluate(end);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::numerics) owners_.go_home();  // where others look at them
    throw;
  }
  pending_kick_ = close;
  time_ = end;
  ++state_.counts.steps;
  state_.counts.particle_steps += total_;
  if (options_.adaptive) {
    wait();
    choose_step(end);
  }
}

/// Waits for the queued steps and looks whether all went well.
template <class Real>
void Leapfrog<Real>::wait() {
  device_.synchronize();
  const double seconds = seconds_since(batch_begin_);
  const auto bad = loops_->take_not_finite();
  const bool at_step = bad && !queued_.empty();
  end_where_not_finite(bad ? bad->place : -1, at_step ? queued_[static_cast<std::size_t>(bad->pass)] : time_);
  if (queued_.empty()) return;
  const auto steps = static_cast<std::int64_t>(queued_.size());
  keeper_.stepped(steps, seconds);
  batch_ = std::clamp(static_cast<std::int64_t>(batch_seconds * static_cast<double>(steps) / seconds), std::int64_t{1},
                      longest_batch);
  queued_.clear();
  clock_.collect();
}

/// Steps up to `limit`. On one GPU fixed steps are queued, and looked at after a batch.
template <class Real>
bool Leapfrog<Real>::advance(double limit, const std::function<bool()>& enough) {
  const double reach = options_.adaptive ? limit : limit + same_time * step_;
  bool reached = true;
  while (reached && next_time() <= reach) {
    const double length = options_.adaptive ? wanted_step_ : step_;
    step(length, next_time());
    const std::int64_t most = state_.given_places().size() > 0 ? std::min(batch_, keeper_.steps_to_look()) : batch_;
    const bool queue_more = device_.is_cuda() && !ranks_ && static_cast<std::int64_t>(queued_.size()) < most;
    const bool pause = pause_every_ > 0 && state_.counts.steps % pause_every_ == 0;
    if (queue_more && !options_.adaptive && !pause) continue;
    wait();
    reached = !enough || !enough();
  }
  wait();
  owners_.go_home();
  return reached;
}

/// Outputs that are due at `due` are made at a step's end: here, or at the next one.
template <class Real>
double Leapfrog<Real>::measured_at(double due) const {
  const double rounding = options_.adaptive ? 0 : same_time * options_.step;
  return time_ >= due - rounding ? time_ : next_time();
}

/// A last, shorter step to `end`, then the closing kick, so that places and velocities are of one time.
template <class Real>
void Leapfrog<Real>::finish(double end) {
  advance(end, nullptr);
  const double whole = std::min(step_, end - state_.start_time);  // a step may be longer than the run, however much
  if (options_.adaptive || end - time_ > same_time * whole) step(end - time_, end);
  wait();
  loops_->kick_drift(state_.arrays(), {pending_kick_, 0, 0, box_});
  pending_kick_ = 0;
  end_where_not_finite(loops_->first_not_finite(state_.arrays()), end);
  time_ = end;
  owners_.go_home();
}

/// The closing kick of the last step is taken now rather than with the opening one of the next; each is rounded by
/// itself (physics::kick_drift_axis), so that nothing else changes.
template <class Real>
std::optional<BorrowedParticles> Leapfrog<Real>::lend() {
  if (expansion_.given()) return std::nullopt;
  wait();
  if (pending_kick_ != 0) loops_->kick_drift(state_.arrays(), {pending_kick_, 0, 0, box_});
  pending_kick_ = 0;
  device_.synchronize();
  return state_.lend(time_);
}

/// The reader may have changed the particles: they are wrapped and checked, and forces and step are found anew.
template <class Real>
void Leapfrog<Real>::take_back() {
  loops_->kick_drift(state_.arrays(), {0, 0, 0, box_});  // into the box
  end_where_not_finite(loops_->first_not_finite(state_.arrays()), time_);
  evaluate(time_);
  wait();
  end_where_not_finite(loops_->first_not_finite(state_.arrays()), time_);
  choose_step(time_);
  owners_.go_home();
}

template <class Real>
void Leapfrog<Real>::save(StateSource& to) const {
  owners_.require_home();
  state_.save(to);
  to.put_value("time", time_);
  to.put_value("pending_kick", pending_kick_);
  to.put_value("wanted_step", wanted_step_);
}

/// The particles stay in the order in which they were saved until the first step has used their accelerations.
template <class Real>
void Leapfrog<Real>::restore(StateInput& from) {
  this->restore_particles(from);
  time_ = from.get_value<double>("time");
  pending_kick_ = from.get_value<double>("pending_kick");
  wanted_step_ = from.get_value<double>("wanted_step");
  step_ = options_.step > 0 ? options_.step : wanted_step_;
  begin_order();
}

template <class Real>
std::int64_t Leapfrog<Real>::device_bytes(std::int64_t n) const {
  Arena arena;
  if (const std::int64_t work = solver_->order_bytes(n); work > 0) {
    room_for_order(*this, arena, n, work);
    arena.count<std::uint32_t>(n);  // FieldList::keep_order
  }
  return this->particle_bytes(n) + arena.bytes();
}

}  // namespace

std::unique_ptr<Integrator> make_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                          const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<Leapfrog<float>>(time, gravity, context);
  return std::make_unique<Leapfrog<double>>(time, gravity, context);
}

}  // namespace pergola

#include "time/leapfrog.hpp"

// The leapfrog with block steps, for any solver and device, on one process and on ranks. The loops over particles are
// BlockLoops (time/block_loops.hpp), the formulas are in physics/block_steps.hpp. This file decides what happens when:
// which tick comes next, what the solver prepares or only updates, and when the long range has its own step.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/state_source.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "device/stage_clock.hpp"
#include "gravity/solver.hpp"
#include "gravity/solver_entry.hpp"
#include "particles/particle_store.hpp"
#include "time/block_loops.hpp"
#include "time/block_steps.hpp"
#include "time/show_rules.hpp"
#include "time/step_driver.hpp"
#include "time/vector_buffer.hpp"
#include "tree/kept_tree.hpp"

namespace pergola {

namespace {

using physics::deepest_level;

/// If fewer than one of this many particles are active, what the solver prepared for an earlier step is updated rather
/// than made anew. The rule looks at the state only: a resumed run does the same.
constexpr std::int64_t update_below = 4;

/// Opening and closing kicks of a step from `begin` to `end`, of the levels up to `deepest`.
void set_kicks(BlockStep& step, const Expansion& expansion, double begin, double end, int deepest) {
  for (int level = 0; level <= deepest; ++level) {
    const double half = std::ldexp(step.step_max, -level - 1);
    step.open[level] = expansion.kick_over(begin, half);
    step.close[level] = expansion.kick_over(end - half, half);
  }
}

/// All steps, of the levels up to `deepest`, end `ahead` after the tick `tick`, at the time `now`.
EarlyEnd end_ahead(const Expansion& expansion, double now, std::int64_t tick, double tick_length, int deepest,
                   double ahead) {
  EarlyEnd end;
  end.starting = physics::lowest_level_at(tick);
  end.drift = expansion.drift_over(now, ahead);
  for (int level = 0; level <= deepest; ++level) {
    const double length = static_cast<double>(physics::level_ticks(level)) * tick_length;
    const double before = static_cast<double>(tick & (physics::level_ticks(level) - 1)) * tick_length;
    const double elapsed = before + ahead, begin = now - before, middle = begin + elapsed / 2;
    end.moves[level] = elapsed != 0;
    end.open[level] = expansion.kick_over(now, length / 2);
    end.excess[level] = expansion.kick_over(middle, (length - elapsed) / 2);
    end.whole[level] = expansion.drift_over(begin, elapsed);
    end.close[level] = expansion.kick_over(middle, elapsed / 2);
  }
  return end;
}

/// Adds accelerations at some places, of which `from` has all.
template <class Real>
void add_probed(const VectorField<Real>& from, const std::vector<std::int64_t>& places, ForceResult& forces) {
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Vec3<double> a = from.fetch(places[k]);
    forces.ax[k] += a.x, forces.ay[k] += a.y, forces.az[k] += a.z;
  }
}

/// What a solver has prepared for a step, and may serve the next ones too (Solver::update()). While others use the
/// solver, and while the particles are not with their owners, it is aside, in fields of the particles. No bits of the
/// steps depend on that.
template <class Real>
class PreparedWork {
 public:
  PreparedWork(Solver<Real>& solver, FieldList& particles) : solver_(solver), fields_(particles) {}

  bool is_there() const { return is_there_; }
  /// Null: the solver has it.
  const tree::KeptTree* aside() const { return fields_.is_there() ? &fields_ : nullptr; }
  /// The solver has prepared or updated: it has all.
  void begin() {
    fields_.forget();
    is_there_ = true;
  }
  void forget() {
    fields_.forget();
    is_there_ = false;
  }
  void put_aside() {
    if (is_there_ && !aside()) solver_.put_aside(fields_);
  }
  /// The next update() builds on what is aside; false: it cannot.
  bool take_up() { return is_there_ && (!aside() || solver_.take_up(fields_)); }
  void save(StateSource& to) const { fields_.save(to); }
  /// Before the particles are restored, and after that.
  void restore(StateInput& from) { fields_.restore(from); }
  void check_restored() {
    fields_.check();
    is_there_ = fields_.is_there();
  }

 private:
  Solver<Real>& solver_;
  tree::KeptTree fields_;
  bool is_there_ = false;
};

template <class Real>
std::unique_ptr<BlockLoops<Real>> make_block_loops(const Device& device) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_block_loops_cuda<Real>(device);
  }
  return make_block_loops_cpu<Real>(device);
}

/// Kick-drift-kick leapfrog with block steps. Springel 2005, section 4.
///
/// Times are ticks of step_max / 2^deepest_level. A step goes from one tick at which some particle's step ends to the
/// next such tick: (1) opening kicks of the steps that begin, (2) drift of all particles, (3) forces on the particles
/// whose step ends, (4) their closing kicks and their next levels, (5) the census of levels.
/// Before and after a step all positions are those of now_; velocities of particles within a step are half a step
/// ahead of its beginning. show() and finish() end all steps early, with the same formulas.
template <class Real>
class BlockLeapfrog final : public StepDriver<LeapfrogState<Real>> {
  using Driver = StepDriver<LeapfrogState<Real>>;

 public:
  BlockLeapfrog(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context);

  void start(ParticleSource& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return time_of(now_) + offset_; }
  double measured_at(double due) const override;
  std::unique_ptr<ShownParticles> show(double time) const override {
    owners_.require_home();
    const double ahead = time - this->time();
    return state_.show(ShowBlocks<Real>{state_.a.x.data(), state_.a.y.data(), state_.a.z.data(), long_a_.x.data(),
                                        long_a_.y.data(), long_a_.z.data(), level_.data(), early_end(ahead),
                                        expansion_.kick_over(this->time(), ahead), finished_,
                                        expansion_.shown_velocity(time), box_});
  }
  std::vector<StepClass> step_classes() const override { return block_step_classes(census_.population, tick_length_); }
  void save(StateSource& to) const override;
  void restore(StateInput& from) override;
  std::int64_t device_bytes(std::int64_t n) const override;
  AnySolver* idle_solver() override {
    work_.put_aside();
    return Driver::idle_solver();
  }
  std::unique_ptr<ShownParticles> probe_forces(const std::vector<std::int64_t>& places, ForceResult& forces) override;

 private:
  using Driver::options_, Driver::device_, Driver::ranks_, Driver::solver_, Driver::clock_, Driver::state_;
  using Driver::owners_, Driver::total_, Driver::count;
  double time_of(std::int64_t tick) const { return state_.start_time + static_cast<double>(tick) * tick_length_; }
  BlockStep step_to(std::int64_t next) const;
  EarlyEnd early_end(double ahead) const;
  BlockArrays<Real> arrays();
  template <class Self>
  static void room_for_scratch(Self& self, Arena& arena, std::int64_t n) {
    arena.room(self.active_, n);
    room(arena, self.new_a_, n), room(arena, self.new_j_, self.state_.with_jerk() ? n : 0);
  }
  void take_others();
  void come_home(bool failed = false);
  bool has_long_range() const { return long_a_.x.used(); }
  /// Whether a step of the long range begins or ends at a tick.
  bool long_range_meets(std::int64_t tick) const {
    return has_long_range() && physics::lowest_level_at(tick) <= long_level_;
  }
  int lowest_level() const { return has_long_range() ? std::min(census_.lowest(), long_level_) : census_.lowest(); }
  int deepest_level_in_use() const {
    return has_long_range() ? std::max(census_.deepest(), long_level_) : census_.deepest();
  }
  void step(std::int64_t next);
  Sources<Real> sources_at(double time);
  void settle(double time, const tree::KeptTree* kept = nullptr);
  /// Particles here whose steps end.
  std::int64_t own_active(int ending) const {
    return std::accumulate(own_census_.population + ending, own_census_.population + block_levels, std::int64_t{0});
  }
  void evaluate(std::int64_t active, int ending, double time, bool with_long_range);
  void make_ready(std::int64_t active, double time, bool with_long_range);
  void look(double time);
  void take_census(const BlockCensus& own);

  Expansion expansion_;
  StepWish wish_;
  Box box_;
  double tick_length_;
  std::unique_ptr<BlockLoops<Real>> loops_;
  mutable PreparedWork<Real> work_{*solver_, state_};
  bool at_step_ = false;  // the places are those for which work_ was prepared or updated

  ParticleField<std::int8_t> level_{state_, "level"};
  // Where the solver can tell the long range apart, it has a step of its own: that of the typical particle, for it
  // changes less. The particles' accelerations are then without it. Tuckerman, Berne & Martyna 1992, J. Chem. Phys. 97,
  // 1990; Springel 2005, section 4.2.
  VectorField<Real> long_a_{state_, "long_range"};
  VectorField<Real> probe_{state_, "probe", FieldUse::derived};  // in probe_forces() only
  int long_level_ = 0;
  std::int64_t now_ = 0;   // the tick of all positions
  double offset_ = 0;      // after finish(): how far all particles are beyond now_
  bool finished_ = false;  // velocities are at the time of the positions

  // Scratch, derived from the state.
  BlockCensus census_, own_census_;  // of all ranks, of the particles here
  Buffer<std::int64_t> active_;
  VectorBuffer<Real> new_a_, new_j_;
};

template <class Real>
BlockLeapfrog<Real>::BlockLeapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                   const IntegratorContext& context)
    : Driver(Driver::Travel::particles, time, gravity, context),
      expansion_(time.background),
      box_(box_of(gravity)),
      tick_length_(std::ldexp(time.step_max, -deepest_level)),
      loops_(make_block_loops<Real>(context.device)) {
  const double cell = solver_->resolution();
  wish_.eta = time.eta;
  wish_.softening = cell > 0 ? Softening::same(cell) : gravity.softening;
  wish_.courant_length = time.courant * cell;
  const auto& epsilon = wish_.softening.epsilon;
  state_.choose_jerk(*std::min_element(epsilon.begin(), epsilon.end()) <= 0);
  long_a_.set_used(solver_->info().long_range);
  probe_.set_used(false);
}

/// Particles go to their owners, if the solver wants that.
template <class Real>
void BlockLeapfrog<Real>::settle(double time, const tree::KeptTree* kept) {
  if (!solver_->divides()) return;
  look(time);  // faults of the step name places here
  if (Driver::settle(sources_at(time), kept)) take_others();
}

/// The factors of a step from now_ to `next`: drift and kicks for each level, as space expands meanwhile.
template <class Real>
BlockStep BlockLeapfrog<Real>::step_to(std::int64_t next) const {
  BlockStep step;
  step.now = now_, step.next = next, step.step_max = options_.step_max;
  step.wish = wish_, step.box = box_;
  const double begin = time_of(now_), end = time_of(next);
  expansion_.scale(step.wish, end);
  step.drift = expansion_.drift_over(begin, static_cast<double>(next - now_) * tick_length_);
  set_kicks(step, expansion_, begin, end, deepest_level_in_use());
  return step;
}

/// All steps end `ahead` after now.
template <class Real>
EarlyEnd BlockLeapfrog<Real>::early_end(double ahead) const {
  EarlyEnd end = end_ahead(expansion_, time_of(now_), now_, tick_length_, deepest_level_in_use(), ahead);
  end.long_level = has_long_range() ? long_level_ : -1;
  return end;
}

/// The state and the scratch as the loops see them. Valid until particles change ranks.
template <class Real>
BlockArrays<Real> BlockLeapfrog<Real>::arrays() {
  BlockArrays<Real> arrays;
  arrays.particle = state_.arrays();
  arrays.level = level_.data();
  arrays.new_ax = new_a_.x.data(), arrays.new_ay = new_a_.y.data(), arrays.new_az = new_a_.z.data();
  if (state_.with_jerk())
    arrays.new_jx = new_j_.x.data(), arrays.new_jy = new_j_.y.data(), arrays.new_jz = new_j_.z.data();
  arrays.active = active_.data();
  arrays.long_ax = long_a_.x.data(), arrays.long_ay = long_a_.y.data(), arrays.long_az = long_a_.z.data();
  return arrays;
}

/// After particles have changed ranks: scratch for them, and the census of their levels.
template <class Real>
void BlockLeapfrog<Real>::take_others() {
  Arena arena(device_);
  room_for_scratch(*this, arena, count());
  std::vector<std::int8_t> level(static_cast<std::size_t>(count()));
  level_.to_host(0, count(), level.data());
  BlockCensus census;
  for (const std::int8_t one : level) ++census.population[one];
  loops_->set_census(census), take_census(census);
}

/// Brings particles back to the ranks that were given them. `failed`: a step was interrupted, so that nothing that the
/// solver prepared is used again.
template <class Real>
void BlockLeapfrog<Real>::come_home(bool failed) {
  if (failed) work_.forget();
  if (!owners_.away()) return;
  work_.put_aside();
  owners_.go_home();
  take_others();
}

/// First forces on all particles, from them the first levels. Velocities stay at the start; the first opening kicks
/// belong to the first step.
template <class Real>
void BlockLeapfrog<Real>::start(ParticleSource& particles, double time) {
  total_ = particles.count();
  state_.start(particles, time, expansion_, ranks_.get());
  take_others();
  now_ = 0;
  offset_ = 0;
  finished_ = false;
  work_.forget();
  loops_->begin_step(arrays(), step_to(0));  // into the box
  look(time);
  evaluate(total_, 0, time, true);
  loops_->set_census({});
  loops_->choose_first_levels(arrays(), step_to(0));
  look(time);
  long_level_ = census_.typical(total_);
  come_home();
}

/// Waits for the device and looks whether all went well, on all ranks.
template <class Real>
void BlockLeapfrog<Real>::look(double time) {
  take_census(loops_->census());
  const std::int64_t fault_here = own_census_.fault;
  std::int64_t kind = fault_here % 4;
  const std::int64_t place = owners_.find_at_home(fault_here == BlockCensus::no_fault ? -1 : fault_here / 4, kind);
  state_.fail_where(
      place, kind, [](std::int64_t fault) { return step_fault_text(static_cast<StepFault>(fault)); },
      expansion_.shown_time(time), ranks_.get());
}

/// Populations of the levels over all ranks; all ranks then choose the same next tick.
template <class Real>
void BlockLeapfrog<Real>::take_census(const BlockCensus& own) {
  census_ = own_census_ = own;
  if (ranks_) ranks_->all_reduce(census_.population, block_levels, Reduction::sum);
}

/// The particles as sources at a time.
template <class Real>
Sources<Real> BlockLeapfrog<Real>::sources_at(double time) {
  Sources<Real> sources = state_.sources();
  sources.moment = time;
  sources.longest_step = options_.step_max;
  sources.place = owners_.places();
  if (!has_long_range()) return sources;
  const Real* const long_range[3] = {long_a_.x.data(), long_a_.y.data(), long_a_.z.data()};
  for (int axis = 0; axis < 3; ++axis) sources.long_range[axis] = long_range[axis];
  return sources;
}

/// The solver for the places of now. If few particles are active, what was prepared for an earlier step is updated if
/// it still serves; else all go to their owners. with_long_range: that of all particles first, where it has a step of
/// its own.
template <class Real>
void BlockLeapfrog<Real>::make_ready(std::int64_t active, double time, bool with_long_range) {
  const bool few = active < total_ / update_below;
  bool serves = few && work_.is_there();
  if (active > 0 && (!serves || work_.aside())) settle(time, serves ? work_.aside() : nullptr);
  if (serves && active > 0) serves = work_.take_up();
  if (has_long_range() && with_long_range)
    solver_->find_long_range(sources_at(time), {long_a_.x.data(), long_a_.y.data(), long_a_.z.data()});
  at_step_ = active > 0;
  if (active == 0) return;
  if (serves && !solver_->update(sources_at(time))) {
    serves = false;
    settle(time);
  }
  if (!serves) solver_->prepare(sources_at(time));
  work_.begin();
}

/// Accelerations of the active particles, whose steps end: those from the level `ending` on.
template <class Real>
void BlockLeapfrog<Real>::evaluate(std::int64_t active, int ending, double time, bool with_long_range) {
  const unsigned want = want_acceleration | (state_.with_jerk() ? unsigned{want_jerk} : 0u);
  solver_->set_clock(&clock_);
  if (solver_->info().pairwise) clock_.begin("force");
  try {
    expansion_.soften(*solver_, wish_.softening, time);
    make_ready(active, time, with_long_range);
    const bool all = active == total_;
    if (!all) loops_->list_active(arrays(), ending);
    Forces<Real> forces;
    forces.ax = new_a_.x.data(), forces.ay = new_a_.y.data(), forces.az = new_a_.z.data();
    if (state_.with_jerk()) forces.jx = new_j_.x.data(), forces.jy = new_j_.y.data(), forces.jz = new_j_.z.data();
    const std::int64_t own = own_active(ending);
    if (active > 0) solver_->evaluate({all ? nullptr : active_.data(), own, own, 0}, want, forces);
  } catch (const CoincidentParticles& collision) {
    look(time);  // a position may not be a number
    const CoincidentParticles found = this->named(collision, expansion_.shown_time(time));
    come_home(true);
    throw found;
  } catch (const ParticleFailure&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::numerics) look(time);  // knows which particle it is
    throw;
  }
  clock_.end();
  if (solver_->info().pairwise) state_.counts.interactions += active * total_;
}

/// Opening kicks, drift, forces, closing kicks; Springel 2005, eq. 26 and section 4.2.
template <class Real>
void BlockLeapfrog<Real>::step(std::int64_t next) {
  const BlockStep step = step_to(next);
  const int ending = physics::lowest_level_at(next);
  const std::int64_t active =
      std::accumulate(census_.population + ending, census_.population + block_levels, std::int64_t{0});
  const bool ends_long_range = long_range_meets(next);
  clock_.begin("position");
  if (long_range_meets(now_)) loops_->kick_by_long_range(arrays(), step.open[long_level_]);
  loops_->begin_step(arrays(), step);
  clock_.end();
  evaluate(active, ending, time_of(next), ends_long_range);
  clock_.begin("velocity");
  if (ends_long_range) loops_->kick_by_long_range(arrays(), step.close[long_level_]);
  loops_->end_step(arrays(), step, own_active(ending), active == total_);
  clock_.end();
  look(time_of(next));
  clock_.collect();
  now_ = next;
  if (ends_long_range)
    long_level_ = physics::next_level(long_level_, std::ldexp(options_.step_max, -census_.typical(total_)),
                                      options_.step_max, now_);
  ++state_.counts.steps;
  state_.counts.particle_steps += active;
}

/// Steps up to `limit`, as long as `enough` lets it. Particles are with their owners when it returns.
template <class Real>
bool BlockLeapfrog<Real>::advance(double limit, const std::function<bool()>& enough) {
  bool reached = true;
  while (reached && total_ > 0 && !finished_) {
    const std::int64_t next = physics::next_tick(now_, deepest_level_in_use());
    if (time_of(next) > limit) break;
    if (next >= physics::last_tick) {
      come_home();
      throw too_many_ticks(limit);
    }
    step(next);
    reached = !enough || !enough();
  }
  come_home();
  return reached;
}

/// The steps of all particles end together at the multiples of the longest one. Until the next of these no particle can
/// take a longer one.
template <class Real>
double BlockLeapfrog<Real>::measured_at(double due) const {
  const bool together = physics::lowest_level_at(now_) <= lowest_level();
  if (finished_ || (together && time_of(now_) >= due)) return time();
  return time_of(physics::next_tick(now_, lowest_level()));
}

/// The last step of a run: all particles end at `end` together, also in the middle of their steps.
template <class Real>
void BlockLeapfrog<Real>::finish(double end) {
  advance(end, nullptr);
  const double ahead = (end - state_.start_time) - static_cast<double>(now_) * tick_length_;
  const bool together = physics::lowest_level_at(now_) <= lowest_level();
  if (total_ > 0 && !finished_ && (ahead > 0 || !together)) {
    const EarlyEnd early = early_end(ahead);
    loops_->end_all_early(arrays(), early, box_);
    evaluate(total_, 0, end, true);
    loops_->close_all_early(arrays(), early);
    look(end);
    clock_.collect();
    ++state_.counts.steps;
    state_.counts.particle_steps += total_;
  }
  offset_ = ahead;
  finished_ = true;
  come_home();
}

/// Forces at some places from what the solver prepared for the last step, if it can answer again; else null. Owners
/// answer for all of theirs, and the answers come home with the particles.
template <class Real>
std::unique_ptr<ShownParticles> BlockLeapfrog<Real>::probe_forces(const std::vector<std::int64_t>& places,
                                                                  ForceResult& forces) {
  if (!solver_->info().updates || !work_.is_there() || !at_step_) return nullptr;
  expansion_.soften(*solver_, wish_.softening, time());
  solver_->set_clock(nullptr);
  if (work_.aside()) {
    settle(time(), work_.aside());
    if (!work_.take_up() || !solver_->update(sources_at(time()))) return nullptr;
    work_.begin();
  }
  for (std::vector<double>* const axis : {&forces.ax, &forces.ay, &forces.az}) axis->assign(places.size(), 0);
  probe_.use(state_, true);
  const auto into = [&] {
    Forces<Real> to;
    to.ax = probe_.x.data(), to.ay = probe_.y.data(), to.az = probe_.z.data();
    return to;
  };
  if (solver_->divides()) {
    solver_->evaluate({nullptr, count(), count(), 0}, want_acceleration, into());
    come_home();
    add_probed(probe_, places, forces);
  } else {
    const Buffer<std::int64_t> index(device_, places);
    solver_->evaluate({index.data(), index.size(), index.size(), 0}, want_acceleration, into());
    std::vector<std::int64_t> in_turn(places.size());
    std::iota(in_turn.begin(), in_turn.end(), 0);
    add_probed(probe_, in_turn, forces);
  }
  if (has_long_range()) {  // that of now, whose accelerations the steps need not have
    solver_->find_long_range(sources_at(time()), {probe_.x.data(), probe_.y.data(), probe_.z.data()});
    add_probed(probe_, places, forces);
  }
  probe_.use(state_, false);
  return state_.show(ShowAsIs{});
}

template <class Real>
void BlockLeapfrog<Real>::save(StateSource& to) const {
  owners_.require_home();
  work_.put_aside();
  state_.save(to);
  to.put_value("now", now_);
  to.put_value("offset", offset_);
  to.put_value("finished", static_cast<std::uint8_t>(finished_));
  if (has_long_range()) to.put_value("long_level", static_cast<std::int64_t>(long_level_));
  work_.save(to);
}

/// The census and scratch are not in a checkpoint; they follow from the levels.
template <class Real>
void BlockLeapfrog<Real>::restore(StateInput& from) {
  work_.restore(from);
  this->restore_particles(from);
  on_all(ranks_ ? *ranks_ : *serial_communicator(), [&] { work_.check_restored(); });
  at_step_ = false;
  if (has_long_range()) {
    const auto level = from.get_value<std::int64_t>("long_level");
    if (level < 0 || level > deepest_level)
      throw Error(ErrorKind::input,
                  fmt::format("checkpoint: block long_level is {}, expected 0 to {}", level, deepest_level));
    long_level_ = static_cast<int>(level);
  }
  now_ = from.get_value<std::int64_t>("now");
  offset_ = from.get_value<double>("offset");
  finished_ = from.get_value<std::uint8_t>("finished") != 0;
  take_others();
}

/// An estimate for n particles on this device.
template <class Real>
std::int64_t BlockLeapfrog<Real>::device_bytes(std::int64_t n) const {
  Arena arena;
  room_for_scratch(*this, arena, n);
  return this->particle_bytes(n) + arena.bytes();
}

}  // namespace

std::unique_ptr<Integrator> make_block_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                                const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<BlockLeapfrog<float>>(time, gravity, context);
  return std::make_unique<BlockLeapfrog<double>>(time, gravity, context);
}

}  // namespace pergola

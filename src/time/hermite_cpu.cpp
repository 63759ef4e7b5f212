// Hermite with block steps on the CPU: predict all particles to the next tick, sum forces on those whose step ends
// there, correct them, choose their next levels. Makino & Aarseth 1992; formulas in physics/hermite.hpp.
// With particles distributed over ranks, each rank corrects its own; a minimum and a sum over ranks per step agree on
// the next tick and on the census of levels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "device/parallel.hpp"
#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/block_steps.hpp"
#include "time/hermite.hpp"

namespace pergola {

namespace {

using physics::level_ticks;

constexpr std::int64_t schedule_chunk = 512;  // particles that share one entry of the schedule
constexpr std::int64_t correct_chunk = 512;   // active particles corrected by one thread at a time

/// A particle at the start of its step, kept while its corrector is iterated.
struct KeptStart {
  HermiteStart start;
  std::int64_t tick;
  std::int64_t place;
};

/// Where a block of particles goes.
struct Block {
  std::int64_t now = 0;
  double offset = 0;        // beyond `now`: the last step of a run, where all particles are active
  bool choose_next = true;  // false: no step comes after this one
};

using Fault = StepFault;

/// Hermite on the CPU. The earliest end of a step is kept for every chunk of particles, so that only chunks with active
/// particles are looked at. Active particles are worked on in the order of their places: the same bits on any number of
/// threads and ranks.
template <class Real>
class HermiteCpu final : public HermiteIntegrator<Real> {
 public:
  using HermiteIntegrator<Real>::HermiteIntegrator;

  void start(ParticleSource& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  void restore(StateInput& from) override;
  std::int64_t device_bytes(std::int64_t n) const override;
  std::vector<StepClass> step_classes() const override {
    return ranks_ ? block_step_classes(census_, state_.tick_length) : state_.step_classes();
  }

 private:
  using Driver = StepDriver<HermiteState<Real>>;
  using Driver::count;
  using Driver::options_, Driver::device_, Driver::ranks_, Driver::solver_, Driver::state_, Driver::total_;
  using HermiteIntegrator<Real>::gravity_, HermiteIntegrator<Real>::profile_;
  using HermiteIntegrator<Real>::most_evaluations_, HermiteIntegrator<Real>::everywhere_;
  template <class Self>
  static void room_for_scratch(Self& self, Arena& arena, std::int64_t n) {
    arena.room(self.active_, n);
    room(arena, self.new_a_, n), room(arena, self.new_j_, n);
  }
  void allocate_scratch();
  void prepare(std::int64_t now, double offset, bool predict);
  void evaluate(std::int64_t n, const std::int64_t* index, double time, Real* potential = nullptr);
  void step(const Block& block);
  void correct_all(const Block& block, int evaluation);
  Fault correct(std::int64_t t, const Block& block, int evaluation, std::vector<KeptStart>& repeated);
  void reschedule(std::int64_t chunk);
  void reschedule_all();
  std::int64_t next_tick() const;
  void collect_active(std::int64_t now);
  void count_levels(std::int64_t n, const std::int64_t* places, std::int64_t sign);
  void sum_news(std::int64_t& active, std::int64_t& repeated);

  // Scratch, derived from the state.
  std::vector<std::int64_t> chunk_next_;  // the earliest end of a step within each chunk of particles
  std::int64_t active_count_ = 0;
  Buffer<std::int64_t> active_;
  VectorBuffer<Real> new_a_, new_j_;
  std::vector<KeptStart> starts_;       // of the active particles whose corrector is iterated
  std::vector<std::int64_t> repeated_;  // their places

  // If particles are distributed: the census of all ranks by level, and how this rank's has changed since, followed by
  // the numbers of its active particles and of those to be evaluated again.
  static constexpr int levels = physics::deepest_level + 1;
  std::int64_t census_[levels] = {}, news_[levels + 2] = {};
};

template <class Real>
void HermiteCpu<Real>::start(ParticleSource& particles, double time) {
  this->start_particles(particles, time);
  allocate_scratch();
  Buffer<Real> potential(device_, count());
  prepare(0, 0, false);
  evaluate(count(), nullptr, time, potential.data());
  if (!gravity_.user_forces.empty()) {  // they may depend on velocities, and their jerks on accelerations
    for (std::int64_t i = 0; i < count(); ++i) state_.a.set(i, new_a_.at(i)), state_.j.set(i, new_j_.at(i));
    prepare(0, 0, true);
    evaluate(count(), nullptr, time, potential.data());
  }
  state_.counts.interactions += total_ * total_;
  state_.set_first_forces(new_a_, new_j_, potential, options_, gravity_, ranks_.get());
  reschedule_all();
}

/// Memory that follows from the number of particles; the schedule itself is filled by reschedule_all().
template <class Real>
void HermiteCpu<Real>::allocate_scratch() {
  const std::int64_t n = count();
  chunk_next_.resize(static_cast<std::size_t>((n + schedule_chunk - 1) / schedule_chunk));
  Arena arena(device_);
  room_for_scratch(*this, arena, n);
}

/// Packs the sources. predict: to tick `now` plus `offset`; else they are taken where they are.
template <class Real>
void HermiteCpu<Real>::prepare(std::int64_t now, double offset, bool predict) {
  Profile::Scope scope(profile_, "predict");
  solver_->prepare(predict ? state_.sources_at(now, offset) : state_.sources());
}

/// Forces into new_a_ and new_j_, entry t for the t-th listed particle; without a list for all.
template <class Real>
void HermiteCpu<Real>::evaluate(std::int64_t n, const std::int64_t* index, double time, Real* potential) {
  Profile::Scope scope(profile_, "force");
  Forces<Real> forces;
  forces.ax = new_a_.x.data(), forces.ay = new_a_.y.data(), forces.az = new_a_.z.data();
  forces.jx = new_j_.x.data(), forces.jy = new_j_.y.data(), forces.jz = new_j_.z.data();
  forces.potential = potential;
  const unsigned want = want_acceleration | want_jerk | (potential ? unsigned{want_potential} : 0u);
  this->evaluate_at(*solver_, index, n, want, forces, time);
}

/// Block steps until the next one would end beyond `limit`.
template <class Real>
bool HermiteCpu<Real>::advance(double limit, const std::function<bool()>& enough) {
  while (total_ > 0) {
    const std::int64_t next = next_tick();
    if (state_.time_of(next) > limit) return true;
    if (next >= physics::last_tick) throw too_many_ticks(limit);
    collect_active(next);
    step({.now = next});
    state_.now = next;
    if (enough && enough()) return false;
  }
  return true;
}

/// The earliest end of a step, on any rank.
template <class Real>
std::int64_t HermiteCpu<Real>::next_tick() const {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t of_chunk : chunk_next_) next = std::min(next, of_chunk);
  if (ranks_) ranks_->all_reduce(&next, 1, Reduction::minimum);
  return next;
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
      if (state_.tick.data()[i] + level_ticks(state_.level.data()[i]) == now) active_.data()[active_count_++] = i;
  }
}

/// The earliest end of a step in one chunk, after its particles have changed ticks or levels.
template <class Real>
void HermiteCpu<Real>::reschedule(std::int64_t chunk) {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = chunk * schedule_chunk;
  for (std::int64_t i = begin; i < std::min(begin + schedule_chunk, count()); ++i)
    next = std::min(next, state_.tick.data()[i] + level_ticks(state_.level.data()[i]));
  chunk_next_[static_cast<std::size_t>(chunk)] = next;
}

/// And counts the particles of all ranks by level.
template <class Real>
void HermiteCpu<Real>::reschedule_all() {
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(chunk_next_.size()); ++c) reschedule(c);
  if (!ranks_) return;
  std::fill_n(census_, levels, 0);
  for (std::int64_t i = 0; i < count(); ++i) ++census_[state_.level.data()[i]];
  ranks_->all_reduce(census_, levels, Reduction::sum);
}

/// Called before a change of levels with -1 and after it with 1: the difference is the change.
template <class Real>
void HermiteCpu<Real>::count_levels(std::int64_t n, const std::int64_t* places, std::int64_t sign) {
  for (std::int64_t t = 0; ranks_ && t < n; ++t) news_[state_.level.data()[places[t]]] += sign;
}

/// Updates the census on all ranks, and makes the two numbers, of this rank, those of all.
template <class Real>
void HermiteCpu<Real>::sum_news(std::int64_t& active, std::int64_t& repeated) {
  if (!ranks_) return;
  news_[levels] = active, news_[levels + 1] = repeated;
  ranks_->all_reduce(news_, levels + 2, Reduction::sum);
  for (int level = 0; level < levels; ++level) census_[level] += std::exchange(news_[level], 0);
  active = news_[levels], repeated = news_[levels + 1];
}

/// Predict, evaluate, correct the active particles; then those again whose corrector is iterated.
template <class Real>
void HermiteCpu<Real>::step(const Block& block) {
  const double end = state_.time_of(block.now) + block.offset;
  std::int64_t n = active_count_, repeated_of_all = 0;
  const std::int64_t* places = active_.data();
  for (int evaluation = 1; evaluation == 1 || repeated_of_all > 0; ++evaluation) {
    count_levels(n, places, -1);
    prepare(block.now, evaluation == 1 ? block.offset : 0.0, true);
    evaluate(n, places, end);
    correct_all(block, evaluation);
    count_levels(n, places, 1);
    std::int64_t evaluated = n;
    repeated_of_all = n = evaluation < most_evaluations_ ? std::ssize(repeated_) : 0;
    sum_news(evaluated, repeated_of_all);
    places = repeated_.data();
    state_.counts.interactions += evaluated * total_;
    if (evaluation == 1) state_.counts.particle_steps += evaluated;
  }
  ++state_.counts.steps;
  std::int64_t done = -1;
  for (std::int64_t t = 0; t < active_count_; ++t) {
    const std::int64_t chunk = active_.data()[t] / schedule_chunk;
    if (chunk != done) reschedule(done = chunk);
  }
}

/// Corrects the particles that were evaluated: the active ones, later the repeated ones. Throws the first fault.
template <class Real>
void HermiteCpu<Real>::correct_all(const Block& block, int evaluation) {
  Profile::Scope scope(profile_, "correct");
  const std::int64_t n = evaluation == 1 ? active_count_ : std::ssize(repeated_);
  const std::int64_t* places = evaluation == 1 ? active_.data() : repeated_.data();
  const auto chunks = static_cast<std::size_t>((n + correct_chunk - 1) / correct_chunk);
  std::vector<Fault> fault(chunks);
  std::vector<std::int64_t> culprit(chunks);
  std::vector<std::vector<KeptStart>> repeated(chunks);
  parallel_chunks(device_.threads(), n, correct_chunk, [&](std::int64_t from, std::int64_t to) {
    const auto c = static_cast<std::size_t>(from / correct_chunk);
    for (std::int64_t t = from; t < to && fault[c] == Fault::none; ++t) {
      fault[c] = correct(t, block, evaluation, repeated[c]);
      culprit[c] = places[t];
    }
  });
  const auto first_fault = std::find_if(fault.begin(), fault.end(), [](Fault one) { return one != Fault::none; });
  const bool well = first_fault == fault.end();
  state_.fail_where(well ? -1 : culprit[static_cast<std::size_t>(first_fault - fault.begin())],
                    well ? Fault::none : *first_fault, state_.time_of(block.now) + block.offset, ranks_.get());
  if (evaluation > 1) return;  // the same again, until the last
  starts_.clear(), repeated_.clear();
  for (const auto& of_chunk : repeated)
    for (const KeptStart& one : of_chunk) starts_.push_back(one), repeated_.push_back(one.place);
}

/// Corrects the t-th of the particles that were evaluated. With the first evaluation it adds those that need another
/// one to `repeated`; with the last one the next level is chosen.
template <class Real>
Fault HermiteCpu<Real>::correct(std::int64_t t, const Block& block, int evaluation, std::vector<KeptStart>& repeated) {
  const std::int64_t i = evaluation == 1 ? active_.data()[t] : repeated_[static_cast<std::size_t>(t)];
  const KeptStart kept =
      evaluation == 1
          ? KeptStart{{state_.x.at(i), state_.v.at(i), state_.a.at(i), state_.j.at(i)}, state_.tick.data()[i], i}
          : starts_[static_cast<std::size_t>(t)];
  const double dt = static_cast<double>(block.now - kept.tick) * state_.tick_length + block.offset;
  const auto a = new_a_.at(t), j = new_j_.at(t);
  Vec3<double> x, v;
  int level = state_.level.data()[i];
  bool again = false;
  const HermiteStep step{block.now,  options_.eta,      options_.step_max, block.choose_next,
                         evaluation, most_evaluations_, everywhere_};
  const Fault fault = hermite_end_step(step, dt, kept.start, a, j, x, v, level, again);
  if (fault != Fault::none) return fault;
  if (again && evaluation == 1) repeated.push_back(kept);
  state_.level.data()[i] = static_cast<std::int8_t>(level);
  state_.x.set(i, x), state_.v.set(i, v), state_.a.set(i, a), state_.j.set(i, j);
  state_.tick.data()[i] = block.now;
  return Fault::none;
}

/// One more step of all particles that are not at `end` yet; no step follows it.
template <class Real>
void HermiteCpu<Real>::finish(double end) {
  advance(end, nullptr);
  const double offset = (end - state_.start_time) - static_cast<double>(state_.now) * state_.tick_length;
  active_count_ = 0;
  for (std::int64_t i = 0; i < count(); ++i)
    if (offset > 0 || state_.tick.data()[i] < state_.now) active_.data()[active_count_++] = i;
  std::int64_t active_of_all = active_count_;
  if (ranks_) ranks_->all_reduce(&active_of_all, 1, Reduction::sum);
  if (active_of_all == 0) return;
  step({state_.now, offset, false});
  state_.offset = offset;
}

template <class Real>
void HermiteCpu<Real>::restore(StateInput& from) {
  this->restore_particles(from);
  allocate_scratch();
  reschedule_all();
}

template <class Real>
std::int64_t HermiteCpu<Real>::device_bytes(std::int64_t n) const {
  Arena arena;
  room_for_scratch(*this, arena, n);
  if (everywhere_) {  // else few
    arena.count<KeptStart>(n);
    arena.count<std::int64_t>(n);
  }
  arena.count<Real>(n);  // potentials, at the start
  return this->particle_bytes(n) + arena.bytes();
}

}  // namespace

std::unique_ptr<Integrator> make_hermite_cpu(const TimeOptions& time, const SolverOptions& gravity,
                                             const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<HermiteCpu<float>>(time, gravity, context);
  return std::make_unique<HermiteCpu<double>>(time, gravity, context);
}

}  // namespace pergola

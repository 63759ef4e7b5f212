// Hermite on a GPU. Two ways to take a step. On one GPU, kernels of many steps are recorded once and replayed: the host
// writes the schedule, launches the batch, and reads the schedule back. On several ranks, the host computes the next
// tick from the census of all, and calls the distributed direct sum between the two kernels of the step.
// The kernels are in time/hermite_kernels.cuh.
#include <algorithm>
#include <cmath>

#include "device/streams.cuh"
#include "gravity/direct_solver.cuh"
#include "gravity/direct_spread_cuda.cuh"
#include "gravity/wrapped_solver.hpp"
#include "time/block_steps.hpp"
#include "time/hermite.hpp"
#include "time/hermite_kernels.cuh"

namespace pergola {

namespace {

using namespace cuda;
using namespace cuda::hermite;

/// Hermite with the whole state and the choice of the next block on the GPU. On one GPU a step is a recorded graph
/// (device/graph.cuh): the device finds the next tick, the active particles and their new levels, and the host looks at
/// its Schedule after a batch of steps. On several ranks the host takes part in each step.
template <Precision P>
class HermiteCuda final : public HermiteIntegrator<typename SourcePack<P>::Sum> {
 public:
  using Real = typename SourcePack<P>::Sum;  // float for single, double for mixed and full

  HermiteCuda(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : HermiteIntegrator<Real>(time, gravity, context), laws_(external_laws<Real>(gravity, device_)) {
    AnySolver& plain = solver_->plain();
    if (auto* const of_ranks = dynamic_cast<DistributedDirectCuda<P>*>(&plain))
      spread_ = of_ranks, sums_ = &of_ranks->sums(), pairs_ = of_ranks;
    else if (auto* const whole = dynamic_cast<DirectCuda<P>*>(&plain))
      sums_ = &whole->sums(), pairs_ = whole;
    else
      throw Error(ErrorKind::input,
                  "time.integrator: expected gravity.solver = \"direct\" for hermite on a GPU, found " +
                      gravity.solver + "; use run.device = \"cpu\"");
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_.ordinal()),
          "multiprocessor count");
    correct_blocks_ = static_cast<unsigned>(4 * multiprocessors);
  }

  void start(ParticleSource& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  void restore(StateInput& from) override;
  std::int64_t device_bytes(std::int64_t n) const override;
  AnySolver* idle_solver() override { return ranks_ ? solver_.get() : nullptr; }
  std::vector<StepClass> step_classes() const override;

 private:
  using Driver = StepDriver<HermiteState<Real>>;
  using Driver::options_, Driver::device_, Driver::ranks_, Driver::solver_, Driver::state_, Driver::total_;
  using HermiteIntegrator<Real>::gravity_, HermiteIntegrator<Real>::profile_;
  using HermiteIntegrator<Real>::most_evaluations_, HermiteIntegrator<Real>::everywhere_;
  template <class Self>
  static void room_for_forces(Self& self, Arena& arena, std::int64_t n) {
    room(arena, self.new_a_, n), room(arena, self.new_j_, n);
  }
  template <class Self>
  static void room_for_blocks(Self& self, Arena& arena, std::int64_t n, std::int64_t chunks) {
    arena.room(self.active_, n), arena.room(self.chunk_count_, chunks);
  }
  void allocate_scratch();
  StepArrays<Real> arrays();
  Correction<P> correction();
  Forces<Real> forces();
  void launch_begin();
  void launch_end(const Correction<P>& correction);
  void launch_piece(const Correction<P>& correction);
  void record_batch();
  bool run_batch();
  bool step_with_ranks();
  void read_schedule();
  std::int64_t agree_on_step(std::int64_t evaluated, int evaluation, double end);
  [[noreturn]] void report_fault();
  std::int64_t tick_at(double time) const;

  Solver<Real>* pairs_ = nullptr;               // it without external potentials, which the kernels of a step add
  DirectSums<P>* sums_ = nullptr;               // of the solver
  DistributedDirectCuda<P>* spread_ = nullptr;  // the solver of ranks
  Buffer<physics::ExternalLaw<Real>> laws_;     // of external potentials
  unsigned correct_blocks_ = 0;

  // Scratch, derived from the state.
  VectorBuffer<Real> new_a_, new_j_;
  Buffer<std::int64_t> active_;
  Buffer<std::uint64_t> chunk_count_;
  Buffer<Schedule> device_schedule_;
  Schedule schedule_;                                    // on ranks with the population of all, and
  std::int64_t own_population_[deepest_level + 1] = {};  // that of the particles here
  std::int64_t chunk_ = predict_threads;
  Graph batch_;
};

/// Scratch for the particles here, and the census. A recorded batch has old addresses in it, so that it is dropped.
template <Precision P>
void HermiteCuda<P>::allocate_scratch() {
  const std::int64_t n = state_.count();
  const std::int64_t tiles = (n + predict_threads - 1) / predict_threads;
  chunk_ = predict_threads * std::max<std::int64_t>(1, (tiles + most_chunks - 1) / most_chunks);
  Arena arena(device_);
  room_for_forces(*this, arena, n);
  room_for_blocks(*this, arena, n, (n + chunk_ - 1) / chunk_);
  chunk_count_.zero();
  if (spread_)
    spread_->reserve(n);
  else
    sums_->reserve(n);
  batch_.reset();

  schedule_ = {};
  schedule_.now = state_.now;
  std::vector<std::int8_t> levels(static_cast<std::size_t>(n));
  state_.level.to_host(0, n, levels.data());
  std::fill(std::begin(own_population_), std::end(own_population_), 0);
  for (const std::int8_t level : levels) ++own_population_[level];
  std::int64_t population[deepest_level + 1];
  std::copy(std::begin(own_population_), std::end(own_population_), population);
  if (ranks_) ranks_->all_reduce(population, deepest_level + 1, Reduction::sum);
  std::copy(std::begin(population), std::end(population), schedule_.population);
  device_schedule_ = Buffer<Schedule>(device_, 1);
}

/// Addresses for the kernels.
template <Precision P>
StepArrays<typename HermiteCuda<P>::Real> HermiteCuda<P>::arrays() {
  StepArrays<Real> s{};
  s.sources = state_.sources_at(0, 0);
  s.x = state_.x.x.data(), s.y = state_.x.y.data(), s.z = state_.x.z.data();
  s.vx = state_.v.x.data(), s.vy = state_.v.y.data(), s.vz = state_.v.z.data();
  s.ax = state_.a.x.data(), s.ay = state_.a.y.data(), s.az = state_.a.z.data();
  s.jx = state_.j.x.data(), s.jy = state_.j.y.data(), s.jz = state_.j.z.data();
  s.tick = state_.tick.data();
  s.level = state_.level.data();
  s.active = active_.data();
  s.chunk_count = chunk_count_.data();
  s.schedule = device_schedule_.data();
  s.chunk = chunk_;
  return s;
}

template <Precision P>
Forces<typename HermiteCuda<P>::Real> HermiteCuda<P>::forces() {
  Forces<Real> f;
  f.ax = new_a_.x.data(), f.ay = new_a_.y.data(), f.az = new_a_.z.data();
  f.jx = new_j_.x.data(), f.jy = new_j_.y.data(), f.jz = new_j_.z.data();
  return f;
}

/// A step on the grid of block times, its count on the device.
template <Precision P>
Correction<P> HermiteCuda<P>::correction() {
  Correction<P> c;
  c.task = sums_->task(step_kind);
  c.task.device_total = &device_schedule_.data()->active_count;
  c.task.index = active_.data();
  const auto f = forces();
  Real* out[6] = {f.ax, f.ay, f.az, f.jx, f.jy, f.jz};
  std::copy(out, out + 6, c.task.out);
  c.grid = sums_->grid(step_kind);
  c.step = {0, options_.eta, options_.step_max, true, 1, most_evaluations_, everywhere_};
  c.laws = laws_.data(), c.law_count = laws_.size();
  return c;
}

template <Precision P>
void HermiteCuda<P>::start(ParticleSource& particles, double time) {
  Profile::Scope scope(profile_, "start");
  device_.make_current();
  this->start_particles(particles, time);
  Arena arena(device_);
  room_for_forces(*this, arena, state_.count());
  Buffer<Real> potential(device_, state_.count());
  solver_->prepare(state_.sources());
  auto into = forces();
  into.potential = potential.data();
  this->evaluate_at(*solver_, nullptr, state_.count(), want_acceleration | want_jerk | want_potential, into, time);
  state_.counts.interactions += total_ * total_;
  state_.set_first_forces(new_a_, new_j_, potential, options_, gravity_, ranks_.get());
  allocate_scratch();
}

template <Precision P>
void HermiteCuda<P>::restore(StateInput& from) {
  this->restore_particles(from);
  allocate_scratch();
}

/// The last tick whose time is not beyond `time`.
template <Precision P>
std::int64_t HermiteCuda<P>::tick_at(double time) const {
  const double ticks = std::floor((time - state_.start_time) / state_.tick_length);
  if (ticks >= static_cast<double>(physics::last_tick)) throw too_many_ticks(time);
  auto tick = static_cast<std::int64_t>(ticks);
  while (state_.time_of(tick + 1) <= time) ++tick;
  while (state_.time_of(tick) > time) --tick;
  return tick;
}

/// Finds the next tick and the active particles, and predicts all into the packed sources. A chunk per block.
template <Precision P>
void HermiteCuda<P>::launch_begin() {
  begin_step<P, Real><<<static_cast<unsigned>(chunk_count_.size()), predict_threads, 0, handle(device_.stream())>>>(
      arrays(), sums_->pack(), sums_->gravitational_constant(), sums_->softening());
  check(cudaGetLastError(), "begin step");
}

/// Corrects the active particles and chooses their levels.
template <Precision P>
void HermiteCuda<P>::launch_end(const Correction<P>& c) {
  const auto kernel = c.law_count > 0 ? end_step<P, true, Real> : end_step<P, false, Real>;
  kernel<<<correct_blocks_, correct_threads, 0, handle(device_.stream())>>>(
      arrays(), c, sums_->pack(), sums_->gravitational_constant(), sums_->softening());
  check(cudaGetLastError(), "end step");
}

/// A step, or one more evaluation of those of its particles whose corrector is iterated, as the schedule says.
template <Precision P>
void HermiteCuda<P>::launch_piece(const Correction<P>& c) {
  launch_begin();
  sums_->launch_sums(c.task, step_kind);
  launch_end(c);
}

/// Records as many block steps as take a fraction of a second at most. A step beyond the limit does nothing.
template <Precision P>
void HermiteCuda<P>::record_batch() {
  const std::int64_t steps =
      std::clamp<std::int64_t>((std::int64_t{1} << 21) / std::max<std::int64_t>(state_.count(), 1), 1, 64);
  const std::int64_t pieces = everywhere_ ? steps * most_evaluations_ : steps;
  const Correction<P> c = correction();
  batch_.record(handle(device_.stream()), [&] {
    for (std::int64_t k = 0; k < pieces; ++k) launch_piece(c);
  });
}

/// Returns whether there was a step to take, as the next one does. A step that the batch has left unfinished is
/// finished.
template <Precision P>
bool HermiteCuda<P>::run_batch() {
  device_schedule_.from_host(&schedule_);
  if (!batch_.recorded()) record_batch();
  batch_.launch(handle(device_.stream()));
  read_schedule();
  while (schedule_.repeated > 0) {
    device_schedule_.from_host(&schedule_);
    launch_piece(correction());
    read_schedule();
  }
  return schedule_.active_count > 0;
}

/// One step of particles that are spread over ranks. All know its end, by the levels of all particles; the host takes
/// part, for ranks find the forces together.
template <Precision P>
bool HermiteCuda<P>::step_with_ranks() {
  int deepest = deepest_level;
  while (deepest > 0 && schedule_.population[deepest] == 0) --deepest;
  schedule_.next = physics::next_tick(schedule_.now, deepest);
  if (schedule_.next > schedule_.limit) return false;
  std::int64_t n = 0;
  for (int level = physics::lowest_level_at(schedule_.next); level <= deepest; ++level) n += own_population_[level];
  const double end = state_.time_of(schedule_.next);
  Correction<P> c = correction();
  c.collected = true;
  for (int evaluation = 1; evaluation == 1 || schedule_.repeated > 0; ++evaluation) {
    device_schedule_.from_host(&schedule_);
    if (state_.count() > 0) launch_begin();
    this->evaluate_at(*pairs_, active_.data(), n, want_acceleration | want_jerk, forces(), end);
    launch_end(c);
    n = agree_on_step(n, evaluation, end);
  }
  state_.now = schedule_.now = schedule_.next;
  return true;
}

/// After an evaluation of the forces on `evaluated` particles here: ranks learn of faults, of new levels and whether
/// any of them has particles whose corrector is iterated. Returns how many this rank has.
template <Precision P>
std::int64_t HermiteCuda<P>::agree_on_step(std::int64_t evaluated, int evaluation, double end) {
  Schedule done;
  device_schedule_.to_host(&done);
  const bool faulty = done.fault != INT64_MAX;
  state_.fail_where(faulty ? done.fault / 4 : -1, faulty ? static_cast<StepFault>(done.fault % 4) : StepFault::none,
                    end, ranks_.get());
  const std::int64_t repeated = evaluation == most_evaluations_ ? 0 : evaluation > 1 ? evaluated : done.repeated;
  std::int64_t news[deepest_level + 3];  // by level; how many were evaluated; how many will be again
  for (int level = 0; level <= deepest_level; ++level) {
    news[level] = done.population[level] - schedule_.population[level];
    own_population_[level] += news[level];
  }
  news[deepest_level + 1] = evaluated;
  news[deepest_level + 2] = repeated;
  ranks_->all_reduce(news, deepest_level + 3, Reduction::sum);
  for (int level = 0; level <= deepest_level; ++level) schedule_.population[level] += static_cast<int>(news[level]);
  ++schedule_.epoch;
  schedule_.evaluation = evaluation;
  schedule_.repeated = news[deepest_level + 2];
  state_.counts.interactions += news[deepest_level + 1] * total_;
  if (evaluation > 1) return repeated;
  ++state_.counts.steps;
  state_.counts.particle_steps += news[deepest_level + 1];
  return repeated;
}

template <Precision P>
std::vector<StepClass> HermiteCuda<P>::step_classes() const {
  if (!ranks_) return state_.step_classes();
  std::int64_t population[deepest_level + 1];
  std::copy(std::begin(schedule_.population), std::end(schedule_.population), population);
  return block_step_classes(population, state_.tick_length);
}

/// Brings the clock to the host: one small transfer per batch of steps.
template <Precision P>
void HermiteCuda<P>::read_schedule() {
  device_schedule_.to_host(&schedule_);
  if (schedule_.fault != INT64_MAX) report_fault();
  state_.now = schedule_.now;
  state_.counts.steps += schedule_.steps;
  state_.counts.particle_steps += schedule_.particle_steps;
  state_.counts.interactions += schedule_.evaluations * state_.count();
  schedule_.steps = schedule_.particle_steps = schedule_.evaluations = 0;
}

/// Throws the error of the batch's first fault, with the particle as it was before the failed step.
template <Precision P>
void HermiteCuda<P>::report_fault() {
  const std::int64_t place = schedule_.fault / 4;
  const auto fault = static_cast<StepFault>(schedule_.fault % 4);
  const double end = state_.time_of(schedule_.next);
  if (fault == StepFault::force_not_finite && sums_->may_diverge()) {
    const Buffer<std::int64_t> index(device_, std::vector<std::int64_t>{place});
    try {
      // The sources are still those of the failed step: the solver finds the partner, if there is one.
      pairs_->evaluate({index.data(), 1, 1, 0}, want_acceleration | want_jerk, forces());
    } catch (const CoincidentParticles& collision) {
      throw with_ids(collision, state_.id_at(collision.first()), state_.id_at(collision.second()), end);
    }
  }
  state_.fail(place, fault, end);
}

/// A batch may pass beyond a request of `enough` by some steps, but never beyond `limit`.
template <Precision P>
bool HermiteCuda<P>::advance(double limit, const std::function<bool()>& enough) {
  if (total_ == 0) return true;
  Profile::Scope scope(profile_, "block steps");
  device_.make_current();
  schedule_.limit = tick_at(limit);
  while (ranks_ ? step_with_ranks() : run_batch())
    if (enough && enough()) return false;
  return true;
}

/// The last step, off the grid of ticks: the host lists the particles that are not at `end` yet.
template <Precision P>
void HermiteCuda<P>::finish(double end) {
  advance(end, nullptr);
  Profile::Scope scope(profile_, "last step");
  const double offset = (end - state_.start_time) - static_cast<double>(state_.now) * state_.tick_length;
  std::vector<std::int64_t> active;
  std::vector<std::int64_t> ticks(static_cast<std::size_t>(state_.count()));
  state_.tick.to_host(0, state_.count(), ticks.data());
  for (std::size_t i = 0; i < ticks.size(); ++i)
    if (offset > 0 || ticks[i] < state_.now) active.push_back(static_cast<std::int64_t>(i));
  const auto n = static_cast<std::int64_t>(active.size());
  std::int64_t active_of_all = n;
  if (ranks_) ranks_->all_reduce(&active_of_all, 1, Reduction::sum);
  if (active_of_all == 0) return;
  if (n > 0) device_.memory().from_host(active_.data(), active.data(), active.size() * sizeof(std::int64_t));
  device_schedule_.from_host(&schedule_);
  solver_->prepare(state_.sources_at(state_.now, offset));
  Correction<P> c = correction();
  c.task.device_total = nullptr;
  c.task.total = n;
  c.step.now = state_.now;
  c.step.choose_next = false;
  c.offset = offset;
  c.on_grid = false;
  c.collected = true;
  for (c.step.evaluation = 1; c.step.evaluation <= (everywhere_ ? most_evaluations_ : 1); ++c.step.evaluation) {
    this->evaluate_at(*pairs_, active_.data(), n, want_acceleration | want_jerk, forces(), end);
    launch_end(c);
    if (ranks_) agree_on_step(n, c.step.evaluation, end);
  }
  if (!ranks_) read_schedule();
  state_.offset = offset;
}

template <Precision P>
std::int64_t HermiteCuda<P>::device_bytes(std::int64_t n) const {
  Arena arena;
  room_for_forces(*this, arena, n);
  room_for_blocks(*this, arena, n, most_chunks);
  return this->particle_bytes(n) + arena.bytes();
}

}  // namespace

std::unique_ptr<Integrator> make_hermite_cuda(const TimeOptions& time, const SolverOptions& gravity,
                                              const IntegratorContext& context) {
  switch (gravity.precision) {
    case Precision::single:
      return std::make_unique<HermiteCuda<Precision::single>>(time, gravity, context);
    case Precision::mixed:
      return std::make_unique<HermiteCuda<Precision::mixed>>(time, gravity, context);
    case Precision::double_:
      break;
  }
  return std::make_unique<HermiteCuda<Precision::double_>>(time, gravity, context);
}

}  // namespace pergola

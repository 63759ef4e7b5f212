#include <algorithm>
#include <cmath>

#include "gravity/direct_solver.cuh"
#include "time/hermite.hpp"
#include "time/hermite_state.hpp"
#include "time/shared_evaluation.hpp"

namespace pergola {

namespace {

using namespace cuda;
using physics::deepest_level;

constexpr ForceKind step_kind = ForceKind::acceleration_jerk;
constexpr int predict_threads = 256;
constexpr int correct_threads = 128;
constexpr std::int64_t most_chunks = 1024;

/// The clock of the run, on the device. The host sets the limit and looks at it after a batch of steps.
struct Schedule {
  std::int64_t now = 0;           // tick that the last step reached
  std::int64_t next = 0;          // tick that the step in work ends at
  std::int64_t active_count = 0;  // particles in it; 0 when no step was begun
  std::int64_t limit = 0;         // no step may end beyond this tick
  std::int64_t steps = 0, particle_steps = 0;
  std::int64_t fault = INT64_MAX;          // the lowest faulty particle times 4, plus the StepFault
  std::uint32_t epoch = 1;                 // number of this step, which marks counts of chunks as new
  std::uint32_t ticket = 0;                // hands out chunks in the order in which blocks start
  int population[deepest_level + 1] = {};  // particles by level
};

/// All that the kernels of a step use.
template <class Real>
struct StepArrays {
  Sources<Real> sources;  // the state; sources.now is not used
  Real *x, *y, *z, *vx, *vy, *vz, *ax, *ay, *az, *jx, *jy, *jz;
  std::int64_t* tick;
  std::int8_t* level;
  std::int64_t* active;
  std::uint64_t* chunk_count;  // per chunk: epoch in the upper, active particles in the lower half
  Schedule* schedule;
  std::int64_t chunk;  // particles per chunk, a multiple of predict_threads
};

/// The end of the next step: all particles of one level are at the same tick, so the deepest level that is populated
/// decides. Called by one whole warp.
__device__ std::int64_t next_tick(const Schedule& s, int lane) {
  static_assert(deepest_level < 64);
  const unsigned low = __ballot_sync(0xffffffffu, s.population[lane] != 0);
  const unsigned high = __ballot_sync(0xffffffffu, lane + 32 <= deepest_level && s.population[lane + 32] != 0);
  const int deepest = high ? 63 - __clz(high) : low ? 31 - __clz(low) : 0;
  return physics::next_tick(s.now, deepest);
}

/// The lowest level whose steps end at a tick.
__device__ int active_level(std::int64_t tick) {
  const int zeros = __ffsll(tick) - 1;
  return zeros >= deepest_level ? 0 : deepest_level - zeros;
}

/// Begins a step: finds its end, predicts all particles to it into the solver's sources, and lists the active ones in
/// rising order. One block per chunk of particles; blocks tell each other their counts (a scan with look-back).
template <Precision P, class Real>
__global__ void __launch_bounds__(predict_threads)
    begin_step(const __grid_constant__ StepArrays<Real> s, SourcePack<P> pack, double g,
               const __grid_constant__ SofteningTable softening) {
  __shared__ std::int64_t next, before;
  __shared__ unsigned chunk_index, warp_count[predict_threads / 32];
  __shared__ bool go;
  Schedule& schedule = *s.schedule;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    const std::int64_t tick = next_tick(schedule, lane);
    if (lane == 0) {
      chunk_index = atomicAdd(&schedule.ticket, 1u) % gridDim.x;
      next = tick;
      go = tick <= schedule.limit && schedule.fault == INT64_MAX;
      if (chunk_index == 0 && go) schedule.next = tick;
      if (chunk_index == 0 && !go) schedule.active_count = 0;
    }
  }
  __syncthreads();
  if (!go) return;
  const int lowest = active_level(next);
  const std::int64_t begin = chunk_index * s.chunk;
  const std::int64_t end = begin + s.chunk < s.sources.count ? begin + s.chunk : s.sources.count;

  unsigned mine = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += predict_threads) mine += s.level[i] >= lowest;
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (lane == 0) warp_count[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned count = 0;
    for (const unsigned c : warp_count) count += c;
    atomicExch(reinterpret_cast<unsigned long long*>(s.chunk_count + chunk_index),
               (static_cast<unsigned long long>(schedule.epoch) << 32) | count);
  }

  for (std::int64_t i = begin + threadIdx.x; i < end; i += predict_threads)
    predict_and_store(pack, s.sources, next, g, softening, i);

  if (warp == 0) {
    const auto* counts = reinterpret_cast<const volatile unsigned long long*>(s.chunk_count);
    std::int64_t sum = 0;
    for (unsigned c = static_cast<unsigned>(lane); c < chunk_index; c += 32) {
      unsigned long long value = counts[c];
      while ((value >> 32) != schedule.epoch) value = counts[c];
      sum += static_cast<std::int64_t>(value & 0xffffffffu);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) before = sum;
  }
  __syncthreads();

  std::int64_t at = before;
  for (std::int64_t tile = begin; tile < end; tile += predict_threads) {
    const std::int64_t i = tile + threadIdx.x;
    const bool active = i < end && s.level[i] >= lowest;
    const unsigned votes = __ballot_sync(0xffffffffu, active);
    __syncthreads();
    if (lane == 0) warp_count[warp] = static_cast<unsigned>(__popc(votes));
    __syncthreads();
    std::int64_t place = at;
    for (int w = 0; w < predict_threads / 32; ++w) {
      if (w < warp) place += warp_count[w];
      at += warp_count[w];
    }
    if (active) s.active[place + __popc(votes & ((1u << lane) - 1))] = i;
  }
  if (threadIdx.x == 0 && chunk_index == gridDim.x - 1) schedule.active_count = at;
}

/// How the active particles are corrected.
template <Precision P>
struct Correction {
  ForceTask<P> task;  // where the forces stand
  ForceGrid grid;
  HermiteStep step;        // its `now` is the schedule's next tick, or here when the step is not on the grid
  double offset = 0;       // beyond that tick
  bool on_grid = true;     // false: the last step of a run, whose count and end the host gives
  bool collected = false;  // the forces stand in task.out for all targets
  bool last = true;        // false: an iteration of the corrector, which moves the sources only
};

/// Ends a step: adds up the partial forces of each active particle, corrects it and chooses its next step.
template <Precision P, class Real>
__global__ void __launch_bounds__(correct_threads)
    end_step(const __grid_constant__ StepArrays<Real> s, const __grid_constant__ Correction<P> c, SourcePack<P> pack,
             double g, const __grid_constant__ SofteningTable softening) {
  using Sum = typename SourcePack<P>::Sum;
  __shared__ int moved[deepest_level + 1];
  Schedule& schedule = *s.schedule;
  const std::int64_t total = c.task.targets();
  if (total <= 0) return;
  for (int k = static_cast<int>(threadIdx.x); k <= deepest_level; k += correct_threads) moved[k] = 0;
  __syncthreads();
  HermiteStep step = c.step;
  if (c.on_grid) step.now = schedule.next;
  const Decomposition d = decompose(total, c.task.source_count, c.grid.blocks, c.grid.wide_group);
  const int lanes = c.collected ? 1 : collect_lanes(d);
  const std::int64_t team = (std::int64_t{blockIdx.x} * correct_threads + threadIdx.x) / lanes;
  const std::int64_t teams = std::int64_t{gridDim.x} * correct_threads / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (std::int64_t slot = team; slot < total; slot += teams) {
    Sum sum[sum_values];
    if (c.collected) {
#pragma unroll
      for (int k = 0; k < 6; ++k) sum[k] = c.task.out[k][slot];
    } else {
      collect_sums<step_kind>(c.task, d, slot, lane, lanes, sum);
    }
    if (lane != 0) continue;
    const std::int64_t i = s.active[slot];
    const HermiteStart start{{s.x[i], s.y[i], s.z[i]},
                             {s.vx[i], s.vy[i], s.vz[i]},
                             {s.ax[i], s.ay[i], s.az[i]},
                             {s.jx[i], s.jy[i], s.jz[i]}};
    const Vec3<double> a{sum[0], sum[1], sum[2]}, j{sum[3], sum[4], sum[5]};
    Vec3<double> x, v;
    const int old_level = s.level[i];
    int level = old_level;
    const double dt = static_cast<double>(step.now - s.tick[i]) * s.sources.tick_length + c.offset;
    const StepFault fault = hermite_end_step(step, dt, start, a, j, x, v, level);
    if (fault != StepFault::none) {
      atomicMin(reinterpret_cast<long long*>(&schedule.fault), static_cast<long long>(4 * i + static_cast<int>(fault)));
      continue;
    }
    if (!c.last) {
      const double number = softening.number[softening.uniform ? 0 : s.sources.species[i]];
      store_source(pack, i, x, v, g * static_cast<double>(s.sources.mass[i]), number);
      continue;
    }
    s.x[i] = static_cast<Real>(x.x), s.y[i] = static_cast<Real>(x.y), s.z[i] = static_cast<Real>(x.z);
    s.vx[i] = static_cast<Real>(v.x), s.vy[i] = static_cast<Real>(v.y), s.vz[i] = static_cast<Real>(v.z);
    s.ax[i] = static_cast<Real>(a.x), s.ay[i] = static_cast<Real>(a.y), s.az[i] = static_cast<Real>(a.z);
    s.jx[i] = static_cast<Real>(j.x), s.jy[i] = static_cast<Real>(j.y), s.jz[i] = static_cast<Real>(j.z);
    s.tick[i] = step.now;
    if (level != old_level) {
      s.level[i] = static_cast<std::int8_t>(level);
      atomicSub(&moved[old_level], 1);
      atomicAdd(&moved[level], 1);
    }
  }
  if (!c.last) return;
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k <= deepest_level; k += correct_threads)
    if (moved[k] != 0) atomicAdd(&schedule.population[k], moved[k]);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (c.on_grid) schedule.now = step.now;
    schedule.ticket = 0;  // long before it could overflow in the midst of a launch
    ++schedule.epoch;
    ++schedule.steps;
    schedule.particle_steps += total;
  }
}

/// A recorded sequence of launches.
class Graph {
 public:
  Graph() = default;
  ~Graph() { reset(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void reset() {
    if (executable_) cudaGraphExecDestroy(executable_);
    executable_ = nullptr;
  }
  bool recorded() const { return executable_ != nullptr; }
  template <class Body>
  void record(cudaStream_t stream, const Body& body) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    body();
    check(cudaStreamEndCapture(stream, &graph), "end capture");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "instantiate graph");
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "launch graph"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

template <Precision P>
class HermiteCuda final : public Integrator {
 public:
  using Real = typename SourcePack<P>::Sum;  // float for single, double for mixed and full

  HermiteCuda(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : options_(time),
        device_(context.device),
        communicator_(context.communicator),
        profile_(context.profile),
        solver_(gravity, context.device),
        evaluation_(context.device, context.communicator),
        state_(context.device, time.step_max) {
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_.ordinal()),
          "multiprocessor count");
    correct_blocks_ = static_cast<unsigned>(4 * multiprocessors);
  }

  void start(const Particles& particles, double time) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish(double end) override;
  double time() const override { return state_.time(); }
  Particles state_at(double time) const override { return state_.state_at(time); }
  StepCounts counts() const override { return state_.counts; }
  StateBlocks save() const override { return state_.save(); }
  void restore(const StateBlocks& blocks) override;
  std::int64_t device_bytes(std::int64_t n) const override;

 private:
  void allocate_scratch();
  StepArrays<Real> arrays();
  Correction<P> correction();
  Forces<Real> forces();
  void evaluate(std::int64_t n, const std::int64_t* index, unsigned want, const Forces<Real>& into, double time);
  void launch_begin();
  void launch_end(const Correction<P>& correction);
  void record_batch();
  void run_batch();
  void step_with_ranks();
  void read_schedule();
  [[noreturn]] void report_fault();
  std::int64_t tick_at(double time) const;

  TimeOptions options_;
  Device device_;
  std::shared_ptr<Communicator> communicator_;
  Profile* profile_;
  DirectCuda<P> solver_;
  SharedEvaluation<Real> evaluation_;
  HermiteState<Real> state_;
  unsigned correct_blocks_ = 0;

  // Scratch, derived from the state.
  VectorBuffer<Real> new_a_, new_j_;
  Buffer<std::int64_t> active_;
  Buffer<std::uint64_t> chunk_count_;
  Buffer<Schedule> device_schedule_;
  Schedule schedule_;
  std::int64_t chunk_ = predict_threads;
  Graph batch_;
};

template <Precision P>
void HermiteCuda<P>::allocate_scratch() {
  const std::int64_t n = state_.count();
  const std::int64_t tiles = (n + predict_threads - 1) / predict_threads;
  chunk_ = predict_threads * std::max<std::int64_t>(1, (tiles + most_chunks - 1) / most_chunks);
  new_a_ = VectorBuffer<Real>(device_, n);
  new_j_ = VectorBuffer<Real>(device_, n);
  active_ = Buffer<std::int64_t>(device_, n);
  chunk_count_ = Buffer<std::uint64_t>(device_, (n + chunk_ - 1) / chunk_);
  chunk_count_.zero();
  solver_.sums().reserve(n);
  batch_.reset();

  schedule_ = {};
  schedule_.now = state_.now;
  for (const std::int8_t level : state_.level.to_host()) ++schedule_.population[level];
  device_schedule_ = Buffer<Schedule>(device_, 1);
}

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
  c.task = solver_.sums().task(step_kind);
  c.task.device_total = &device_schedule_.data()->active_count;
  c.task.index = active_.data();
  const auto f = forces();
  Real* out[6] = {f.ax, f.ay, f.az, f.jx, f.jy, f.jz};
  std::copy(out, out + 6, c.task.out);
  c.grid = solver_.sums().grid(step_kind);
  c.step = {0, options_.eta, options_.step_max, true};
  return c;
}

template <Precision P>
void HermiteCuda<P>::evaluate(std::int64_t n, const std::int64_t* index, unsigned want, const Forces<Real>& into,
                              double time) {
  try {
    evaluation_.evaluate(solver_, index, n, want, into);
  } catch (const CoincidentParticles& collision) {
    throw with_ids(collision, state_.id, time);
  }
}

template <Precision P>
void HermiteCuda<P>::start(const Particles& particles, double time) {
  Profile::Scope scope(profile_, "start");
  device_.make_current();
  state_.take(particles, time);
  new_a_ = VectorBuffer<Real>(device_, state_.count());
  new_j_ = VectorBuffer<Real>(device_, state_.count());
  Buffer<Real> potential(device_, state_.count());
  solver_.prepare(state_.sources());
  auto into = forces();
  into.potential = potential.data();
  evaluate(state_.count(), nullptr, want_acceleration | want_jerk | want_potential, into, time);
  state_.counts.interactions += state_.count() * state_.count();
  state_.set_first_forces(new_a_, new_j_, potential, options_, solver_.sums().gravitational_constant());
  allocate_scratch();
}

template <Precision P>
void HermiteCuda<P>::restore(const StateBlocks& blocks) {
  state_.restore(blocks);
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

template <Precision P>
void HermiteCuda<P>::launch_begin() {
  auto& sums = solver_.sums();
  begin_step<P, Real><<<static_cast<unsigned>(chunk_count_.size()), predict_threads, 0, handle(device_.stream())>>>(
      arrays(), sums.pack(), sums.gravitational_constant(), sums.softening());
  check(cudaGetLastError(), "begin step");
}

template <Precision P>
void HermiteCuda<P>::launch_end(const Correction<P>& c) {
  auto& sums = solver_.sums();
  end_step<P, Real><<<correct_blocks_, correct_threads, 0, handle(device_.stream())>>>(
      arrays(), c, sums.pack(), sums.gravitational_constant(), sums.softening());
  check(cudaGetLastError(), "end step");
}

/// Records as many block steps as take a fraction of a second at most. A step beyond the limit does nothing.
template <Precision P>
void HermiteCuda<P>::record_batch() {
  const std::int64_t steps =
      std::clamp<std::int64_t>((std::int64_t{1} << 21) / std::max<std::int64_t>(state_.count(), 1), 1, 64);
  Correction<P> c = correction();
  batch_.record(handle(device_.stream()), [&] {
    for (std::int64_t k = 0; k < steps; ++k) {
      launch_begin();
      for (int iteration = 1; iteration <= options_.corrector_iterations; ++iteration) {
        solver_.sums().launch_sums(c.task, step_kind);
        c.last = iteration == options_.corrector_iterations;
        launch_end(c);
      }
    }
  });
}

template <Precision P>
void HermiteCuda<P>::run_batch() {
  if (!batch_.recorded()) record_batch();
  batch_.launch(handle(device_.stream()));
  read_schedule();
}

/// One step whose targets are shared out over the ranks; the host takes part, to exchange the forces.
template <Precision P>
void HermiteCuda<P>::step_with_ranks() {
  launch_begin();
  device_schedule_.to_host(&schedule_);
  const std::int64_t n = schedule_.active_count;
  if (n > 0) {
    Correction<P> c = correction();
    c.collected = true;
    for (int iteration = 1; iteration <= options_.corrector_iterations; ++iteration) {
      evaluate(n, active_.data(), want_acceleration | want_jerk, forces(), state_.time_of(schedule_.next));
      c.last = iteration == options_.corrector_iterations;
      launch_end(c);
    }
  }
  read_schedule();
}

/// Brings the clock to the host: one small transfer per batch of steps.
template <Precision P>
void HermiteCuda<P>::read_schedule() {
  device_schedule_.to_host(&schedule_);
  if (schedule_.fault != INT64_MAX) report_fault();
  state_.now = schedule_.now;
  state_.counts.steps += schedule_.steps;
  state_.counts.particle_steps += schedule_.particle_steps;
  state_.counts.interactions += schedule_.particle_steps * state_.count() * options_.corrector_iterations;
  schedule_.steps = schedule_.particle_steps = 0;
}

template <Precision P>
void HermiteCuda<P>::report_fault() {
  const std::int64_t place = schedule_.fault / 4;
  const auto fault = static_cast<StepFault>(schedule_.fault % 4);
  const double end = state_.time_of(schedule_.next);
  if (fault == StepFault::force_not_finite && solver_.sums().may_diverge()) {
    const Buffer<std::int64_t> index(device_, std::vector<std::int64_t>{place});
    try {
      // The sources are still those of the failed step: the solver finds the partner, if there is one.
      solver_.evaluate({index.data(), 1, 1, 0}, want_acceleration | want_jerk, forces());
    } catch (const CoincidentParticles& collision) {
      throw with_ids(collision, state_.id, end);
    }
  }
  state_.fail(place, fault, end);
}

template <Precision P>
bool HermiteCuda<P>::advance(double limit, const std::function<bool()>& enough) {
  if (state_.count() == 0) return true;
  Profile::Scope scope(profile_, "block steps");
  device_.make_current();
  schedule_.limit = tick_at(limit);
  while (true) {
    device_schedule_.from_host(&schedule_);
    if (communicator_->size() == 1)
      run_batch();
    else
      step_with_ranks();
    if (schedule_.active_count == 0) return true;
    if (enough && enough()) return false;
  }
}

template <Precision P>
void HermiteCuda<P>::finish(double end) {
  advance(end, nullptr);
  Profile::Scope scope(profile_, "last step");
  const double offset = (end - state_.start_time) - static_cast<double>(state_.now) * state_.tick_length;
  std::vector<std::int64_t> active;
  const auto ticks = state_.tick.to_host();
  for (std::size_t i = 0; i < ticks.size(); ++i)
    if (offset > 0 || ticks[i] < state_.now) active.push_back(static_cast<std::int64_t>(i));
  const auto n = static_cast<std::int64_t>(active.size());
  if (n == 0) return;
  device_.memory().from_host(active_.data(), active.data(), active.size() * sizeof(std::int64_t));
  device_schedule_.from_host(&schedule_);
  solver_.prepare(state_.sources_at(state_.now, offset));
  Correction<P> c = correction();
  c.task.device_total = nullptr;
  c.task.total = n;
  c.step.now = state_.now;
  c.step.choose_next = false;
  c.offset = offset;
  c.on_grid = false;
  c.collected = true;
  for (int iteration = 1; iteration <= options_.corrector_iterations; ++iteration) {
    evaluate(n, active_.data(), want_acceleration | want_jerk, forces(), end);
    c.last = iteration == options_.corrector_iterations;
    launch_end(c);
  }
  read_schedule();
  state_.offset = offset;
}

template <Precision P>
std::int64_t HermiteCuda<P>::device_bytes(std::int64_t n) const {
  const auto scratch = static_cast<std::int64_t>(2 * 3 * sizeof(Real) + sizeof(std::int64_t));
  return n * (state_.bytes_per_particle() + scratch) + solver_.device_bytes(n);
}

}  // namespace

std::unique_ptr<Integrator> make_hermite_cuda(const TimeOptions& time, const SolverOptions& gravity,
                                              const IntegratorContext& context) {
  switch (gravity.precision) {
    case Precision::single:
      return std::make_unique<HermiteCuda<Precision::single>>(time, gravity, context);
    case Precision::mixed:
      return std::make_unique<HermiteCuda<Precision::mixed>>(time, gravity, context);
    case Precision::full:
      break;
  }
  return std::make_unique<HermiteCuda<Precision::full>>(time, gravity, context);
}

}  // namespace pergola

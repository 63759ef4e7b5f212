#pragma once
// CUDA only: the kernels of a Hermite step, and what they share.
//
// A step is begin_step, the force kernels of the direct sum, end_step.
// begin_step: (1) the next tick from the census, (2) predicts all particles, (3) lists the active ones in rising order.
// end_step: (1) collects forces, (2) corrects, (3) next levels, (4) changes of the census. Makino & Aarseth 1992.
// If the corrector of some particles is iterated, the same three kernels follow for these: they are the particles that
// have not reached the tick yet, and begin_step predicts nothing, for end_step has moved the sources.
// The schedule lives on the device, so that recorded steps follow each other without the host. A step that may not be
// taken (limit or fault) lists no particles, and its kernels return at once.
#include <cstdint>

#include "gravity/direct_solver.cuh"
#include "time/hermite.hpp"

namespace pergola::cuda::hermite {

using physics::deepest_level;

inline constexpr ForceKind step_kind = ForceKind::acceleration_jerk;
inline constexpr int predict_threads = 256;
inline constexpr int correct_threads = 128;
inline constexpr std::int64_t most_chunks = 1024;

/// The clock of the run, on the device. The host sets the limit and looks at it after a batch of steps.
struct Schedule {
  std::int64_t now = 0;           // tick that the last step reached
  std::int64_t next = 0;          // tick that the step in work ends at
  std::int64_t active_count = 0;  // particles in it; 0 when no step was begun
  std::int64_t limit = 0;         // no step may end beyond this tick
  std::int64_t steps = 0, particle_steps = 0;
  std::int64_t evaluations = 0;            // of the forces on one particle
  std::int64_t repeated = 0;               // active particles whose corrector is iterated; 0: the step is done
  int evaluation = 0;                      // of the step in work, counted from 1
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

/// The end of the next step. All particles of one level are at the same tick, so the deepest populated level decides.
/// Called by one whole warp.
__device__ inline std::int64_t next_tick(const Schedule& s, int lane) {
  static_assert(deepest_level < 64);
  const unsigned low = __ballot_sync(0xffffffffu, s.population[lane] != 0);
  const unsigned high = __ballot_sync(0xffffffffu, lane + 32 <= deepest_level && s.population[lane + 32] != 0);
  const int deepest = high ? 63 - __clz(high) : low ? 31 - __clz(low) : 0;
  return physics::next_tick(s.now, deepest);
}

/// The lowest level whose steps end at a tick.
__device__ inline int active_level(std::int64_t tick) {
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
  __shared__ bool go, again;
  Schedule& schedule = *s.schedule;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    const bool repeats = schedule.repeated > 0;
    const std::int64_t tick = repeats ? schedule.next : next_tick(schedule, lane);
    if (lane == 0) {
      chunk_index = atomicAdd(&schedule.ticket, 1u) % gridDim.x;
      next = tick;
      again = repeats;
      go = tick <= schedule.limit && schedule.fault == INT64_MAX;
      if (chunk_index == 0 && go) {
        schedule.next = tick;
        schedule.evaluation = repeats ? schedule.evaluation + 1 : 1;
      }
      if (chunk_index == 0 && !go) schedule.active_count = 0;
    }
  }
  __syncthreads();
  if (!go) return;
  const int lowest = active_level(next);
  const std::int64_t begin = chunk_index * s.chunk;
  const std::int64_t end = begin + s.chunk < s.sources.count ? begin + s.chunk : s.sources.count;

  const auto is_active = [&](std::int64_t i) { return s.level[i] >= lowest && !(again && s.tick[i] == next); };

  unsigned mine = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += predict_threads) mine += is_active(i);
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (lane == 0) warp_count[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned count = 0;
    for (const unsigned c : warp_count) count += c;
    atomicExch(reinterpret_cast<unsigned long long*>(s.chunk_count + chunk_index),
               (static_cast<unsigned long long>(schedule.epoch) << 32) | count);
  }

  for (std::int64_t i = begin + threadIdx.x; !again && i < end; i += predict_threads)
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
    const bool active = i < end && is_active(i);
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
  HermiteStep step;        // on the grid with the schedule's next tick and evaluation, else with these
  double offset = 0;       // beyond that tick
  bool on_grid = true;     // false: the last step of a run, whose count and end the host gives
  bool collected = false;  // the forces stand in task.out for all targets
  const physics::ExternalLaw<typename SourcePack<P>::Sum>* laws = nullptr;  // of external potentials
  std::int64_t law_count = 0;
};

/// Ends a step: adds up the partial forces of each active particle, corrects it and chooses its next step. A particle
/// whose corrector is iterated is moved among the sources only. External potentials act where the sources are.
template <Precision P, bool external, class Real>
__global__ void __launch_bounds__(correct_threads)
    end_step(const __grid_constant__ StepArrays<Real> s, const __grid_constant__ Correction<P> c, SourcePack<P> pack,
             double g, const __grid_constant__ SofteningTable softening) {
  using Sum = typename SourcePack<P>::Sum;
  __shared__ int moved[deepest_level + 1], repeated;
  Schedule& schedule = *s.schedule;
  const std::int64_t total = c.task.targets();
  if (total <= 0) return;
  for (int k = static_cast<int>(threadIdx.x); k <= deepest_level; k += correct_threads) moved[k] = 0;
  if (threadIdx.x == 0) repeated = 0;
  __syncthreads();
  HermiteStep step = c.step;
  if (c.on_grid) step.now = schedule.next, step.evaluation = schedule.evaluation;
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
    Vec3<double> x, v;
    if constexpr (external) {
      load_source(pack, i, x, v);
      const Vec3<Sum> place{static_cast<Sum>(x.x), static_cast<Sum>(x.y), static_cast<Sum>(x.z)};
      const Vec3<Sum> speed{static_cast<Sum>(v.x), static_cast<Sum>(v.y), static_cast<Sum>(v.z)};
      const auto field = physics::external_motion(c.laws, c.law_count, place, speed);
      sum[0] += field.x.value, sum[1] += field.y.value, sum[2] += field.z.value;
      sum[3] += field.x.rate, sum[4] += field.y.rate, sum[5] += field.z.rate;
    }
    const Vec3<double> a{sum[0], sum[1], sum[2]}, j{sum[3], sum[4], sum[5]};
    const int old_level = s.level[i];
    int level = old_level;
    const double dt = static_cast<double>(step.now - s.tick[i]) * s.sources.tick_length + c.offset;
    bool again = false;
    const StepFault fault = hermite_end_step(step, dt, start, a, j, x, v, level, again);
    if (fault != StepFault::none) {
      atomicMin(reinterpret_cast<long long*>(&schedule.fault), static_cast<long long>(4 * i + static_cast<int>(fault)));
      continue;
    }
    if (step.evaluation < step.most) {
      const double number = softening.number[softening.by_particle ? s.sources.species[i] : 0];
      store_source(pack, i, x, v, g * static_cast<double>(s.sources.mass[i]), number);
    }
    if (again) {
      if (step.evaluation == 1) atomicAdd(&repeated, 1);
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
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k <= deepest_level; k += correct_threads)
    if (moved[k] != 0) atomicAdd(&schedule.population[k], moved[k]);
  if (threadIdx.x != 0) return;
  if (repeated > 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&schedule.repeated), static_cast<unsigned long long>(repeated));
  if (blockIdx.x == 0) {
    if (c.on_grid) schedule.now = step.now;
    schedule.ticket = 0;  // long before it could overflow in the midst of a launch
    ++schedule.epoch;
    schedule.evaluations += total;
    if (step.evaluation == 1) {
      ++schedule.steps;
      schedule.particle_steps += total;
    } else if (step.evaluation == step.most) {
      schedule.repeated = 0;  // all that were repeated are done
    }
  }
}

}  // namespace pergola::cuda::hermite

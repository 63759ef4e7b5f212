#pragma once
#include <cstdint>
#include <limits>
#include <memory>

#include "physics/block_steps.hpp"
#include "time/block_steps.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

/// The arrays of a leapfrog run with block steps. All positions are at the present tick, accelerations at the beginning
/// of the particle's step; velocities too where that is now, else they have had the opening kick of half a step.
template <class Real>
struct BlockArrays {
  LeapfrogArrays<Real> particle;
  std::int8_t* level = nullptr;
  Real *new_ax = nullptr, *new_ay = nullptr, *new_az = nullptr;  // by number among the active particles
  Real *new_jx = nullptr, *new_jy = nullptr, *new_jz = nullptr;  // null unless steps are chosen from the jerk
  std::int64_t* active = nullptr;                                // places of the particles whose step ends, rising
  /// Where the long range has a step of its own: its accelerations at the beginning of that step. Those above are then
  /// without it.
  Real *long_ax = nullptr, *long_ay = nullptr, *long_az = nullptr;

  PERGOLA_HD Vec3<double> long_range(std::int64_t i) const {
    return long_ax ? Vec3<double>{long_ax[i], long_ay[i], long_az[i]} : Vec3<double>{0, 0, 0};
  }
};

inline constexpr int block_levels = physics::deepest_level + 1;

/// What a step needs beside the particles. Kicks and drifts are the factors of accelerations and velocities: times,
/// unless space expands (Expansion, time/leapfrog.hpp).
struct BlockStep {
  std::int64_t now = 0;   // tick at which it begins
  std::int64_t next = 0;  // tick at which it ends
  double step_max = 0;
  StepWish wish;
  Box box;
  double drift = 0;                 // of all particles, from now to next
  double open[block_levels] = {};   // by level: opening kicks of the steps that begin now
  double close[block_levels] = {};  // closing kicks of those that end at next
};

/// All particles at a time that is not before `now`, as if their steps ended there.
struct EarlyEnd {
  int starting = 0;     // steps of this level and deeper begin now
  int long_level = -1;  // that of the step of the long range; −1: it has none
  double drift = 0;     // from now to then
  // By level.
  bool moves[block_levels] = {};     // the step has begun before
  double open[block_levels] = {};    // the opening kick of a step that begins now
  double excess[block_levels] = {};  // what the opening kick of the step is longer than that of the shortened step
  double whole[block_levels] = {};   // drift of the shortened step
  double close[block_levels] = {};   // its closing kick
};

/// How many particles each level has, and what went wrong.
struct BlockCensus {
  static constexpr std::int64_t no_fault = std::numeric_limits<std::int64_t>::max();
  std::int64_t fault = no_fault;  // the lowest faulty particle times 4, plus the StepFault
  std::int64_t population[block_levels] = {};

  /// The lowest and the deepest level that has particles.
  int lowest() const {
    int level = 0;
    while (level < physics::deepest_level && population[level] == 0) ++level;
    return level;
  }
  int deepest() const {
    int level = physics::deepest_level;
    while (level > 0 && population[level] == 0) --level;
    return level;
  }
  /// Half of `all` have steps that are as long as those of this level or longer.
  int typical(std::int64_t all) const {
    int level = 0;
    for (std::int64_t found = population[0]; level < physics::deepest_level && 2 * found < all;)
      found += population[++level];
    return level;
  }
};

PERGOLA_HD constexpr std::int64_t fault_at(std::int64_t place, StepFault fault) {
  return 4 * place + static_cast<std::int64_t>(fault);
}

/// Opening or closing kick of a particle whose step begins or ends, by level.
template <class Real>
PERGOLA_HD void kick_of_level(const BlockArrays<Real>& s, const double (&kicks)[block_levels], std::int64_t i) {
  const auto& p = s.particle;
  Vec3<Real> v{p.vx[i], p.vy[i], p.vz[i]};
  physics::kick(static_cast<Real>(kicks[s.level[i]]), v, {p.ax[i], p.ay[i], p.az[i]});
  p.vx[i] = v.x, p.vy[i] = v.y, p.vz[i] = v.z;
}

/// Kick of the long range, of a particle in the place i.
template <class Real>
PERGOLA_HD void kick_by_long_range(const BlockArrays<Real>& s, Real kick, std::int64_t i) {
  const auto& p = s.particle;
  Vec3<Real> v{p.vx[i], p.vy[i], p.vz[i]};
  physics::kick(kick, v, {s.long_ax[i], s.long_ay[i], s.long_az[i]});
  p.vx[i] = v.x, p.vy[i] = v.y, p.vz[i] = v.z;
}

/// The particle's image in a periodic box.
template <class Real>
PERGOLA_HD void wrap_position(const BlockArrays<Real>& s, const Box& box, std::int64_t i) {
  const auto& p = s.particle;
  const Vec3<Real> x = wrap(Vec3<Real>{p.x[i], p.y[i], p.z[i]}, box);
  p.x[i] = x.x, p.y[i] = x.y, p.z[i] = x.z;
}

/// The step that the particle at place i wants, under all that acts on it.
template <class Real>
PERGOLA_HD double wanted_block_step(const BlockArrays<Real>& s, const BlockStep& step, double epsilon, std::int64_t i) {
  const auto& p = s.particle;
  Vec3<double> a{p.ax[i], p.ay[i], p.az[i]};
  if (s.long_ax) a = a + s.long_range(i);
  return wanted_step(p, i, a, step.wish, epsilon, 0.0);
}

/// The acceleration of the t-th active particle, at place i, becomes its own, and the jerk that its step is chosen by.
template <class Real>
PERGOLA_HD StepFault take_acceleration(const BlockArrays<Real>& s, std::int64_t t, std::int64_t i) {
  const Vec3<Real> a{s.new_ax[t], s.new_ay[t], s.new_az[t]};
  s.particle.ax[i] = a.x, s.particle.ay[i] = a.y, s.particle.az[i] = a.z;
  if (s.new_jx) s.particle.jx[i] = s.new_jx[t], s.particle.jy[i] = s.new_jy[t], s.particle.jz[i] = s.new_jz[t];
  return is_finite(a) ? StepFault::none : StepFault::force_not_finite;
}

/// The end of the step of the t-th active particle, at place i: closing kick with the new acceleration, and the level
/// of its next step into `level`. One function for both devices.
template <class Real>
PERGOLA_HD StepFault close_block_step(const BlockArrays<Real>& s, const BlockStep& step, double epsilon, std::int64_t t,
                                      std::int64_t i, int& level) {
  if (take_acceleration(s, t, i) != StepFault::none) return StepFault::force_not_finite;
  kick_of_level(s, step.close, i);
  const auto& p = s.particle;
  if (!is_finite(Vec3<Real>{p.vx[i], p.vy[i], p.vz[i]})) return StepFault::state_not_finite;
  const double wanted = wanted_block_step(s, step, epsilon, i);
  level = physics::next_level(level, wanted, step.step_max, step.next);
  return level > physics::deepest_level ? StepFault::step_too_short : StepFault::none;
}

/// The level of the first step, at tick 0, of the particle at place i.
template <class Real>
PERGOLA_HD StepFault first_block_level(const BlockArrays<Real>& s, const BlockStep& step, double epsilon,
                                       std::int64_t i, int& level) {
  const StepFault fault = take_acceleration(s, i, i);
  if (fault != StepFault::none) return fault;
  const double wanted = wanted_block_step(s, step, epsilon, i);
  level = physics::first_level(wanted, step.step_max, 0);
  return level > physics::deepest_level ? StepFault::step_too_short : StepFault::none;
}

/// Brings a particle to the early end of its step and of that of the long range, all but the closing kicks.
PERGOLA_HD void end_step_early(const EarlyEnd& end, int level, Vec3<double>& x, Vec3<double>& v, const Vec3<double>& a,
                               const Vec3<double>& long_a) {
  const int of_long = end.long_level;
  const bool shortens_long = of_long >= 0 && end.moves[of_long];
  if (shortens_long && of_long >= end.starting) physics::kick<double>(end.open[of_long], v, long_a);
  if (end.moves[level]) {
    if (level >= end.starting) physics::kick<double>(end.open[level], v, a);
    physics::shorten_step<double>(end.excess[level], end.whole[level], end.drift, x, v, a);
  }
  if (shortens_long) physics::shorten_step<double>(end.excess[of_long], end.whole[of_long], 0.0, x, v, long_a);
}

/// The closing kicks that it left.
PERGOLA_HD void close_step_early(const EarlyEnd& end, int level, Vec3<double>& v, const Vec3<double>& a,
                                 const Vec3<double>& long_a) {
  physics::kick<double>(end.close[level], v, a);
  if (end.long_level >= 0) physics::kick<double>(end.close[end.long_level], v, long_a);
}

/// end_step_early for the particle at place i.
template <class Real>
PERGOLA_HD StepFault end_early(const BlockArrays<Real>& s, const EarlyEnd& end, const Box& box, std::int64_t i) {
  const auto& p = s.particle;
  Vec3<double> x{p.x[i], p.y[i], p.z[i]}, v{p.vx[i], p.vy[i], p.vz[i]};
  end_step_early(end, s.level[i], x, v, {p.ax[i], p.ay[i], p.az[i]}, s.long_range(i));
  if (!is_finite(x)) return StepFault::state_not_finite;
  p.x[i] = static_cast<Real>(x.x), p.y[i] = static_cast<Real>(x.y), p.z[i] = static_cast<Real>(x.z);
  if (box.periodic()) wrap_position(s, box, i);
  p.vx[i] = static_cast<Real>(v.x), p.vy[i] = static_cast<Real>(v.y), p.vz[i] = static_cast<Real>(v.z);
  return StepFault::none;
}

/// The closing kicks that end_step_early left to the particle at place i, with its new accelerations.
template <class Real>
PERGOLA_HD StepFault close_early(const BlockArrays<Real>& s, const EarlyEnd& end, std::int64_t i) {
  if (take_acceleration(s, i, i) != StepFault::none) return StepFault::force_not_finite;
  const auto& p = s.particle;
  Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
  close_step_early(end, s.level[i], v, {p.ax[i], p.ay[i], p.az[i]}, s.long_range(i));
  p.vx[i] = static_cast<Real>(v.x), p.vy[i] = static_cast<Real>(v.y), p.vz[i] = static_cast<Real>(v.z);
  return is_finite(v) ? StepFault::none : StepFault::state_not_finite;
}

/// The loops over particles that block steps need, one implementation per device: time/block_loops_cpu.cpp and
/// time/block_loops_cuda.cu. They do not wait for a GPU unless they return a number. The functions above, one for both
/// devices, do the work for one particle. Faults and populations are collected in a BlockCensus, which the host reads
/// once per step; of several faulty particles the one at the lowest place counts.
template <class Real>
class BlockLoops {
 public:
  virtual ~BlockLoops() = default;
  virtual void set_census(const BlockCensus& census) = 0;
  /// After all calls until now. Waits.
  virtual BlockCensus census() = 0;
  /// Levels from the accelerations of all particles, in new_ax, …; counts them.
  virtual void choose_first_levels(const BlockArrays<Real>& arrays, const BlockStep& step) = 0;
  /// Opening kicks of the steps that begin; drift of all particles.
  virtual void begin_step(const BlockArrays<Real>& arrays, const BlockStep& step) = 0;
  /// Opening or closing kick of the long range, of all particles.
  virtual void kick_by_long_range(const BlockArrays<Real>& arrays, double kick) = 0;
  /// Lists the particles of level `lowest` and deeper; the caller knows how many there are.
  virtual void list_active(const BlockArrays<Real>& arrays, int lowest) = 0;
  /// Closing kicks and next levels of `count` active particles. `all`: they are all particles, and there is no list.
  virtual void end_step(const BlockArrays<Real>& arrays, const BlockStep& step, std::int64_t count, bool all) = 0;
  /// end_step_early for all particles.
  virtual void end_all_early(const BlockArrays<Real>& arrays, const EarlyEnd& end, const Box& box) = 0;
  /// The closing kicks that end_all_early left, with the new accelerations.
  virtual void close_all_early(const BlockArrays<Real>& arrays, const EarlyEnd& end) = 0;
};

template <class Real>
std::unique_ptr<BlockLoops<Real>> make_block_loops_cpu(const Device& device);
template <class Real>
std::unique_ptr<BlockLoops<Real>> make_block_loops_cuda(const Device& device);

}  // namespace pergola

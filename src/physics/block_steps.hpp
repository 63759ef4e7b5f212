#pragma once
/// Block time steps: times are integer ticks and steps powers of two, so that the steps of particles end together
/// exactly.
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"

namespace pergola::physics {

/// Block steps are step_max / 2^level; time is counted in ticks of step_max / 2^deepest_level.
inline constexpr int deepest_level = 40;
/// The largest block time: 2^22 of the longest steps.
inline constexpr std::int64_t last_tick = std::int64_t{1} << 62;

PERGOLA_HD constexpr std::int64_t level_ticks(int level) { return std::int64_t{1} << (deepest_level - level); }

/// The lowest level whose steps begin and end at a tick; steps of all deeper levels do so too.
PERGOLA_HD constexpr int lowest_level_at(std::int64_t tick) {
  int level = 0;
  while (level < deepest_level && (tick & (level_ticks(level) - 1)) != 0) ++level;
  return level;
}

/// The end of the first step after `now`, if `deepest` is the deepest level of any particle: steps of lower levels end
/// with a step of this one.
PERGOLA_HD constexpr std::int64_t next_tick(std::int64_t now, int deepest) {
  const std::int64_t step = level_ticks(deepest);
  return (now & ~(step - 1)) + step;
}

/// The smallest level whose step is not longer than `wanted` and whose grid contains the time `now`;
/// deepest_level + 1 if even the shortest step is too long.
template <class R>
PERGOLA_HD int first_level(R wanted, R step_max, std::int64_t now) {
  int level = 0;
  R step = step_max;
  while (level <= deepest_level && (step > wanted || (now & (level_ticks(level) - 1)) != 0)) {
    ++level;
    step = step / R(2);
  }
  return level;
}

/// The level of the next step of a particle that has reached `now` with steps of `level`: halved as often as needed,
/// doubled at most once and only if `now` is an even multiple of the present step. deepest_level + 1: too short.
template <class R>
PERGOLA_HD int next_level(int level, R wanted, R step_max, std::int64_t now) {
  R step = std::ldexp(step_max, -level);
  if (step > wanted) {
    while (step > wanted && level <= deepest_level) {
      step = step / R(2);
      ++level;
    }
    return level;
  }
  if (level > 0 && R(2) * step <= wanted && (now & (level_ticks(level - 1) - 1)) == 0) return level - 1;
  return level;
}

}  // namespace pergola::physics

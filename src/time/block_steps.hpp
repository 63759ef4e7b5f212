#pragma once
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/block_steps.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// Why a particle's block step could not be taken.
enum class StepFault : std::uint8_t { none, force_not_finite, state_not_finite, step_too_short };

/// The reason in the message of a failure.
inline const char* step_fault_text(StepFault fault) {
  switch (fault) {
    case StepFault::force_not_finite:
      return "the force on it is not a finite number";
    case StepFault::state_not_finite:
      return "its position or velocity is no longer a finite number";
    default:
      return "its step fell below the shortest one (time.step_max / 2^40)";
  }
}

template <class R>
PERGOLA_HD bool is_finite(const Vec3<R>& v) {
  // A difference of a number with itself is zero unless the number is infinite or none.
  const R sum = (v.x - v.x) + (v.y - v.y) + (v.z - v.z);
  return sum == 0;
}

/// Of block steps, from the number of particles of each level.
inline std::vector<StepClass> block_step_classes(const std::int64_t (&population)[physics::deepest_level + 1],
                                                 double tick_length) {
  std::vector<StepClass> classes;
  for (int level = 0; level <= physics::deepest_level; ++level)
    if (population[level] > 0)
      classes.push_back({static_cast<double>(physics::level_ticks(level)) * tick_length, population[level]});
  return classes;
}

}  // namespace pergola

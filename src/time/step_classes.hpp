#pragma once
#include <cstdint>
#include <vector>

#include "physics/block_steps.hpp"
#include "time/integrator.hpp"

namespace pergola {

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

#include "time/step_fault.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "physics/block_steps.hpp"

namespace pergola {

const char* step_fault_text(StepFault fault) {
  switch (fault) {
    case StepFault::force_not_finite:
      return "the force on it is not a finite number";
    case StepFault::state_not_finite:
      return "its position or velocity is no longer a finite number";
    default:
      return "its step fell below the shortest one (time.step_max / 2^40)";
  }
}

Error too_many_ticks(double time) {
  return Error(ErrorKind::input, fmt::format("run.end_time: expected at most {} steps of time.step_max, found {}",
                                             physics::last_tick >> physics::deepest_level, to_text(time)));
}

}  // namespace pergola

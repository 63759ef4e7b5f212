#pragma once
#include <cstdint>

#include "base/error.hpp"
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola {

/// Why a particle's block step could not be taken.
enum class StepFault : std::uint8_t { none, force_not_finite, state_not_finite, step_too_short };

/// The sentence that tells it.
const char* step_fault_text(StepFault fault);

/// The error of a run that is longer than block times can count.
Error too_many_ticks(double time);

template <class R>
PERGOLA_HD bool is_finite(const Vec3<R>& v) {
  // A difference of a number with itself is zero unless the number is infinite or none.
  const R sum = (v.x - v.x) + (v.y - v.y) + (v.z - v.z);
  return sum == 0;
}

}  // namespace pergola

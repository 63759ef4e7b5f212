#pragma once
#include "device/device.hpp"

namespace pergola {

/// Seconds that this process has spent on finding and opening GPUs: the first time that is the start of CUDA, which
/// every process pays.
double cuda_opening_seconds();
inline double opening_seconds(const Device& device) {
  if constexpr (cuda_built) return device.is_cuda() ? cuda_opening_seconds() : 0;
  return 0;
}

}  // namespace pergola

#pragma once
#include <array>

#include "device/device.hpp"

namespace pergola {

/// The number that NVIDIA gave a GPU, or a part of one that was cut off for itself: the same for all processes, and
/// another on every machine.
using GpuIdentity = std::array<char, 16>;

/// In device/gpu_identity_cuda.cu; present where cuda_built is true.
GpuIdentity gpu_identity(const Device& device);

}  // namespace pergola

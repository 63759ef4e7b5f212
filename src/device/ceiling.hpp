#pragma once
#include "base/host_device.hpp"
#include "device/device.hpp"

namespace pergola {

/// Measures the device: fused multiply-adds per second, counted per SIMD lane or GPU thread, of a plain loop on all its
/// threads. Every rate of `pergola bench` is also given as a fraction of what this would allow. Takes about 0.1 s.
PERGOLA_API double fma_rate(const Device& device, bool double_precision);

/// Measures the device: bytes read and written per second by a plain copy of more memory than most caches hold, on all
/// its threads. The ceiling of what is bound by memory. Takes about 0.2 s.
PERGOLA_API double copy_rate(const Device& device);

/// The CUDA side (device/ceiling_cuda.cu); present where cuda_built is true.
double fma_rate_cuda(const Device& device, bool double_precision);
double copy_rate_cuda(const Device& device);

}  // namespace pergola

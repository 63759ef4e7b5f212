#pragma once
#include <cstdint>

#include "device/device.hpp"

namespace pergola {

/// Seconds per evaluation of n accelerations in single precision by the textbook tile kernel of bertinelli section 1
/// (one target per thread, tiles of block_size sources in shared memory) with the given launch configuration:
/// block_size 32 … 1024 in powers of two, unroll 1, 2, 4, 8, 16 or 32. Present where cuda_built is true.
double measure_tile_kernel(const Device& device, std::int64_t n, int block_size, int unroll);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <vector>

#include "comm/shares.hpp"
#include "domain/device_messages.hpp"

namespace pergola {

/// An array on the devices of ranks, whose values stand in a fixed order: rank r has those of (*has)[r], here from
/// `own` on, and gets those of (*wants)[r], here from `to` on.
struct StretchedArray {
  const void* own = nullptr;
  void* to = nullptr;
  std::int64_t value_bytes = 0;
  const std::vector<Stretch>* has = nullptr;
  const std::vector<Stretch>* wants = nullptr;
};

/// fetch_stretch() (comm/shares.hpp) of several arrays at once, from device to device. All ranks call it. In
/// domain/device_stretches_cuda.cu; present where cuda_built is true.
void fetch_stretches(const Device& device, DeviceMessages& messages, const std::vector<StretchedArray>& arrays);

}  // namespace pergola

#pragma once
#include "device/held_memory.hpp"

namespace pergola {

struct PlaceOnBoth {
  static void* allocate(DeviceMemory& memory, std::size_t bytes) { return memory.allocate_shared(bytes); }
  static void release(DeviceMemory& memory, void* data) noexcept { memory.release_shared(data); }
};

/// Memory for values that the host and a Device both read and write: small things that go over and come back without a
/// copy of their own.
template <class T>
using SharedBuffer = HeldMemory<T, PlaceOnBoth>;

}  // namespace pergola

#pragma once
#include <vector>

#include "device/held_memory.hpp"

namespace pergola {

struct PlaceOnDevice {
  static void* allocate(DeviceMemory& memory, std::size_t bytes) { return memory.allocate(bytes); }
  static void release(DeviceMemory& memory, void* data) noexcept { memory.release(data); }
};

/// Memory for values that lives on a Device: the host copies to and from it.
template <class T>
class Buffer : public HeldMemory<T, PlaceOnDevice> {
  using Held = HeldMemory<T, PlaceOnDevice>;
  using Held::data_, Held::device_, Held::size_;

 public:
  using Held::bytes, Held::Held;
  Buffer() = default;
  Buffer(const Device& device, const std::vector<T>& values) : Held(device, static_cast<std::int64_t>(values.size())) {
    from_host(values.data());
  }

  void from_host(const T* values) {
    if (size_ > 0) device_.memory().from_host(data_, values, bytes());
  }
  void to_host(T* values) const {
    if (size_ > 0) device_.memory().to_host(values, data_, bytes());
  }
  std::vector<T> to_host() const {
    std::vector<T> values(static_cast<std::size_t>(size_));
    to_host(values.data());
    return values;
  }
  void zero() {
    if (size_ > 0) device_.memory().zero(data_, bytes());
  }
};

}  // namespace pergola

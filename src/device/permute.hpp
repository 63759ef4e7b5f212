#pragma once
#include <cstdint>

#include "device/device.hpp"

namespace pergola {

/// to[k] = from[order[k]] on the device, for values of `bytes` bytes: 1, 4 or 8. Does not wait.
void permute_bytes(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                   int bytes);
void permute_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                  int bytes);

/// inverse[order[k]] = k on the device. Does not wait.
void invert(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse);
void invert_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse);

template <class T>
void permute(const Device& device, std::int64_t count, const std::uint32_t* order, const T* from, T* to) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8);
  permute_bytes(device, count, order, from, to, static_cast<int>(sizeof(T)));
}

}  // namespace pergola

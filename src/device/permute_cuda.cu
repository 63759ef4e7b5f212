#include "device/launch.cuh"
#include "device/permute.hpp"

namespace pergola {

namespace {

template <class T>
void permute_values(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to) {
  const T* const source = static_cast<const T*>(from);
  T* const target = static_cast<T*>(to);
  cuda::launch("permute", count, device.stream(), [=] __device__(std::int64_t k) { target[k] = source[order[k]]; });
}

}  // namespace

void permute_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                  int bytes) {
  device.make_current();
  switch (bytes) {
    case 1:
      return permute_values<std::uint8_t>(device, count, order, from, to);
    case 4:
      return permute_values<std::uint32_t>(device, count, order, from, to);
    default:
      return permute_values<std::uint64_t>(device, count, order, from, to);
  }
}

void invert_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse) {
  device.make_current();
  cuda::launch("invert", count, device.stream(),
               [=] __device__(std::int64_t k) { inverse[order[k]] = static_cast<std::uint32_t>(k); });
}

}  // namespace pergola

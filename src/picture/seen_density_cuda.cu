#include "device/launch.cuh"
#include "picture/seen_density.hpp"

namespace pergola {

/// One thread per particle. atomicAdd on whole numbers gives the same sums in any order.
void count_seen_cuda(const Device& device, std::int64_t n, const CountSeen& body, std::uint64_t* pixels) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  device.make_current();
  auto* sums = reinterpret_cast<unsigned long long*>(pixels);
  cuda::launch("seen density", n, device.stream(), [=] __device__(std::int64_t i) {
    std::uint64_t weight = 0;
    if (const std::int64_t pixel = body.pixel_of(i, weight); pixel >= 0)
      atomicAdd(sums + pixel, static_cast<unsigned long long>(weight));
  });
}

}  // namespace pergola

#include "device/launch.cuh"
#include "device/sort.hpp"

namespace pergola {

template <class Bits>
void permute_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, const Bits* from, Bits* to) {
  device.make_current();
  cuda::launch("permute", count, device.stream(), [=] __device__(std::int64_t k) { to[k] = from[order[k]]; });
}
template void permute_cuda(const Device&, std::int64_t, const std::uint32_t*, const std::uint8_t*, std::uint8_t*);
template void permute_cuda(const Device&, std::int64_t, const std::uint32_t*, const std::uint32_t*, std::uint32_t*);
template void permute_cuda(const Device&, std::int64_t, const std::uint32_t*, const std::uint64_t*, std::uint64_t*);

void invert_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse) {
  device.make_current();
  cuda::launch("invert", count, device.stream(),
               [=] __device__(std::int64_t k) { inverse[order[k]] = static_cast<std::uint32_t>(k); });
}

}  // namespace pergola

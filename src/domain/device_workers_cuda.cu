#include "device/launch.cuh"
#include "domain/device_workers.hpp"

namespace pergola {

WorkersOf Workers::of(DeviceRouting& way) {
  if (known_) return {rank_.data(), number_.data()};
  device_.make_current();
  Arena arena(device_);
  room(*this, arena, way.kept(), way.arriving());
  cuda::launch("own particles", way.arriving(), device_.stream(),
               [own = own_rank_, rank = own_ranks_.data(), number = own_numbers_.data()] __device__(std::int64_t k) {
                 rank[k] = own, number[k] = static_cast<std::uint32_t>(k);
               });
  way.back<std::uint32_t, 2>({own_ranks_.data(), own_numbers_.data()}, {rank_.data(), number_.data()});
  known_ = true;
  return {rank_.data(), number_.data()};
}

}  // namespace pergola

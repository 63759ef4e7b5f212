#include "device/launch.cuh"
#include "domain/device_workers.hpp"

namespace pergola {

WorkersOf Workers::of(DeviceRouting& way, std::uint32_t* borrowed) {
  if (known_) return {rank_.data(), number_.data()};
  device_.make_current();
  Arena arena(device_);
  room_for_kept(*this, arena, way.kept());
  if (!borrowed) {
    room_for_own(*this, arena, way.arriving());
    borrowed = own_.data();
  }
  std::uint32_t *const ranks = borrowed, *const numbers = borrowed + way.arriving();
  cuda::launch("own particles", way.arriving(), device_.stream(), [=, own = own_rank_] __device__(std::int64_t k) {
    ranks[k] = own, numbers[k] = static_cast<std::uint32_t>(k);
  });
  way.back<std::uint32_t, 2>({ranks, numbers}, {rank_.data(), number_.data()});
  known_ = true;
  return {rank_.data(), number_.data()};
}

}  // namespace pergola

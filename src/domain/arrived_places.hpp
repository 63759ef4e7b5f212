#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "device/buffer.hpp"
#include "domain/device_routing.hpp"

namespace pergola {

/// Values of kept particles, by those that arrive here by `way`, on the host. All ranks call it.
inline std::vector<std::uint32_t> arrived_values(const Device& device, DeviceRouting& way,
                                                 const std::vector<std::uint32_t>& of_kept) {
  const Buffer<std::uint32_t> kept(device, of_kept);
  Buffer<std::uint32_t> arrived(device, way.arriving());
  way.template there<std::uint32_t, 1>({kept.data()}, {arrived.data()});
  return arrived.to_host();
}

/// Where the particles that arrive here by `way` stand among all, on the host; `first`: where the first one that this
/// rank keeps does. All ranks call it.
inline std::vector<std::uint32_t> arrived_places(const Device& device, DeviceRouting& way, std::int64_t first) {
  std::vector<std::uint32_t> places(static_cast<std::size_t>(way.kept()));
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(first));
  return arrived_values(device, way, places);
}

}  // namespace pergola

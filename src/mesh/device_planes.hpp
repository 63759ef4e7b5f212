#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "domain/device_messages.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

/// Planes around those of a rank that go from device to device (domain/device_messages.hpp). All calls are made by all
/// ranks together. In mesh/device_planes_cuda.cu; present where cuda_built is true.
class DevicePlanes {
 public:
  DevicePlanes(const Device& device, std::shared_ptr<Communicator> ranks);
  /// With rooms that are somebody else's, too.
  explicit DevicePlanes(std::shared_ptr<DeviceMessages> messages);

  /// PlanesAround::fetch(), of several fields in one exchange.
  struct Wanted {
    const PlanesAround* around = nullptr;
    std::byte* first = nullptr;
    std::size_t plane_bytes = 0;
    const std::byte* owned = nullptr;  // the planes of the slab, where these are not those from `first` on
  };
  void fetch(const std::vector<Wanted>& fields);
  void fetch(const PlanesAround& around, std::byte* first, std::size_t plane_bytes) {
    fetch({{&around, first, plane_bytes}});
  }
  /// PlanesAround::give(), for planes that stand before and after the rank's first. What arrives is where loops of the
  /// device reach it, until the next call.
  const std::byte* give(const PlanesAround& around, const std::byte* first, std::size_t plane_bytes);
  /// Every rank's piece of an array, in the order of ranks, to all; the rank's own stands at its place already.
  void gather(std::byte* all, const std::vector<std::size_t>& piece_bytes);

 private:
  void exchange(const std::byte* out, const std::vector<std::size_t>& leaving, std::byte* in,
                const std::vector<std::size_t>& coming, std::size_t plane_bytes);

  Device device_;
  std::shared_ptr<DeviceMessages> messages_;
};

}  // namespace pergola

#pragma once
#include <cstdint>
#include <memory>

#include "device/buffer.hpp"
#include "device/device.hpp"

namespace pergola {

/// The particles of a run where they live, lent between two steps: arrays on the device of the run, in the order of
/// memory and in the numbers of the run. Places and velocities may be changed; masses, species and ids may not.
struct LentParticles {
  Device device;
  double time = 0;  // of the places and the velocities
  std::int64_t count = 0;
  bool single = false;  // numbers are floats; else doubles
  void *x = nullptr, *y = nullptr, *z = nullptr;
  void *vx = nullptr, *vy = nullptr, *vz = nullptr;
  const void* mass = nullptr;
  const std::uint8_t* species = nullptr;
  const std::uint64_t* id = nullptr;
  std::shared_ptr<const Buffer<std::uint64_t>> sorted_id;  // what `id` points to where memory has an order of its own
};

}  // namespace pergola

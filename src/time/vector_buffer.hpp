#pragma once
#include <string>
#include <vector>

#include "base/state_blocks.hpp"
#include "base/vec.hpp"
#include "device/buffer.hpp"

namespace pergola {

/// One value of a buffer; waits.
template <class T>
T value_at(const Buffer<T>& buffer, std::int64_t i, const Device& device) {
  T value;
  device.memory().to_host(&value, buffer.data() + i, sizeof(T));
  return value;
}

/// One three-vector per particle on a device, as three arrays.
template <class Real>
struct VectorBuffer {
  Buffer<Real> x, y, z;

  VectorBuffer() = default;
  VectorBuffer(const Device& device, std::int64_t size) : x(device, size), y(device, size), z(device, size) {}
  VectorBuffer(const Device& device, const std::vector<double>& from_x, const std::vector<double>& from_y,
               const std::vector<double>& from_z)
      : x(device, std::vector<Real>(from_x.begin(), from_x.end())),
        y(device, std::vector<Real>(from_y.begin(), from_y.end())),
        z(device, std::vector<Real>(from_z.begin(), from_z.end())) {}

  void zero() { x.zero(), y.zero(), z.zero(); }

  /// Element access, for buffers that live on the CPU.
  Vec3<double> at(std::int64_t i) const {
    return {static_cast<double>(x.data()[i]), static_cast<double>(y.data()[i]), static_cast<double>(z.data()[i])};
  }
  void set(std::int64_t i, const Vec3<double>& v) {
    x.data()[i] = static_cast<Real>(v.x), y.data()[i] = static_cast<Real>(v.y), z.data()[i] = static_cast<Real>(v.z);
  }

  /// One vector of it, wherever it lives; waits.
  Vec3<double> fetch(std::int64_t i, const Device& device) const {
    return {static_cast<double>(value_at(x, i, device)), static_cast<double>(value_at(y, i, device)),
            static_cast<double>(value_at(z, i, device))};
  }

  void save(StateBlocks& blocks, const std::string& name) const {
    blocks.put(name + ".x", x.to_host());
    blocks.put(name + ".y", y.to_host());
    blocks.put(name + ".z", z.to_host());
  }
  void restore(const StateBlocks& blocks, const std::string& name, const Device& device, std::size_t size) {
    x = Buffer<Real>(device, blocks.get<Real>(name + ".x", size));
    y = Buffer<Real>(device, blocks.get<Real>(name + ".y", size));
    z = Buffer<Real>(device, blocks.get<Real>(name + ".z", size));
  }
};

}  // namespace pergola

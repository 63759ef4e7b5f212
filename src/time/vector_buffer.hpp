#pragma once
#include <vector>

#include "base/vec.hpp"
#include "device/arena.hpp"

namespace pergola {

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
};

/// Room for `size` vectors; device/arena.hpp.
template <class Vectors>
void room(Arena& arena, Vectors& vectors, std::int64_t size) {
  arena.room(vectors.x, size), arena.room(vectors.y, size), arena.room(vectors.z, size);
}

}  // namespace pergola

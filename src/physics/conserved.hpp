#pragma once
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// What one particle adds to the conserved quantities of its system.
template <class R>
PERGOLA_HD R kinetic_energy(R mass, const Vec3<R>& v) {
  return R(0.5) * mass * dot(v, v);
}
template <class R>
PERGOLA_HD Vec3<R> momentum(R mass, const Vec3<R>& v) {
  return mass * v;
}
/// About the origin.
template <class R>
PERGOLA_HD Vec3<R> angular_momentum(R mass, const Vec3<R>& x, const Vec3<R>& v) {
  return mass * cross(x, v);
}

}  // namespace pergola::physics

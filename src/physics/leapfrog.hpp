#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Velocity after dt under a constant acceleration.
template <class R>
PERGOLA_HD void kick(R dt, Vec3<R>& v, const Vec3<R>& a) {
  v = v + dt * a;
}

/// Position after dt at constant velocity.
template <class R>
PERGOLA_HD void drift(R dt, Vec3<R>& x, const Vec3<R>& v) {
  x = x + dt * v;
}

/// State between two synchronous leapfrog times, to second order: x + v dt + a dt²/2, v + a dt. Used for output only.
template <class R>
PERGOLA_HD void leapfrog_predict(R dt, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a) {
  x = x + dt * (v + (dt / R(2)) * a);
  v = v + dt * a;
}

/// Acceleration step criterion √(2 η ε / |a|). Springel 2005, eq. 34.
template <class R>
PERGOLA_HD R acceleration_step(R eta, R epsilon, const Vec3<R>& a) {
  const R a2 = dot(a, a);
  return a2 > R(0) ? std::sqrt(R(2) * eta * epsilon / std::sqrt(a2)) : R(INFINITY);
}

}  // namespace pergola::physics

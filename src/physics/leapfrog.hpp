#pragma once
/// The leapfrog integrator: kicks, drifts, prediction between its times, and time steps.
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

/// One axis of drift().
template <class R>
PERGOLA_HD void drift_axis(R dt, R& x, R v) {
  x = x + dt * v;
}

/// One axis of two kicks and a drift: v + a first, then + a second, then x + v dt. Each sum is rounded by itself, so
/// the bits do not depend on whether kicks and drift are one loop.
template <class R>
PERGOLA_HD void kick_drift_axis(R first, R second, R dt, R& x, R& v, R a) {
  v = v + first * a;
  v = v + second * a;
  x = x + dt * v;
}

/// State between two synchronous leapfrog times, to second order: x + v dt + a dt²/2, v + a dt, where drift and kick
/// are both dt unless space expands. Used for output only.
template <class R>
PERGOLA_HD void leapfrog_predict(R drift, R kick, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a) {
  x = x + drift * (v + (kick / R(2)) * a);
  v = v + kick * a;
}

/// Turns a block step after its opening kick and drift to now into a shorter one, of length `whole`, that ends `ahead`
/// after now. The opening kick was too long by `excess`, and so was the velocity of the drift. Times are the factors of
/// velocities and accelerations. The closing kick remains to be done.
template <class R>
PERGOLA_HD void shorten_step(R excess, R whole, R ahead, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a) {
  x = x + (ahead * v - (whole * excess) * a);
  v = v - excess * a;
}

/// Acceleration step criterion √(2 η ε / |a|). Springel 2005, eq. 34.
template <class R>
PERGOLA_HD R acceleration_step(R eta, R epsilon, const Vec3<R>& a) {
  const R a2 = dot(a, a);
  return a2 > R(0) ? std::sqrt(R(2) * eta * epsilon / std::sqrt(a2)) : R(INFINITY);
}

/// The time in which a particle moves by `length`: a Courant-like bound on the step of a mesh.
template <class R>
PERGOLA_HD R courant_step(R length, const Vec3<R>& v) {
  const R v2 = dot(v, v);
  return v2 > R(0) ? length / std::sqrt(v2) : R(INFINITY);
}

}  // namespace pergola::physics

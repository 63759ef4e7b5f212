#pragma once
/// A cluster on an orbit in a larger field, in the frame that turns with it (Hill's approximation).
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// The distance of the Lagrange points from a cluster of G times its mass `gm`: (G m/(Ω² − d²Φ/dR²))^{1/3}, with the
/// angular speed Ω and the field's potential Φ at the distance R of the cluster. 0 where the field pulls nothing apart.
/// King 1962, AJ 67, 471, eq. 11; Binney & Tremaine 2008, section 8.3.
template <class R>
PERGOLA_HD R tidal_radius(R gm, R rate2, R second_derivative) {
  const R stretch = rate2 - second_derivative;
  return gm > R(0) && stretch > R(0) ? std::cbrt(gm / stretch) : R(0);
}

/// Jacobi's energy at the Lagrange points: −(3/2) G m/r_J. Binney & Tremaine 2008, section 8.3.
template <class R>
PERGOLA_HD R lagrange_energy(R gm, R tidal_radius) {
  return R(-1.5) * gm / tidal_radius;
}

/// Jacobi's energy per mass relative to a cluster that turns with `rate`: v²/2 + φ + Φ_t − |Ω × r|²/2 with the velocity
/// v − Ω × r in the turning frame; `own` is the potential φ of the cluster, `tide` Φ_t the field's potential less its
/// value and slope at the cluster. Binney & Tremaine 2008, eq. 3.113, about the cluster.
template <class R>
PERGOLA_HD R jacobi_energy(const Vec3<R>& place, const Vec3<R>& velocity, const Vec3<R>& rate, R own, R tide) {
  const Vec3<R> turn = cross(rate, place), turning = velocity - turn;
  return R(0.5) * (dot(turning, turning) - dot(turn, turn)) + own + tide;
}

}  // namespace pergola::physics

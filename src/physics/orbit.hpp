#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Two-body orbital elements. Bound: semi_major_axis > 0; unbound: < 0, with an infinite period.
template <class R>
struct OrbitElements {
  R semi_major_axis, eccentricity, period;
  R specific_energy;  // v²/2 − µ/r, per unit reduced mass
};

/// The Kepler orbit through a relative position r and velocity v, with µ = G (m₁ + m₂). Vis-viva 1/a = 2/r − v²/µ;
/// e = v × (r × v)/µ − r̂; P = 2π √(a³/µ). Murray & Dermott 1999, "Solar System Dynamics", chapter 2.
template <class R>
PERGOLA_HD OrbitElements<R> orbit_elements(const Vec3<R>& r, const Vec3<R>& v, R mu) {
  const R distance = std::sqrt(dot(r, r));
  const R inverse_axis = R(2) / distance - dot(v, v) / mu;
  const Vec3<R> e = (R(1) / mu) * cross(v, cross(r, v)) - (R(1) / distance) * r;
  const R axis = R(1) / inverse_axis;
  const R period = axis > R(0) ? R(6.283185307179586476925) * std::sqrt(axis * axis * axis / mu) : R(INFINITY);
  return {axis, std::sqrt(dot(e, e)), period, -mu * inverse_axis / R(2)};
}

/// What it takes to part two bodies: m₁ m₂ (G/r − v²/(2 (m₁ + m₂))), the negative energy of their relative motion.
template <class R>
PERGOLA_HD R pair_binding_energy(const Vec3<R>& r, const Vec3<R>& v, R m1, R m2, R g) {
  return m1 * m2 * (g / std::sqrt(dot(r, r)) - dot(v, v) / (R(2) * (m1 + m2)));
}

}  // namespace pergola::physics

#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

// Quantities that describe a system of particles about a centre. Units follow those of the arguments.
// Binney & Tremaine 2008, "Galactic Dynamics" (BT).

/// The volume between two spheres, 4π/3 (b³ − a³).
template <class R>
PERGOLA_HD R shell_volume(R inner, R outer) {
  return R(4 * std::numbers::pi / 3) * (outer * outer * outer - inner * inner * inner);
}

/// The area between two circles, π (b² − a²).
template <class R>
PERGOLA_HD R ring_area(R inner, R outer) {
  return R(std::numbers::pi) * (outer * outer - inner * inner);
}

/// Components of a velocity at r along the directions of spherical coordinates about z: away from the centre, towards
/// larger polar angle, and about the axis.
template <class R>
struct SphericalVelocity {
  R radial, polar, azimuthal;
};
template <class R>
PERGOLA_HD SphericalVelocity<R> spherical_velocity(const Vec3<R>& r, const Vec3<R>& v) {
  const R across2 = r.x * r.x + r.y * r.y, across = std::sqrt(across2), distance = std::sqrt(across2 + r.z * r.z);
  if (!(distance > R(0))) return {R(0), R(0), R(0)};
  const R radial = dot(r, v) / distance;
  if (!(across > R(0))) return {radial, r.z > R(0) ? v.x : -v.x, v.y};
  const R outward = (r.x * v.x + r.y * v.y) / across;
  return {radial, (r.z * outward - across * v.z) / distance, (r.x * v.y - r.y * v.x) / across};
}

/// The anisotropy β = 1 − (σ_θ² + σ_φ²)/(2 σ_r²): 0 where velocities are isotropic, 1 for radial orbits. BT eq. 4.61.
template <class R>
PERGOLA_HD R anisotropy(R radial2, R polar2, R azimuthal2) {
  return R(1) - (polar2 + azimuthal2) / (R(2) * radial2);
}

/// The speed on a circle about a mass within, √(G M/r). BT eq. 2.29.
template <class R>
PERGOLA_HD R circular_speed(R g, R mass_within, R radius) {
  return std::sqrt(g * mass_within / radius);
}

}  // namespace pergola::physics

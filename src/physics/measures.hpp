#pragma once
/// What is measured of a system of particles: conserved quantities, shells and rings, velocities about a centre, and
/// the strength of a bar. Units follow those of the arguments.
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Contributions of one particle to the conserved quantities of its system.
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

/// Sums over particles of a disc at azimuths φ: mass, and mass times exp(2iφ).
struct BarSums {
  double mass = 0, cosine = 0, sine = 0;

  void add(double m, double x, double y) {
    const double r2 = x * x + y * y;
    mass += m;
    if (!(r2 > 0)) return;
    cosine += m * (x * x - y * y) / r2;  // cos 2φ
    sine += m * 2 * x * y / r2;          // sin 2φ
  }
  /// The strength of the bar |Σ m exp(2iφ)|/Σ m, 0 for a round disc and 1 for a line. Athanassoula & Misiriotis 2002,
  /// MNRAS 330, 35, section 6, without their factor 2 of a density's Fourier coefficient.
  double strength() const { return mass > 0 ? std::hypot(cosine, sine) / mass : 0; }
  /// The azimuth of the bar's long side, in (−π/2, π/2].
  double phase() const { return std::atan2(sine, cosine) / 2; }
};

}  // namespace pergola::physics

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

/// How an orbit lies in space, in radians: inclination to the plane z = 0 (0 … π), longitude of the ascending node,
/// argument of the pericentre and true anomaly (each 0 … 2π). Where an angle does not exist it is 0: the node of an
/// orbit in the plane (the pericentre is then counted from the x axis), the pericentre of a circle (the anomaly is then
/// counted from the node). Murray & Dermott 1999, section 2.8.
template <class R>
struct OrbitAngles {
  R inclination, node, pericentre, true_anomaly;
};

/// The angle from a to b about the axis n, all of any length, in [0, 2π).
template <class R>
PERGOLA_HD R angle_about(const Vec3<R>& a, const Vec3<R>& b, const Vec3<R>& n) {
  const R across = dot(cross(a, b), n) / std::sqrt(dot(n, n)), angle = std::atan2(across, dot(a, b));
  return angle < R(0) ? angle + R(6.283185307179586476925) : angle;
}

template <class R>
PERGOLA_HD OrbitAngles<R> orbit_angles(const Vec3<R>& r, const Vec3<R>& v, R mu) {
  const Vec3<R> l = cross(r, v), z{R(0), R(0), R(1)}, x{R(1), R(0), R(0)};
  const R size = std::sqrt(dot(l, l)), across = std::sqrt(l.x * l.x + l.y * l.y);
  const Vec3<R> e = (R(1) / mu) * cross(v, l) - (R(1) / std::sqrt(dot(r, r))) * r;
  const bool flat = !(across > R(1e-12) * size), round = !(dot(e, e) > R(1e-24));
  const Vec3<R> node = flat ? x : cross(z, l), from = round ? node : e;
  return {std::atan2(across, l.z), flat ? R(0) : angle_about(x, node, z), round ? R(0) : angle_about(node, e, l),
          angle_about(from, r, l)};
}

/// What it takes to part two bodies: m₁ m₂ (G/r − v²/(2 (m₁ + m₂))), the negative energy of their relative motion.
template <class R>
PERGOLA_HD R pair_binding_energy(const Vec3<R>& r, const Vec3<R>& v, R m1, R m2, R g) {
  return m1 * m2 * (g / std::sqrt(dot(r, r)) - dot(v, v) / (R(2) * (m1 + m2)));
}

}  // namespace pergola::physics

#pragma once
/// The two-body problem: states on an orbit from its elements, and elements and angles from a state.
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

// The two-body problem with relative acceleration −μ r/|r|³, μ = G (m1 + m2). Danby 1988, Fundamentals of Celestial
// Mechanics, chapter 6. The semi-major axis of a hyperbola is negative.

/// The speed at distance r, from the energy: v² = μ (2/r − 1/a). Vis-viva equation.
template <class R>
PERGOLA_HD R vis_viva_speed(R mu, R r, R inverse_semi_major_axis) {
  return std::sqrt(mu * (R(2) / r - inverse_semi_major_axis));
}

/// The speed across the line of sight from the centre, at distance r on the orbit with pericentre q and eccentricity e:
/// L/r with L² = μ q (1 + e).
template <class R>
PERGOLA_HD R kepler_transverse_speed(R mu, R pericentre, R eccentricity, R r) {
  return std::sqrt(mu * pericentre * (R(1) + eccentricity)) / r;
}

/// A place on the orbit with pericentre q on the +x axis, in the plane z = 0, turning about +z.
template <class R>
struct KeplerState {
  Vec3<R> x, v;
};

/// The cosine of the angle from the pericentre at distance r: r = p/(1 + e cos ν), p = q (1 + e). For a circle 1.
template <class R>
PERGOLA_HD R kepler_anomaly_cosine(R pericentre, R eccentricity, R r) {
  if (eccentricity == R(0)) return R(1);
  const R c = (pericentre * (R(1) + eccentricity) / r - R(1)) / eccentricity;
  return c > R(1) ? R(1) : c < R(-1) ? R(-1) : c;
}

/// At distance r on the way in, or at the apocentre: v = √(μ/p) (−sin ν, e + cos ν).
template <class R>
PERGOLA_HD KeplerState<R> kepler_inbound_state(R mu, R pericentre, R eccentricity, R r) {
  const R c = kepler_anomaly_cosine(pericentre, eccentricity, r), s = -std::sqrt((R(1) - c) * (R(1) + c));
  const R unit = std::sqrt(mu / (pericentre * (R(1) + eccentricity)));
  return {{r * c, r * s, R(0)}, {-unit * s, unit * (eccentricity + c), R(0)}};
}

/// The time from distance r on the way in to the pericentre: Kepler's equation E − e sin E, for a hyperbola
/// e sinh F − F, for a parabola Barker's equation √(2 q³/μ) (D + D³/3) with D = tan(ν/2). Also with t = D √(|1 − e|/
/// (1 + e)) = tan(E/2) or tanh(F/2).
template <class R>
PERGOLA_HD R kepler_time_to_pericentre(R mu, R pericentre, R eccentricity, R r) {
  const R c = kepler_anomaly_cosine(pericentre, eccentricity, r), e = eccentricity;
  const R d = std::sqrt((R(1) - c) / (R(1) + c));
  if (e == R(1)) return std::sqrt(R(2) * pericentre * pericentre * pericentre / mu) * (d + d * d * d / R(3));
  const R axis = pericentre / std::abs(R(1) - e), unit = std::sqrt(axis * axis * axis / mu);
  const R t = d * std::sqrt(std::abs(R(1) - e) / (R(1) + e));
  if (e < R(1)) {
    const R anomaly = R(2) * std::atan(t);
    return unit * (anomaly - e * std::sin(anomaly));
  }
  const R anomaly = R(2) * std::atanh(t);
  return unit * (e * std::sinh(anomaly) - anomaly);
}

/// 2π √(a³/μ). Kepler's third law.
template <class R>
PERGOLA_HD R kepler_period(R mu, R semi_major_axis) {
  return R(2 * std::numbers::pi) * semi_major_axis * std::sqrt(semi_major_axis / mu);
}

/// a = ∛(μ (P/2π)²). Kepler's third law.
template <class R>
PERGOLA_HD R kepler_semi_major_axis(R mu, R period) {
  const R turn = period / R(2 * std::numbers::pi);
  return std::cbrt(mu * turn * turn);
}

/// E of M = E − e sin E, for e < 1. Newton's method from Danby's start, E = M + 0.85 e sign(sin M): Danby 1988,
/// section 6.6.
template <class R>
PERGOLA_HD R kepler_eccentric_anomaly(R mean_anomaly, R e) {
  R anomaly = mean_anomaly + std::copysign(R(0.85) * e, std::sin(mean_anomaly));
  for (int round = 0; round < 50; ++round) {
    const R step = (anomaly - e * std::sin(anomaly) - mean_anomaly) / (R(1) - e * std::cos(anomaly));
    anomaly -= step;
    if (std::abs(step) < R(1e-15) * (R(1) + std::abs(anomaly))) break;
  }
  return anomaly;
}

/// Place and velocity at the eccentric anomaly E, with the pericentre on the +x axis: (a (cos E − e), b sin E) with
/// b = a √(1 − e²). Murray & Dermott 1999, eqs. 2.40 and 2.41.
template <class R>
PERGOLA_HD KeplerState<R> kepler_ellipse_state(R mu, R a, R e, R anomaly) {
  const R c = std::cos(anomaly), s = std::sin(anomaly), flat = std::sqrt((R(1) - e) * (R(1) + e));
  const R speed = std::sqrt(mu / a) / (R(1) - e * c);
  return {{a * (c - e), a * flat * s, R(0)}, {-speed * s, speed * flat * c, R(0)}};
}

/// The energy of the pair, −G m1 m2/(2 a).
template <class R>
PERGOLA_HD R kepler_energy(R g, R mass_1, R mass_2, R inverse_semi_major_axis) {
  return -g * mass_1 * mass_2 * inverse_semi_major_axis / R(2);
}

/// The angular speed of three bodies on an equilateral triangle, √(μ/side³) with μ = G (m1 + m2 + m3): each is pulled
/// to the centre of mass as if the whole mass acted at the distance of the side. Lagrange 1772.
template <class R>
PERGOLA_HD R lagrange_angular_speed(R mu, R side) {
  return std::sqrt(mu / side) / side;
}

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

/// The orientation of an orbit in radians: inclination to the plane z = 0 (0 … π), longitude of the ascending node,
/// argument of the pericentre and true anomaly (each 0 … 2π). An undefined angle is 0: the node of an orbit in the
/// plane (the pericentre then counts from the x axis), the pericentre of a circle (the anomaly then counts from the
/// node). Murray & Dermott 1999, section 2.8.
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

/// The energy that separates two bodies: m₁ m₂ (G/r − v²/(2 (m₁ + m₂))), the negative energy of their relative motion.
template <class R>
PERGOLA_HD R pair_binding_energy(const Vec3<R>& r, const Vec3<R>& v, R m1, R m2, R g) {
  return m1 * m2 * (g / std::sqrt(dot(r, r)) - dot(v, v) / (R(2) * (m1 + m2)));
}

}  // namespace pergola::physics

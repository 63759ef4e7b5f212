#pragma once
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

/// The cosine of the angle from the pericentre at distance r: r = p/(1 + e cos ν), p = q (1 + e). A circle is entered
/// at its pericentre.
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

}  // namespace pergola::physics

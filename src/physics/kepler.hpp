#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

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

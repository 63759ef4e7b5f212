#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

// Plummer's sphere of mass 1 and scale radius 1 with G = 1: density ∝ (1 + r²)^(−5/2).
// Aarseth, Hénon & Wielen 1974, A&A 37, 183 (AHW), appendix.

/// The mass within r: r³ (1 + r²)^(−3/2).
template <class R>
PERGOLA_HD R plummer_mass_within(R r) {
  const R q = r / std::sqrt(R(1) + r * r);
  return q * q * q;
}

/// The radius that holds the mass m: (m^(−2/3) − 1)^(−1/2).
template <class R>
PERGOLA_HD R plummer_radius(R m) {
  const R q = std::cbrt(m);
  return q / std::sqrt((R(1) - q) * (R(1) + q));
}

/// The escape speed at r: √2 (1 + r²)^(−1/4).
template <class R>
PERGOLA_HD R plummer_escape_speed(R r) {
  return std::sqrt(R(2) / std::sqrt(R(1) + r * r));
}

/// The distribution of q = speed / escape speed, not normalised: q² (1 − q²)^(7/2). Its largest value,
/// 0.0922, is at q² = 2/9.
template <class R>
PERGOLA_HD R plummer_speed_weight(R q) {
  const R s = R(1) - q * q;
  return q * q * s * s * s * std::sqrt(s);
}
inline constexpr double plummer_speed_weight_bound = 0.1;

/// The scale radius in units of the virial radius G M²/(2 |W|), from W = −(3π/32) G M²/a. With it E = −1/4 in N-body
/// units.
inline constexpr double plummer_scale_per_virial_radius = 3 * std::numbers::pi / 16;

}  // namespace pergola::physics

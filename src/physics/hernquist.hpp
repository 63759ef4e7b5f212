#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

// Hernquist's sphere of mass 1 and scale radius 1 with G = 1: ρ = 1/(2π r (1 + r)³), potential −1/(1 + r).
// Hernquist 1990, ApJ 356, 359.

/// The density at r. Eq. 2.
template <class R>
PERGOLA_HD R hernquist_density(R r) {
  const R s = R(1) + r;
  return R(1) / (R(2 * std::numbers::pi) * r * s * s * s);
}

/// dlnρ/dlnr = −(1 + 4 r)/(1 + r).
template <class R>
PERGOLA_HD R hernquist_log_slope(R r) {
  return -(R(1) + R(4) * r) / (R(1) + r);
}

/// The mass within r: r²/(1 + r)². Eq. 3.
template <class R>
PERGOLA_HD R hernquist_mass_within(R r) {
  const R q = r / (R(1) + r);
  return q * q;
}

/// The depth of the potential at r: 1/(1 + r). Eq. 5.
template <class R>
PERGOLA_HD R hernquist_depth(R r) {
  return R(1) / (R(1) + r);
}

/// The isotropic distribution function (mass per volume of phase space) at the binding energy E, 0 ≤ E < 1. Eq. 17 with
/// q² = E: (1 − q²)^(−5/2) [3 asin q + q √(1 − q²) (1 − 2 q²)(8 q⁴ − 8 q² − 3)]/(8 √2 π³). Where the bracket would lose
/// its digits, by its series.
template <class R>
PERGOLA_HD R hernquist_distribution(R energy) {
  const R q = std::sqrt(energy), s = R(1) - energy, e = energy;
  const R bracket =
      e < R(0.01)
          ? e * e * q *
                (R(128) / R(5) + e * (-R(192) / R(7) + e * (R(16) / R(3) + e * (R(8) / R(11) + e * (R(3) / R(13))))))
          : R(3) * std::asin(q) + q * std::sqrt(s) * (R(1) - R(2) * e) * (R(8) * e * e - R(8) * e - R(3));
  const R pi = R(std::numbers::pi);
  return bracket / (s * s * std::sqrt(s) * R(8 * std::numbers::sqrt2) * pi * pi * pi);
}

}  // namespace pergola::physics

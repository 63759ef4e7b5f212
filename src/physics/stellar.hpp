#pragma once
/// Populations of stars: mass functions, and the periods of binaries.
#include <cmath>

#include "base/host_device.hpp"

namespace pergola::physics {

/// ∫ m^(k − slope) dm from `low` to `high`: for k = 0 a number of stars, for k = 1 their mass.
template <class R>
PERGOLA_HD R power_law_moment(R slope, R low, R high, int k) {
  const R power = R(k) + R(1) - slope;
  if (power == R(0)) return std::log(high / low);
  return (std::pow(high, power) - std::pow(low, power)) / power;
}

/// The mass below which the part u of the stars between `low` and `high` lies, dN/dm ∝ m^−slope.
template <class R>
PERGOLA_HD R power_law_quantile(R slope, R low, R high, R u) {
  const R power = R(1) - slope;
  if (power == R(0)) return low * std::pow(high / low, u);
  const R a = std::pow(low, power), b = std::pow(high, power);
  return std::pow(a + u * (b - a), R(1) / power);
}

/// Salpeter 1955, ApJ 121, 161: dN/dm ∝ m^−2.35.
inline constexpr double salpeter_slope = 2.35;
/// Kroupa 2001, MNRAS 322, 231, eq. 2: the slopes below, between and above the borders, in solar masses.
inline constexpr double kroupa_slopes[] = {0.3, 1.3, 2.3}, kroupa_borders[] = {0.08, 0.5};

/// log10 of the period in days of Sun-like stars is normal. Raghavan et al. 2010, ApJS 190, 1, section 5.3.2.
inline constexpr double raghavan_mean = 5.03, raghavan_deviation = 2.28;
/// The same of Duquennoy & Mayor 1991, A&A 248, 485, section 7.
inline constexpr double duquennoy_mean = 4.8, duquennoy_deviation = 2.3;

/// log10 of the period in days at birth, below which the part u of the binaries lies: density 2.5 (l − 1)/(45 +
/// (l − 1)²) from 1 to 8.43. Kroupa 1995, MNRAS 277, 1507, eq. 8.
template <class R>
PERGOLA_HD R kroupa_log_period(R u) {
  return R(1) + std::sqrt(R(45) * (std::exp(R(0.8) * u) - R(1)));
}

}  // namespace pergola::physics

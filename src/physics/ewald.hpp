#pragma once
#include <cmath>

#include "base/vec.hpp"

namespace pergola::physics {

/// The short-range part of a unit mass in Ewald's sum: acceleration towards it of a particle at separation d, without
/// G. d (erfc(αr)/r³ + 2α/√π e^{−α²r²}/r²). Ewald 1921; Hernquist, Bouchet & Suto 1991, eq. 2.14b.
inline Vec3<double> ewald_short_range(double alpha, const Vec3<double>& d) {
  const double r2 = dot(d, d), r = std::sqrt(r2);
  if (r2 == 0) return {0, 0, 0};
  constexpr double two_over_sqrt_pi = 1.1283791670955126;
  const double scale = std::erfc(alpha * r) / (r2 * r) + two_over_sqrt_pi * alpha * std::exp(-alpha * alpha * r2) / r2;
  return scale * d;
}

/// The weight of a wave vector in the long-range part, without G: 4π e^{−k²/4α²} / (V k²).
inline double ewald_wave_weight(double alpha, double k2, double volume) {
  constexpr double four_pi = 12.566370614359172;
  return four_pi * std::exp(-k2 / (4 * alpha * alpha)) / (volume * k2);
}

}  // namespace pergola::physics

#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/pair.hpp"

namespace pergola::physics {

/// The short-range part of a unit mass in Ewald's sum: acceleration towards it of a particle at separation d, without
/// G. d (erfc(αr)/r³ + 2α/√π e^{−α²r²}/r²). Ewald 1921; Hernquist, Bouchet & Suto 1991, eq. 2.14b.
PERGOLA_HD Vec3<double> ewald_short_range(double alpha, const Vec3<double>& d) {
  const double r2 = dot(d, d), r = std::sqrt(r2);
  if (r2 == 0) return {0, 0, 0};
  constexpr double two_over_sqrt_pi = 1.1283791670955126;
  const double scale = std::erfc(alpha * r) / (r2 * r) + two_over_sqrt_pi * alpha * std::exp(-alpha * alpha * r2) / r2;
  return scale * d;
}

/// Adds a mass at separation d to the short-range sum of a target: Ewald's short range. The nearest image is softened:
/// if d > 0, `softened(d, mass, sum)` replaces Newton's force.
template <class Softened>
PERGOLA_HD void add_ewald_pair(double alpha, const Vec3<double>& d, double mass, const Softened& softened,
                               PairSum<double>& sum) {
  const Vec3<double> bare = mass * ewald_short_range(alpha, d);
  sum.ax += bare.x, sum.ay += bare.y, sum.az += bare.z;
  const double r2 = dot(d, d);
  if (!(r2 > 0)) return;
  PairSum<double> change{};
  softened(d, mass, change);
  add_pair<false, false>(d, d, -mass, rsqrt(r2), change);
  sum.ax += change.ax, sum.ay += change.ay, sum.az += change.az;
}

/// The weight of a wave vector in the long-range part, without G: 4π e^{−k²/4α²} / (V k²).
inline double ewald_wave_weight(double alpha, double k2, double volume) {
  constexpr double four_pi = 12.566370614359172;
  return four_pi * std::exp(-k2 / (4 * alpha * alpha)) / (volume * k2);
}

}  // namespace pergola::physics

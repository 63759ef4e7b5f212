#pragma once
#include <cmath>

#include "base/host_device.hpp"

namespace pergola::physics {

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

#pragma once
#include <cmath>

#include "physics/quadrature.hpp"

namespace pergola::physics {

/// The slope at x of the parabola through three points (Lagrange's interpolation).
inline double parabola_slope(const double (&xs)[3], const double (&ys)[3], double x) {
  const double d01 = xs[1] - xs[0], d02 = xs[2] - xs[0], d12 = xs[2] - xs[1];
  return ys[0] * (2 * x - xs[1] - xs[2]) / (d01 * d02) - ys[1] * (2 * x - xs[0] - xs[2]) / (d01 * d12) +
         ys[2] * (2 * x - xs[0] - xs[1]) / (d02 * d12);
}

/// ∫ exp(p) over a stretch of the given length, p the cubic with these values and slopes at its ends (Hermite's
/// interpolation).
inline double exponential_cubic_integral(double length, double y0, double slope0, double y1, double slope1) {
  const auto value = [&](double u) {
    const double v = 1 - u;
    return std::exp(v * v * (y0 * (1 + 2 * u) + slope0 * length * u) +
                    u * u * (y1 * (1 + 2 * v) - slope1 * length * v));
  };
  return length * gauss_legendre(value, 0, 1);
}

}  // namespace pergola::physics

#pragma once
#include <cmath>

namespace pergola::physics {

/// The slope at x of the parabola through three points (Lagrange's interpolation).
inline double parabola_slope(const double (&xs)[3], const double (&ys)[3], double x) {
  const double d01 = xs[1] - xs[0], d02 = xs[2] - xs[0], d12 = xs[2] - xs[1];
  return ys[0] * (2 * x - xs[1] - xs[2]) / (d01 * d02) - ys[1] * (2 * x - xs[0] - xs[2]) / (d01 * d12) +
         ys[2] * (2 * x - xs[0] - xs[1]) / (d02 * d12);
}

/// ∫ exp(p) over a stretch of the given length, p the cubic with these values and slopes at its ends (Hermite's
/// interpolation). Gauss and Legendre's rule with 5 points: exact to 1e-9 of the integral where p changes by less than
/// 2.
inline double exponential_cubic_integral(double length, double y0, double slope0, double y1, double slope1) {
  constexpr double places[3] = {0, 0.538469310105683, 0.906179845938664};
  constexpr double weights[3] = {0.568888888888889, 0.478628670499366, 0.236926885056189};
  const auto value = [&](double place) {
    const double u = (1 + place) / 2, v = 1 - u;
    return std::exp(v * v * (y0 * (1 + 2 * u) + slope0 * length * u) +
                    u * u * (y1 * (1 + 2 * v) - slope1 * length * v));
  };
  double sum = weights[0] * value(places[0]);
  for (int k = 1; k < 3; ++k) sum += weights[k] * (value(places[k]) + value(-places[k]));
  return sum * length / 2;
}

}  // namespace pergola::physics

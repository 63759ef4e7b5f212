#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "physics/cosmology.hpp"

namespace pergola::physics {

/// How displacements of each order of Lagrangian perturbation theory have grown, and their rates d ln D / d ln a. D1 is
/// 1 today; the others are of its second and third power (in an Einstein–de Sitter universe −3/7 D1², −1/3, 10/21 and
/// −1/7 of D1³).
struct Growth {
  double d1 = 0, d2 = 0, d3a = 0, d3b = 0, d3c = 0;
  double f1 = 0, f2 = 0, f3a = 0, f3b = 0, f3c = 0;
};

namespace growth_equations {

/// D1, D2, D3a, D3b, D3c, then their derivatives with respect to ln a.
using State = std::array<double, 10>;

/// D″ + (2 + d ln H/d ln a) D′ = 3/2 Ω_m(a) × source, with the sources D1, D2 − D1², D3a − 2 D1³,
/// D3b − 2 D1 (D2 − D1²) and, for the transverse part, −D1³. Bouchet, Colombi, Hivon & Juszkiewicz 1995, A&A 296, 575,
/// section 2; Catelan 1995. Radiation does not clump.
inline State slopes(const Background& background, double log_a, const State& y) {
  const double a = std::exp(log_a);
  const double friction = 2 + background.rate_slope(a), pull = 1.5 * background.matter_part(a);
  const double square = y[0] * y[0], cube = square * y[0];
  const double sources[5] = {y[0], y[1] - square, y[2] - 2 * cube, y[3] - 2 * y[0] * (y[1] - square), -cube};
  State slope;
  for (std::size_t k = 0; k < 5; ++k) {
    slope[k] = y[k + 5];
    slope[k + 5] = pull * sources[k] - friction * y[k + 5];
  }
  return slope;
}

/// Fourth order, Kutta 1901, in equal steps no longer than 1/1024.
inline void advance(const Background& background, double from, double to, State& y) {
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(to - from) * 1024)));
  const double h = (to - from) / steps;
  const auto moved = [&](const State& slope, double by) {
    State result = y;
    for (std::size_t k = 0; k < y.size(); ++k) result[k] += by * slope[k];
    return result;
  };
  for (int step = 0; step < steps; ++step) {
    const double t = from + step * h;
    const State k1 = slopes(background, t, y), k2 = slopes(background, t + h / 2, moved(k1, h / 2));
    const State k3 = slopes(background, t + h / 2, moved(k2, h / 2)), k4 = slopes(background, t + h, moved(k3, h));
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += h / 6 * (k1[k] + 2 * (k2[k] + k3[k]) + k4[k]);
  }
}

/// The growing solution at an early time: that of Einstein and de Sitter, or where there is radiation that of
/// Mészáros 1974, 1 + 3/2 a/a_eq, with the first power of a/a_eq in the others.
inline State early(const Background& background, double a) {
  State y;
  if (background.omega_radiation > 0) {
    const double s = 1.5 * a * background.omega_matter / background.omega_radiation;
    y = {1 + s, -s, -2 * s, 2 * s, -s, s, -s, -2 * s, 2 * s, -s};
  } else {
    const double a2 = a * a, a3 = a2 * a;
    y = {a, -3.0 / 7 * a2, -a3 / 3, 10.0 / 21 * a3, -a3 / 7, a, -6.0 / 7 * a2, -a3, 10.0 / 7 * a3, -3.0 / 7 * a3};
  }
  return y;
}

}  // namespace growth_equations

/// The growth at the scale factor a, from the differential equations with this background.
inline Growth growth_at(const Background& background, double a) {
  using namespace growth_equations;
  const double start = background.omega_radiation > 0 ? 1e-8 : 1e-7;
  State y = early(background, start), today = y;
  advance(background, std::log(start), std::log(a), y);
  if (a < 1)
    today = y, advance(background, std::log(a), 0, today);
  else
    advance(background, std::log(start), 0, today);
  const double s = 1 / today[0], s2 = s * s, s3 = s2 * s;
  return {s * y[0],    s2 * y[1],   s3 * y[2],   s3 * y[3],   s3 * y[4],
          y[5] / y[0], y[6] / y[1], y[7] / y[2], y[8] / y[3], y[9] / y[4]};
}

}  // namespace pergola::physics

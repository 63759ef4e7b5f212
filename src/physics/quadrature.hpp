#pragma once
#include <cmath>

namespace pergola::physics {

/// ∫ f(x) dx from a to b with ten points. Gauss & Legendre; Abramowitz & Stegun 1964, table 25.4.
template <class F>
double gauss_legendre(const F& f, double a, double b) {
  constexpr double x[] = {0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845,
                          0.9739065285171717};
  constexpr double w[] = {0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806,
                          0.0666713443086881};
  const double middle = (a + b) / 2, half = (b - a) / 2;
  double sum = 0;
  for (int k = 0; k < 5; ++k) sum += w[k] * (f(middle - half * x[k]) + f(middle + half * x[k]));
  return half * sum;
}

/// The same, halved until two halves agree with the whole to `tolerance` of it, at most `depth` times.
template <class F>
double integrate(const F& f, double a, double b, double tolerance = 1e-13, int depth = 24) {
  const double whole = gauss_legendre(f, a, b), middle = (a + b) / 2;
  const double halves = gauss_legendre(f, a, middle) + gauss_legendre(f, middle, b);
  if (depth == 0 || std::abs(halves - whole) <= tolerance * std::abs(halves)) return halves;
  return integrate(f, a, middle, tolerance, depth - 1) + integrate(f, middle, b, tolerance, depth - 1);
}

}  // namespace pergola::physics

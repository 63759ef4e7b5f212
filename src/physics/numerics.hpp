#pragma once
/// Numerical tools of the formulas: quadrature, interpolation, the normal quantile, reversed digits, and
/// the phases of a displaced wave.
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

/// The same, halved until two halves agree with the whole to a relative `tolerance`, at most `depth` times.
template <class F>
double integrate(const F& f, double a, double b, double tolerance = 1e-13, int depth = 24) {
  const double whole = gauss_legendre(f, a, b), middle = (a + b) / 2;
  const double halves = gauss_legendre(f, a, middle) + gauss_legendre(f, middle, b);
  if (depth == 0 || std::abs(halves - whole) <= tolerance * std::abs(halves)) return halves;
  return integrate(f, a, middle, tolerance, depth - 1) + integrate(f, middle, b, tolerance, depth - 1);
}

/// The slope at x of the parabola through three points (Lagrange's interpolation).
inline double parabola_slope(const double (&xs)[3], const double (&ys)[3], double x) {
  const double d01 = xs[1] - xs[0], d02 = xs[2] - xs[0], d12 = xs[2] - xs[1];
  return ys[0] * (2 * x - xs[1] - xs[2]) / (d01 * d02) - ys[1] * (2 * x - xs[0] - xs[2]) / (d01 * d12) +
         ys[2] * (2 * x - xs[0] - xs[1]) / (d02 * d12);
}

/// ∫ exp(p) over an interval of the given length, p the cubic with these values and slopes at its ends (Hermite's
/// interpolation).
inline double exponential_cubic_integral(double length, double y0, double slope0, double y1, double slope1) {
  const auto value = [&](double u) {
    const double v = 1 - u;
    return std::exp(v * v * (y0 * (1 + 2 * u) + slope0 * length * u) +
                    u * u * (y1 * (1 + 2 * v) - slope1 * length * v));
  };
  return length * gauss_legendre(value, 0, 1);
}

/// The number below which a fraction p of the normal distribution of unit variance lies, 0 < p < 1, to 16 digits.
/// Wichura 1988, Applied Statistics 37, 477: algorithm AS 241, PPND16.
inline double normal_quantile(double p) {
  const auto ratio = [](double r, const double(&a)[8], const double(&b)[8]) {
    double above = a[7], below = b[7];
    for (int k = 6; k >= 0; --k) above = above * r + a[k], below = below * r + b[k];
    return above / below;
  };
  constexpr double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                          1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                          3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double b[] = {1,
                          4.2313330701600911252e1,
                          6.8718700749205790830e2,
                          5.3941960214247511077e3,
                          2.1213794301586595867e4,
                          3.9307895800092710610e4,
                          2.8729085735721942674e4,
                          5.2264952788528545610e3};
  constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                          3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                          2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double d[] = {1,
                          2.05319162663775882187e0,
                          1.67638483018380384940e0,
                          6.89767334985100004550e-1,
                          1.48103976427480074590e-1,
                          1.51986665636164571966e-2,
                          5.47593808499534494600e-4,
                          1.05075007164441684324e-9};
  constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                          2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                          2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[] = {1,
                          5.99832206555887937690e-1,
                          1.36929880922735805310e-1,
                          1.48753612908506148525e-2,
                          7.86869131145613259100e-4,
                          1.84631831751005468180e-5,
                          1.42151175831644588870e-7,
                          2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * ratio(0.180625 - q * q, a, b);
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
  return q < 0 ? -x : x;
}

/// The digits of i in a base, reversed behind the point (van der Corput 1935): 0 ≤ result < 1.
inline double reversed_digits(unsigned long long i, unsigned base) {
  double place = 1.0 / base, sum = 0;
  for (; i > 0; i /= base, place /= base) sum += static_cast<double>(i % base) * place;
  return sum;
}

/// The θ' with θ' + A sin(θ' + φ) = θ: uniform phases θ get the density 1 + A cos(θ' + φ). |A| < 1. Newton's method
/// within a bracket.
inline double displaced_phase(double theta, double amplitude, double phase) {
  double low = theta - std::abs(amplitude), high = theta + std::abs(amplitude), at = theta;
  for (int k = 0; k < 100; ++k) {
    const double excess = at + amplitude * std::sin(at + phase) - theta;
    (excess > 0 ? high : low) = at;
    double next = at - excess / (1 + amplitude * std::cos(at + phase));
    if (!(next >= low && next <= high)) next = 0.5 * (low + high);
    if (std::abs(next - at) <= 1e-16 * (1 + std::abs(at))) return next;
    at = next;
  }
  return at;
}

}  // namespace pergola::physics

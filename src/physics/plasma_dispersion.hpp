#pragma once
/// Linear theory of plasma waves: the dispersion function, Langmuir, beam and Bernstein waves, and Maxwell's
/// distribution. Particles on a grid are smoothed: `shape_squared` is the factor s² of their response
/// (grid_shape_squared).
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include "physics/green.hpp"

namespace pergola {

/// The Faddeeva function w(z) = exp(−z²) erfc(−iz), to about 1e−13 of its size at the origin. Weideman 1994, SIAM J.
/// Numer. Anal. 31, 1497: a polynomial in (L + iz)/(L − iz) for Im z ≥ 0; below, w(z) = 2 exp(−z²) − w(−z).
inline std::complex<double> faddeeva(std::complex<double> z) {
  using Complex = std::complex<double>;
  constexpr int terms = 48;
  static const double length = std::pow(2.0, -0.25) * std::sqrt(double{terms});
  // The polynomial's coefficients: Fourier coefficients of (L² + t²) exp(−t²) with t = L tan(θ/2), which is even in θ.
  static const std::array<double, terms> coefficients = [] {
    std::array<double, terms> a{};
    constexpr int half = 2 * terms;
    for (int j = -half + 1; j < half; ++j) {
      const double theta = j * std::numbers::pi / half, t = length * std::tan(theta / 2);
      const double f = std::exp(-t * t) * (length * length + t * t);
      for (int n = 0; n < terms; ++n) a[static_cast<std::size_t>(n)] += f * std::cos((n + 1) * theta) / (2 * half);
    }
    return a;
  }();
  if (z.imag() < 0) return 2.0 * std::exp(-z * z) - faddeeva(-z);
  const Complex iz{-z.imag(), z.real()}, below = length - iz, ratio = (length + iz) / below;
  Complex sum = 0;
  for (int n = terms - 1; n >= 0; --n) sum = sum * ratio + coefficients[static_cast<std::size_t>(n)];
  return 2.0 * sum / (below * below) + std::numbers::inv_sqrtpi / below;
}

/// The plasma dispersion function Z(ζ) = π^(−1/2) ∫ exp(−t²)/(t − ζ) dt, continued below the real axis: i √π w(ζ).
/// Fried & Conte 1961.
inline std::complex<double> plasma_dispersion(std::complex<double> zeta) {
  const std::complex<double> w = faddeeva(zeta);
  return std::sqrt(std::numbers::pi) * std::complex<double>{-w.imag(), w.real()};
}

/// −Z'(ζ)/2 = 1 + ζ Z(ζ). Far out its asymptotic series −1/(2ζ²) − 3/(4ζ⁴) − …, where the sum would cancel.
inline std::complex<double> dispersion_response(std::complex<double> zeta) {
  if (std::abs(zeta) < 30 || zeta.imag() < -0.1 * std::abs(zeta)) return 1.0 + zeta * plasma_dispersion(zeta);
  const std::complex<double> u = 1.0 / (2.0 * zeta * zeta);
  return -u * (1.0 + 3.0 * u * (1.0 + 5.0 * u * (1.0 + 7.0 * u * (1.0 + 9.0 * u))));
}

/// A species with a Maxwellian distribution along a wave. Frequencies and speeds are in one system of units.
struct WaveSpecies {
  double plasma_frequency_squared = 1;  // q² n/(ε₀ m)
  double thermal_speed = 0;             // √(T/m); 0: cold
  double drift = 0;
};

/// The longitudinal dielectric function of drifting Maxwellians: 1 + s² Σ ω_s²/(k v_s)² (1 + ζ Z(ζ)) with
/// ζ = (ω − k u_s)/(√2 k v_s), for cold ones −ω_s²/(ω − k u_s)². Birdsall & Langdon 1985, chapters 5 and 8:
/// particles of finite size multiply the response by s² = S(k)².
inline std::complex<double> dielectric(std::complex<double> omega, double k, const std::vector<WaveSpecies>& species,
                                       double shape_squared = 1) {
  std::complex<double> sum = 0;
  for (const WaveSpecies& one : species) {
    const std::complex<double> shifted = omega - k * one.drift;
    const double kv = k * one.thermal_speed;
    sum += kv == 0 ? -one.plasma_frequency_squared / (shifted * shifted)
                   : one.plasma_frequency_squared / (kv * kv) * dispersion_response(shifted / (std::sqrt(2.0) * kv));
  }
  return 1.0 + shape_squared * sum;
}

/// A root ω of the dielectric function near `guess`, by the secant method; NaN if none is found.
inline std::complex<double> dielectric_root(std::complex<double> guess, double k,
                                            const std::vector<WaveSpecies>& species, double shape_squared = 1) {
  std::complex<double> before = guess * 1.0001 + std::complex<double>{0, 1e-6}, at = guess;
  std::complex<double> value_before = dielectric(before, k, species, shape_squared);
  for (int step = 0; step < 100; ++step) {
    const std::complex<double> value = dielectric(at, k, species, shape_squared);
    const std::complex<double> next = value == value_before ? at : at - value * (at - before) / (value - value_before);
    before = at;
    value_before = value;
    at = next;
    if (std::abs(at - before) <= 1e-13 * std::abs(at)) return at;
  }
  return {std::nan(""), std::nan("")};
}

/// Whether no wave of these drifting Maxwellians grows at wave number k, by Nyquist's criterion (Penrose 1960): a
/// growing one needs a minimum of their distribution along k, where Im ε falls through 0, with Re ε < 0. Between
/// streams that are far apart Im ε is 0 but for rounding: all of that range is the minimum. No species may be cold.
inline bool is_stable(double k, const std::vector<WaveSpecies>& species, double shape_squared = 1) {
  double low = species[0].drift, high = low, tiny = 0;
  for (const WaveSpecies& one : species) {
    low = std::min(low, one.drift), high = std::max(high, one.drift);
    const double kv = k * one.thermal_speed;
    tiny += 1e-10 * shape_squared * one.plasma_frequency_squared / (kv * kv);
  }
  constexpr int speeds = 2000;
  bool falling = false;
  double highest = 0;  // Re ε since Im ε was last above 0
  for (int i = 0; i <= speeds; ++i) {
    const std::complex<double> at = dielectric(k * (low + (high - low) * i / speeds), k, species, shape_squared);
    highest = at.imag() > tiny ? at.real() : std::max(highest, at.real());
    if (falling && at.imag() < -tiny && highest < 0) return false;
    falling = at.imag() > tiny || (falling && at.imag() >= -tiny);
  }
  return true;
}

/// ω² = ω_p² s² + 3 k² v². Bohm & Gross 1949.
inline double bohm_gross(double k, double thermal_speed, double shape_squared = 1, double plasma_frequency = 1) {
  return std::sqrt(plasma_frequency * plasma_frequency * shape_squared + 3 * k * k * thermal_speed * thermal_speed);
}

/// The least damped Langmuir wave of a Maxwellian at rest, ω + iγ in ω_p: the root of 1 + s² (1 + ζ Z(ζ))/(k λ_D)² = 0
/// (Landau 1946), followed from long waves, where Bohm & Gross know it, to `k_debye` = k λ_D.
inline std::complex<double> langmuir_root(double k_debye, double shape_squared = 1) {
  const std::vector<WaveSpecies> electrons{{1, 1, 0}};
  const double first = std::min(k_debye, 0.1);
  const int steps = 1 + static_cast<int>((k_debye - first) / 0.02);
  std::complex<double> omega{bohm_gross(first, 1, shape_squared), -1e-6};
  for (int step = 0; step <= steps; ++step)
    omega = dielectric_root(omega, first + (k_debye - first) * step / steps, electrons, shape_squared);
  return {std::abs(omega.real()), omega.imag()};
}

/// The leapfrog's frequency of an oscillation of frequency ω with step dt: sin(ω' dt/2) = ω dt/2. Birdsall & Langdon
/// 1985, section 4-2.
inline double leapfrog_frequency(double omega, double dt) {
  return dt > 0 ? 2 / dt * std::asin(std::min(1.0, omega * dt / 2)) : omega;
}

/// All roots of a polynomial Σ a_j z^j, a_n ≠ 0, by Durand and Kerner's iteration.
inline std::vector<std::complex<double>> polynomial_roots(const std::vector<std::complex<double>>& a) {
  using Complex = std::complex<double>;
  const std::size_t degree = a.size() - 1;
  double size = 0;
  for (const Complex& coefficient : a) size = std::max(size, std::abs(coefficient / a[degree]));
  std::vector<Complex> roots(degree);
  for (std::size_t j = 0; j < degree; ++j)
    roots[j] =
        std::polar(std::pow(1 + size, 1.0 / double(degree)), 0.4 + 2 * std::numbers::pi * double(j) / double(degree));
  for (int step = 0; step < 500; ++step) {
    double change = 0;
    for (std::size_t j = 0; j < degree; ++j) {
      Complex value = 1, product = 1;
      for (std::size_t n = degree; n-- > 0;) value = value * roots[j] + a[n] / a[degree];
      for (std::size_t other = 0; other < degree; ++other)
        if (other != j) product *= roots[j] - roots[other];
      const Complex move = product == 0.0 ? Complex{1e-8, 1e-8} : value / product;
      roots[j] -= move;
      change = std::max(change, std::abs(move) / (1e-300 + std::abs(roots[j])));
    }
    if (change < 1e-14) break;
  }
  return roots;
}

/// The fastest growing wave of cold beams at wave number k: of the roots of 1 = s² Σ ω_b²/(ω − k u_b)² the one with the
/// largest imaginary part (Buneman 1959; Birdsall & Langdon 1985, chapter 5). Thermal speeds are ignored.
inline std::complex<double> cold_beam_root(double k, const std::vector<WaveSpecies>& beams, double shape_squared = 1) {
  using Polynomial = std::vector<std::complex<double>>;
  const auto times_squared = [](const Polynomial& p, double root) {
    Polynomial result(p.size() + 2, 0.0);
    for (std::size_t j = 0; j < p.size(); ++j) {
      result[j] += root * root * p[j];
      result[j + 1] -= 2 * root * p[j];
      result[j + 2] += p[j];
    }
    return result;
  };
  Polynomial all{1.0};
  for (const WaveSpecies& beam : beams) all = times_squared(all, k * beam.drift);
  for (std::size_t b = 0; b < beams.size(); ++b) {
    Polynomial others{shape_squared * beams[b].plasma_frequency_squared};
    for (std::size_t other = 0; other < beams.size(); ++other)
      if (other != b) others = times_squared(others, k * beams[other].drift);
    for (std::size_t j = 0; j < others.size(); ++j) all[j] -= others[j];
  }
  std::complex<double> fastest{0, -1e300};
  for (const auto& root : polynomial_roots(all))
    if (root.imag() > fastest.imag()) fastest = root;
  return fastest;
}

/// The factor s² of particles on a grid for a wave of k radians per cell along an axis, its aliases left out: the
/// Gaussian exp(−k² a²) and the cloud of `points` grid points, once for the charge and once for the force. Hockney &
/// Eastwood 1988, section 5-3.
inline double grid_shape_squared(double k, double smoothing, int points) {
  return physics::gaussian_window(k, smoothing, 2) * physics::assignment_window(k, 1, 2 * points);
}

/// Mean energy of the electric field in one Fourier mode of a plasma in equilibrium, in units of its temperature:
/// ½/(1 + k² λ_D²/s²), for particles of finite size. Birdsall & Langdon 1985, chapter 12.
inline double thermal_mode_energy(double k_debye, double shape_squared = 1) {
  return shape_squared > 0 ? 0.5 / (1 + k_debye * k_debye / shape_squared) : 0;
}

/// exp(−x) I_n(x) for n = 0 … orders − 1: Miller's backward recurrence, normalised by exp(x) = I_0 + 2 Σ I_n.
/// Abramowitz & Stegun 1964, 9.6.26 and 9.6.37.
inline std::vector<double> scaled_bessel_i(double x, int orders) {
  std::vector<double> values(static_cast<std::size_t>(orders), 0.0);
  if (x == 0) {
    if (orders > 0) values[0] = 1;
    return values;
  }
  const int start = std::max(orders, static_cast<int>(2 * x)) + 40 + static_cast<int>(6 * std::sqrt(x));
  double above = 0, at = 1e-250, sum = 0;
  for (int n = start; n >= 0; --n) {
    if (n < orders) values[static_cast<std::size_t>(n)] = at;
    sum += n == 0 ? at : 2 * at;
    const double below = above + 2 * n / x * at;
    above = at;
    at = below;
    if (sum > 1e250) {
      for (double* value : {&above, &at, &sum}) *value *= 1e-250;
      for (double& value : values) value *= 1e-250;
    }
  }
  for (double& value : values) value /= sum;
  return values;
}

/// The electron Bernstein wave between the harmonics `harmonic` and `harmonic` + 1 of the cyclotron frequency, at wave
/// number k across the magnetic field: the root of 1 = s² 2/(k λ_D)² Σ_n exp(−b) I_n(b) n² ω_c²/(ω² − n² ω_c²) with
/// b = (k v/ω_c)², λ_D = v/ω_p. Bernstein 1958, Phys. Rev. 109, 10. Frequencies and speeds are in one system of units.
inline double bernstein_frequency(int harmonic, double k, double thermal_speed, double cyclotron_frequency,
                                  double plasma_frequency = 1, double shape_squared = 1) {
  const double larmor = k * thermal_speed / cyclotron_frequency, b = larmor * larmor;
  const double debye = k * thermal_speed / plasma_frequency;
  const int orders = harmonic + 30 + static_cast<int>(3 * larmor + b);
  const std::vector<double> bessel = scaled_bessel_i(b, orders);
  // Falls from +∞ to −∞ between two harmonics.
  const auto excess = [&](double ratio) {
    double sum = 0;
    for (int n = orders - 1; n > 0; --n) sum += bessel[static_cast<std::size_t>(n)] * n * n / (ratio * ratio - n * n);
    return 2 * shape_squared / (debye * debye) * sum - 1;
  };
  double low = harmonic, high = harmonic + 1;
  for (int step = 0; step < 200 && high - low > 4 * std::numeric_limits<double>::epsilon() * high; ++step) {
    const double middle = 0.5 * (low + high);
    (excess(middle) > 0 ? low : high) = middle;
  }
  return 0.5 * (low + high) * cyclotron_frequency;
}

}  // namespace pergola

namespace pergola::physics {

/// Maxwell's distribution of one component of the velocity, with the drift u and the thermal speed σ: the mean from
/// `low` to `high`, per unit of velocity. Its integral is taken by the error function of the nearer tail, which keeps
/// its digits.
template <class Real>
Real mean_maxwellian(Real low, Real high, Real drift, Real thermal) {
  const Real scale = thermal * std::numbers::sqrt2_v<Real>, a = (low - drift) / scale, b = (high - drift) / scale;
  const Real twice = a + b > 0 ? std::erfc(a) - std::erfc(b) : std::erfc(-b) - std::erfc(-a);
  return twice / (2 * (high - low));
}

/// k_B T = m σ² of one component of the velocity with the variance σ².
template <class Real>
Real kinetic_temperature(Real mass, Real variance) {
  return mass * variance;
}

}  // namespace pergola::physics

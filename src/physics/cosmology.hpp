#pragma once
/// A homogeneous universe, its parameters, the factors of drift and kick in expanding space, and the growth of
/// perturbations to third order.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "physics/numerics.hpp"

namespace pergola::physics {

/// A homogeneous universe. Densities are today's over the critical one; curvature is the rest to 1. Dark energy has
/// w(a) = w0 + wa (1 − a). Chevallier & Polarski 2001; Linder 2003.
struct Background {
  double omega_matter = 0.3, omega_lambda = 0.7, omega_radiation = 0;
  double w0 = -1, wa = 0;
  double hubble = 1;  // today's H₀ over the unit of time of the run

  double omega_curvature() const { return 1 - omega_matter - omega_lambda - omega_radiation; }

  /// Density of dark energy over today's.
  double dark_energy(double a) const {
    return w0 == -1 && wa == 0 ? 1 : std::pow(a, -3 * (1 + w0 + wa)) * std::exp(-3 * wa * (1 - a));
  }
  /// (H/H₀)². Friedmann 1922; Peebles 1993, "Principles of physical cosmology", eq. 5.53, with w(a).
  double expansion2(double a) const {
    const double b = 1 / a;
    return ((omega_radiation * b + omega_matter) * b + omega_curvature()) * b * b + omega_lambda * dark_energy(a);
  }
  /// H at the scale factor a.
  double rate(double a) const { return hubble * std::sqrt(expansion2(a)); }
  /// d ln H / d ln a.
  double rate_slope(double a) const {
    const double b = 1 / a;
    const double dark = omega_lambda * dark_energy(a) * 3 * (1 + w0 + wa * (1 - a));
    return -(((4 * omega_radiation * b + 3 * omega_matter) * b + 2 * omega_curvature()) * b * b + dark) /
           (2 * expansion2(a));
  }
  /// The density of matter over the critical one at that time.
  double matter_part(double a) const { return omega_matter / (a * a * a * expansion2(a)); }
};

/// The parameters of a universe with structure in it.
struct Cosmology {
  double omega_matter = 0.3, omega_lambda = 0.7, omega_baryon = 0.045, omega_radiation = 0;
  double h = 0.7, sigma8 = 0.8, n_s = 0.96, w0 = -1, wa = 0;

  Background background(double hubble) const { return {omega_matter, omega_lambda, omega_radiation, w0, wa, hubble}; }
};

/// A parameter by its name, for configuration keys and options of models. `above`: the range without its lower end.
struct CosmologyParameter {
  using Member = double Cosmology::*;
  const char* name;
  Member value;
  const char* help;
  double low, high;
  bool above = false;
};
inline constexpr CosmologyParameter cosmology_parameters[] = {
    {"omega_matter", &Cosmology::omega_matter, "matter over the critical density, today", 0, 10, true},
    {"omega_lambda", &Cosmology::omega_lambda, "dark energy over the critical density, today", -10, 10},
    {"omega_baryon", &Cosmology::omega_baryon, "the baryons in omega_matter", 0, 10},
    {"omega_radiation", &Cosmology::omega_radiation, "radiation over the critical density, today", 0, 10},
    {"h", &Cosmology::h, "Hubble's constant over 100 km/s/Mpc", 0, 10, true},
    {"sigma8", &Cosmology::sigma8, "rms contrast in spheres of 8 Mpc/h, today, linear", 0, 100, true},
    {"n_s", &Cosmology::n_s, "slope of the primordial power spectrum", -3, 10},
    {"w0", &Cosmology::w0, "pressure of dark energy over its density, today", -10, 10},
    {"wa", &Cosmology::wa, "w = w0 + wa (1 - a)", -10, 10}};

/// ∫ dt/a² from ln a = from to ln a = to: comoving displacement per momentum a² dx/dt. Quinn et al. 1997,
/// astro-ph/9710043, eq. 8.
inline double drift_factor(const Background& background, double from, double to) {
  return integrate(
      [&](double log_a) {
        const double a = std::exp(log_a);
        return 1 / (a * a * background.rate(a));
      },
      from, to);
}

/// ∫ dt/a: change of the momentum a² dx/dt per comoving acceleration −∇φ with ∇²φ = 4πG (ρ − ρ̄), all in comoving
/// lengths. Quinn et al. 1997, eq. 9.
inline double kick_factor(const Background& background, double from, double to) {
  return integrate(
      [&](double log_a) {
        const double a = std::exp(log_a);
        return 1 / (a * background.rate(a));
      },
      from, to);
}

/// The mean density of matter in comoving lengths, Ω_m 3 H₀²/(8πG).
inline double mean_density(const Background& background, double gravitational_constant) {
  const double h0 = background.hubble;
  return background.omega_matter * 3 * h0 * h0 / (8 * std::numbers::pi * gravitational_constant);
}

/// H₀ of h = 1, 100 km/s/Mpc, over a unit of time that is unit length over unit velocity. Lengths in units/h and times
/// in units/h make it the H₀ of any h.
inline double hubble_in_units_per_h(double length_cm, double velocity_cm_per_s) {
  constexpr double megaparsec_cm = 3.0856775814913673e24;  // IAU 2015 resolution B2
  return 100e5 / megaparsec_cm * length_cm / velocity_cm_per_s;
}

/// Momentum a² dx/dt over √a dx/dt, the velocity of GADGET's files. Springel 2005, users' guide of GADGET-2, section 6.
inline double momentum_over_file_velocity(double a) { return a * std::sqrt(a); }

/// Kinetic energy of peculiar velocities a dx/dt over that of √a dx/dt.
inline double peculiar_over_file_energy(double a) { return a; }

/// Steps in ln a over √(2 η ε/|g|) with comoving ε and g: H times the step of Springel 2005, eq. 34, √(2 η a ε/|g/a²|).
inline double log_step_of_acceleration(const Background& background, double a) {
  return a * std::sqrt(a) * background.rate(a);
}
/// The step in ln a that crosses a comoving length, over length/|p| with p = a² dx/dt.
inline double log_step_of_crossing(const Background& background, double a) { return a * a * background.rate(a); }

/// ∫ f dx between two points for a power law f through both values; x, f > 0. Linear if f is not positive.
inline double power_law_integral(double x0, double f0, double x1, double f1) {
  if (!(f0 > 0) || !(f1 > 0)) return (x1 - x0) * (f0 + f1) / 2;
  const double power = std::log(f1 / f0) / std::log(x1 / x0) + 1;
  return std::abs(power) < 1e-6 ? x0 * f0 * std::log(x1 / x0) : (x1 * f1 - x0 * f0) / power;
}

/// The growth of displacements of each order of Lagrangian perturbation theory, and its rates d ln D / d ln a. D1 is 1
/// today; in an Einstein–de Sitter universe the others are −3/7 D1², and −1/3, 10/21 and −1/7 of D1³.
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

/// The growing solution at an early time: that of Einstein and de Sitter; with radiation that of Mészáros 1974,
/// 1 + 3/2 a/a_eq, and the first power of a/a_eq in the others.
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

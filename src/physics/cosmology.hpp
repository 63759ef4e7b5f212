#pragma once
#include <cmath>
#include <numbers>

#include "physics/quadrature.hpp"

namespace pergola::physics {

/// A homogeneous universe. Densities today over the critical one; what they leave to 1 is curvature. Dark energy has
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

/// A parameter by its name, in whatever lists them: keys, options of a model. `above`: the range without its end.
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

/// ∫ dt/a² from ln a = from to ln a = to: what moves comoving places by the momentum a² dx/dt. Quinn et al. 1997,
/// astro-ph/9710043, eq. 8.
inline double drift_factor(const Background& background, double from, double to) {
  return integrate(
      [&](double log_a) {
        const double a = std::exp(log_a);
        return 1 / (a * a * background.rate(a));
      },
      from, to);
}

/// ∫ dt/a: what changes the momentum a² dx/dt by the comoving acceleration −∇φ with ∇²φ = 4πG (ρ − ρ̄), all in comoving
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

/// Steps in ln a over √(2 η ε/|g|) with comoving ε and g: the step of Springel 2005, eq. 34, √(2 η a ε/|g/a²|), times
/// H.
inline double log_step_of_acceleration(const Background& background, double a) {
  return a * std::sqrt(a) * background.rate(a);
}
/// The step in ln a in which a comoving length is crossed over length/|p| with p = a² dx/dt.
inline double log_step_of_crossing(const Background& background, double a) { return a * a * background.rate(a); }

/// ∫ f dx between two points, f a power of x through both values; x, f > 0. Straight where f is not positive.
inline double power_law_integral(double x0, double f0, double x1, double f1) {
  if (!(f0 > 0) || !(f1 > 0)) return (x1 - x0) * (f0 + f1) / 2;
  const double power = std::log(f1 / f0) / std::log(x1 / x0) + 1;
  return std::abs(power) < 1e-6 ? x0 * f0 * std::log(x1 / x0) : (x1 * f1 - x0 * f0) / power;
}

}  // namespace pergola::physics

#pragma once
#include <cmath>
#include <numbers>

#include "physics/linear_power.hpp"
#include "physics/profiles.hpp"

namespace pergola::physics {

/// The contrast, linearly extrapolated, at which a sphere collapses in an Einstein–de Sitter universe: 3/20
/// (12π)^(2/3).
inline constexpr double collapse_contrast = 1.68647;

/// Multiplicity of halos, f(σ) = dn/d ln σ⁻¹ times M over the mean density, by ellipsoidal collapse; all mass is in
/// halos of some mass, ∫ f d ln σ⁻¹ = 1. Sheth & Tormen 1999, MNRAS 308, 119, eq. 10; here as in Jenkins et al. 2001,
/// eq. 7.
inline double sheth_tormen_multiplicity(double sigma) {
  constexpr double amplitude = 0.3222, a = 0.707, p = 0.3;
  const double nu = collapse_contrast / sigma, x = a * nu * nu;
  return amplitude * std::sqrt(2 * a / std::numbers::pi) * (1 + std::pow(x, -p)) * nu * std::exp(-x / 2);
}

/// The same as measured in simulations, for spheres of 200 times the mean density of matter. Tinker et al. 2008, ApJ
/// 688, 709, eqs. 3 and 5 to 8 with the first line of table 2; 0 ≤ z ≤ 2.5, constant from there on.
inline double tinker_multiplicity(double sigma, double redshift) {
  constexpr double overdensity = 200;
  const double grown = 1 + std::min(redshift, 2.5);
  const double amplitude = 0.186 * std::pow(grown, -0.14), a = 1.47 * std::pow(grown, -0.06);
  const double alpha = std::pow(10.0, -std::pow(0.75 / std::log10(overdensity / 75), 1.2));
  const double b = 2.57 * std::pow(grown, -alpha), c = 1.19;
  return amplitude * (std::pow(sigma / b, -a) + 1) * std::exp(-c / (sigma * sigma));
}

/// The radius of the sphere that has a mass at the mean density.
inline double lagrangian_radius(double mass, double mean_density) {
  return std::cbrt(mass / mean_density / shell_volume(0.0, 1.0));
}

/// Halos per volume ((h/Mpc)³, comoving) and logarithm of mass, dn/d ln M = f(σ) ρ/M d ln σ⁻¹/d ln M: Press & Schechter
/// 1974 in the form of Jenkins et al. 2001, eq. 3. `radius` (Mpc/h): lagrangian_radius() of the mass; `growth`: of
/// linear waves to the time of the halos, over today's; multiplicity(σ): one of those above.
template <class Multiplicity>
double halos_per_log_mass(const LinearPower& power, double radius, double growth, const Multiplicity& multiplicity) {
  constexpr double step = 0.02;  // in ln R
  const double slope =
      std::log(power.sigma(radius * std::exp(-step)) / power.sigma(radius * std::exp(step))) / (2 * step);
  return multiplicity(growth * power.sigma(radius)) / shell_volume(0.0, radius) * slope / 3;
}

}  // namespace pergola::physics

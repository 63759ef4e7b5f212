#pragma once
/// Dark matter halos: spin, the profile of Navarro, Frenk & White as seen in simulations, and the expected number of
/// halos per mass.
#include <cmath>
#include <limits>
#include <numbers>

#include "physics/external.hpp"
#include "physics/measures.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola::physics {

/// The spin J/(√2 M V R) of the matter within R, with its angular momentum J and the circular speed V at R. Bullock et
/// al. 2001, ApJ 555, 240, eq. 5.
inline double bullock_spin(double angular_momentum, double mass, double speed, double radius) {
  return angular_momentum / (std::numbers::sqrt2 * mass * speed * radius);
}

/// The mass between two radii of the halo ρ = ρ_s/((r/r_s) (1 + r/r_s)²) over ρ_s, 4π r_s³ (m(b/r_s) − m(a/r_s)).
/// Navarro, Frenk & White 1997, eq. 1.
inline double nfw_shell_mass(double scale_radius, double inner, double outer) {
  return 4 * std::numbers::pi * scale_radius * scale_radius * scale_radius *
         (nfw_mass(outer / scale_radius) - nfw_mass(inner / scale_radius));
}

/// The speed of expansion at a comoving radius, a H r.
inline double hubble_speed(double hubble, double a, double radius) { return a * hubble * radius; }

/// The radius, in scale radii, of the largest circular speed in the halo of Navarro, Frenk & White (1997, ApJ 490,
/// 493): m/x is largest at (x/(1 + x))² = m(x).
inline constexpr double nfw_peak_radius = 2.1625815870646098;

/// (V_max/V_Δ)² of that halo with concentration c = R_Δ/r_s ≥ nfw_peak_radius: m(x)/x at the peak times c/m(c). Prada
/// et al. 2012, MNRAS 423, 3018, eqs. 8 to 10, who round the first factor to 0.216.
inline double nfw_peak_speed2(double concentration) {
  return nfw_mass(nfw_peak_radius) / nfw_peak_radius * concentration / nfw_mass(concentration);
}

/// The concentration of a halo with this (V_max/V_Δ)². Not a number if V_max is not above V_Δ, or for a concentration
/// above 1000.
inline double nfw_concentration(double peak_speed2) {
  double low = nfw_peak_radius, high = 1000;
  if (!(peak_speed2 > 1) || peak_speed2 > nfw_peak_speed2(high)) return std::numeric_limits<double>::quiet_NaN();
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (nfw_peak_speed2(middle) < peak_speed2 ? low : high) = middle;
  }
  return (low + high) / 2;
}

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

/// The radius of the sphere of a mass at the mean density.
inline double lagrangian_radius(double mass, double mean_density) {
  return std::cbrt(mass / mean_density / shell_volume(0.0, 1.0));
}

/// Halos per volume ((h/Mpc)³, comoving) and logarithm of mass, dn/d ln M = f(σ) ρ/M d ln σ⁻¹/d ln M: Press & Schechter
/// 1974 in the form of Jenkins et al. 2001, eq. 3. `radius` (Mpc/h): lagrangian_radius() of the mass; `growth`: of
/// linear waves to the time of the halos, over today's; multiplicity(σ): one of the functions above.
template <class Multiplicity>
double halos_per_log_mass(const LinearPower& power, double radius, double growth, const Multiplicity& multiplicity) {
  constexpr double step = 0.02;  // in ln R
  const double slope =
      std::log(power.sigma(radius * std::exp(-step)) / power.sigma(radius * std::exp(step))) / (2 * step);
  return multiplicity(growth * power.sigma(radius)) / shell_volume(0.0, radius) * slope / 3;
}

}  // namespace pergola::physics

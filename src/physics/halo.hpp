#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "physics/external.hpp"

namespace pergola::physics {

/// The spin J/(√2 M V R) of what is within R, with the angular momentum J and V the circular speed at R. Bullock et al.
/// 2001, ApJ 555, 240, eq. 5.
inline double bullock_spin(double angular_momentum, double mass, double speed, double radius) {
  return angular_momentum / (std::numbers::sqrt2 * mass * speed * radius);
}

/// The mass between two radii of the halo ρ = ρ_s/((r/r_s) (1 + r/r_s)²) over ρ_s, 4π r_s³ (m(b/r_s) − m(a/r_s)).
/// Navarro, Frenk & White 1997, eq. 1.
inline double nfw_shell_mass(double scale_radius, double inner, double outer) {
  return 4 * std::numbers::pi * scale_radius * scale_radius * scale_radius *
         (nfw_mass(outer / scale_radius) - nfw_mass(inner / scale_radius));
}

/// The speed at which expansion carries away what is at a comoving radius, a H r; H over a velocity and a length.
inline double hubble_speed(double hubble, double a, double radius) { return a * hubble * radius; }

/// Where the circular speed of the halo of Navarro, Frenk & White (1997, ApJ 490, 493) is largest, in scale radii: m/x
/// has its top where (x/(1 + x))² = m(x).
inline constexpr double nfw_peak_radius = 2.1625815870646098;

/// (V_max/V_Δ)² of that halo with concentration c = R_Δ/r_s ≥ nfw_peak_radius: m(x)/x at the peak times c/m(c). Prada
/// et al. 2012, MNRAS 423, 3018, eqs. 8 to 10, who round the first factor to 0.216.
inline double nfw_peak_speed2(double concentration) {
  return nfw_mass(nfw_peak_radius) / nfw_peak_radius * concentration / nfw_mass(concentration);
}

/// The concentration of a halo with this (V_max/V_Δ)². Not a number where the speed is not above V_Δ, as the law has it
/// for less than nfw_peak_radius, nor where it would be above 1000.
inline double nfw_concentration(double peak_speed2) {
  double low = nfw_peak_radius, high = 1000;
  if (!(peak_speed2 > 1) || peak_speed2 > nfw_peak_speed2(high)) return std::numeric_limits<double>::quiet_NaN();
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (nfw_peak_speed2(middle) < peak_speed2 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace pergola::physics

#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

// A thin disc of surface density Σ₀ exp(−R/R_d). Lengths x = R/R_d in scale lengths.
// Freeman 1970, ApJ 160, 811; Binney & Tremaine 2008, "Galactic Dynamics" (BT).

/// The fraction of the mass within x, ∫ x exp(−x) dx = 1 − (1 + x) exp(−x).
template <class R>
PERGOLA_HD R disc_mass_within(R x) {
  return -std::expm1(-x) - x * std::exp(-x);
}

/// The x that holds the fraction m of the mass, 0 ≤ m < 1, by Newton's method within a bracket.
template <class R>
PERGOLA_HD R disc_radius(R m) {
  R low = R(0), high = R(1);
  while (disc_mass_within(high) < m) low = high, high = high * R(2);
  R x = (low + high) / R(2);
  for (int round = 0; round < 100; ++round) {
    const R excess = disc_mass_within(x) - m;
    (excess > R(0) ? high : low) = x;
    R next = x - excess / (x * std::exp(-x));
    if (!(next > low && next < high)) next = (low + high) / R(2);
    if (std::abs(next - x) <= R(4e-16) * x) return next;
    x = next;
  }
  return x;
}

/// The square of the circular speed at x over π G Σ₀ R_d, and its slope d(v²)/dx over the same:
/// v² = 4π G Σ₀ R_d y² [I₀ K₀ − I₁ K₁](y) with y = x/2. BT eq. 2.165. x > 0.
struct FreemanCurve {
  double speed2, slope;
};
inline FreemanCurve freeman_curve(double x) {
  const double y = x / 2;
  const double i0 = std::cyl_bessel_i(0.0, y), i1 = std::cyl_bessel_i(1.0, y);
  const double k0 = std::cyl_bessel_k(0.0, y), k1 = std::cyl_bessel_k(1.0, y);
  const double bracket = i0 * k0 - i1 * k1;
  const double bracket_slope = 2 * (i1 * k0 - i0 * k1) + 2 * i1 * k1 / y;  // from I₀' = I₁, K₀' = −K₁ and so on
  return {4 * y * y * bracket, 4 * y * bracket + 2 * y * y * bracket_slope};
}

/// The factor by which a layer exp(−|z|/h) of mass and stars weakens a disc's pull for wave number k: the mean of
/// exp(−k |z − z′|) over both, (1 + kh/2)/(1 + kh)². BT, section 2.6.1 with the layer of their eq. 2.153b.
template <class R>
PERGOLA_HD R layer_weakening(R kh) {
  return (R(1) + kh / R(2)) / ((R(1) + kh) * (R(1) + kh));
}

/// The h whose layer has the mean distance of two stars of ρ ∝ sech²(z/z₀): 3h/2 = z₀.
template <class R>
PERGOLA_HD R sheet_layer_height(R z0) {
  return R(2) * z0 / R(3);
}

/// The same for the layer's hold ⟨z dφ/dz⟩ relative to that of a uniform sheet: the mean of |z − z′| exp(−k |z − z′|)
/// over that of |z − z′|.
template <class R>
PERGOLA_HD R layer_hold_weakening(R kh) {
  const R s = R(1) + kh;
  return (R(1) + kh / R(3)) / (s * s * s);
}

/// The loss at x by a thickness of h scale lengths, with w the weakenings above: of Freeman's speed2,
/// 2 x ∫ k J₁(kx) (1 − w(kh)) (1 + k²)^(−3/2) dk, and of Σ/Σ₀ in the hold of a uniform sheet,
/// ∫ k J₀(kx) (1 − w(kh)) (1 + k²)^(−3/2) dk. BT eqs. 2.155 and 2.157.
struct ThicknessLoss {
  double speed2, hold;
};
inline ThicknessLoss thickness_loss(double x, double h) {
  const double last = std::clamp(30 / x, 20.0, 100.0);
  const int steps = static_cast<int>(std::ceil(4 * last * std::max(1.0, x)));
  ThicknessLoss sum{0, 0};
  for (int i = 0; i < steps; ++i) {  // k = last u³: the small k matter most
    const double u = (i + 0.5) / steps, k = last * u * u * u;
    const double weight = 3 * last * u * u / steps * k * std::pow(1 + k * k, -1.5);
    sum.speed2 += 2 * x * weight * std::cyl_bessel_j(1.0, k * x) * (1 - layer_weakening(k * h));
    sum.hold += weight * std::cyl_bessel_j(0.0, k * x) * (1 - layer_hold_weakening(k * h));
  }
  return sum;
}

/// κ² = R dΩ²/dR + 4 Ω², here from v² = Ω² R² and its slope d(v²)/dR. BT eq. 3.80.
template <class R>
PERGOLA_HD R epicyclic_frequency2(R radius, R speed2, R speed2_slope) {
  return R(2) * speed2 / (radius * radius) + speed2_slope / radius;
}

/// Toomre's Q of a stellar disc, σ_R κ/(3.36 G Σ). BT eq. 6.71.
template <class R>
PERGOLA_HD R toomre_q(R dispersion, R kappa, R g_sigma) {
  return dispersion * kappa / (R(3.36) * g_sigma);
}

/// The radial dispersion that gives Q.
template <class R>
PERGOLA_HD R toomre_dispersion(R q, R kappa, R g_sigma) {
  return q * R(3.36) * g_sigma / kappa;
}

/// The square of the mean speed about the centre, from the Jeans equation of a thin disc whose velocity ellipsoid keeps
/// to the plane: v_c² + σ_R² (1 − σ_φ²/σ_R² + dln(Σ σ_R²)/dlnR). BT eq. 4.228.
template <class R>
PERGOLA_HD R mean_rotation2(R circular2, R radial2, R azimuthal2, R log_slope) {
  return circular2 + radial2 * (R(1) + log_slope) - azimuthal2;
}

/// The height z/z₀ below which the fraction u of the layer ρ ∝ sech²(z/z₀) lies. Spitzer 1942, ApJ 95, 329.
template <class R>
PERGOLA_HD R sheet_height(R u) {
  return std::atanh(R(2) * u - R(1));
}

/// The fraction of the mass of an infinite disc with the layer ρ ∝ sech²(z/z₀) within a sphere of radius r; in scale
/// lengths.
inline double disc_mass_within_sphere(double r, double z0) {
  if (!(z0 > 0)) return disc_mass_within(r);
  constexpr int steps = 32;
  const double highest = std::asin(std::min(1.0, 12 * z0 / r));
  double sum = 0;
  for (int i = 0; i < steps; ++i) {  // z = r sin θ, up to where nothing is left
    const double theta = highest * (i + 0.5) / steps, c = std::cos(theta);
    const double cosh_z = std::cosh(r * std::sin(theta) / z0);
    sum += disc_mass_within(r * c) * c / (cosh_z * cosh_z);
  }
  return sum * highest * r / (steps * z0);
}

/// The square of the layer's vertical dispersion, π G Σ z₀ (same source), and its mean z², π² z₀²/12.
template <class R>
PERGOLA_HD R sheet_dispersion2(R g_sigma, R z0) {
  return R(std::numbers::pi) * g_sigma * z0;
}
template <class R>
PERGOLA_HD R sheet_mean_height2(R z0) {
  return R(std::numbers::pi * std::numbers::pi / 12) * z0 * z0;
}

}  // namespace pergola::physics

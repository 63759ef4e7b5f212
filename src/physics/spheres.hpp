#pragma once
/// Spherical models, in units of their own: Plummer, Hernquist, Navarro, Frenk & White with a truncation, King, and the
/// uniform sphere; and Eddington's integral, the distribution function of any isotropic sphere. The models' samplers in
/// models/ scale them.
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

/// The potential energy of a uniform sphere: −(3/5) G M²/R. Binney & Tremaine 2008, section 2.2.2.
template <class R>
PERGOLA_HD R uniform_sphere_potential_energy(R g, R mass, R radius) {
  return R(-0.6) * g * mass * mass / radius;
}

// Plummer's sphere of mass 1 and scale radius 1 with G = 1: density ∝ (1 + r²)^(−5/2).
// Aarseth, Hénon & Wielen 1974, A&A 37, 183 (AHW), appendix.

/// The mass within r: r³ (1 + r²)^(−3/2).
template <class R>
PERGOLA_HD R plummer_mass_within(R r) {
  const R q = r / std::sqrt(R(1) + r * r);
  return q * q * q;
}

/// The radius that holds the mass m: (m^(−2/3) − 1)^(−1/2).
template <class R>
PERGOLA_HD R plummer_radius(R m) {
  const R q = std::cbrt(m);
  return q / std::sqrt((R(1) - q) * (R(1) + q));
}

/// The escape speed at r: √2 (1 + r²)^(−1/4).
template <class R>
PERGOLA_HD R plummer_escape_speed(R r) {
  return std::sqrt(R(2) / std::sqrt(R(1) + r * r));
}

/// The distribution of q = speed / escape speed, not normalised: q² (1 − q²)^(7/2). Its largest value,
/// 0.0922, is at q² = 2/9.
template <class R>
PERGOLA_HD R plummer_speed_weight(R q) {
  const R s = R(1) - q * q;
  return q * q * s * s * s * std::sqrt(s);
}
inline constexpr double plummer_speed_weight_bound = 0.1;

/// The scale radius in units of the virial radius G M²/(2 |W|), from W = −(3π/32) G M²/a. With it E = −1/4 in N-body
/// units.
inline constexpr double plummer_scale_per_virial_radius = 3 * std::numbers::pi / 16;

// Hernquist's sphere of mass 1 and scale radius 1 with G = 1: ρ = 1/(2π r (1 + r)³), potential −1/(1 + r).
// Hernquist 1990, ApJ 356, 359.

/// The density at r. Eq. 2.
template <class R>
PERGOLA_HD R hernquist_density(R r) {
  const R s = R(1) + r;
  return R(1) / (R(2 * std::numbers::pi) * r * s * s * s);
}

/// dlnρ/dlnr = −(1 + 4 r)/(1 + r).
template <class R>
PERGOLA_HD R hernquist_log_slope(R r) {
  return -(R(1) + R(4) * r) / (R(1) + r);
}

/// The mass within r: r²/(1 + r)². Eq. 3.
template <class R>
PERGOLA_HD R hernquist_mass_within(R r) {
  const R q = r / (R(1) + r);
  return q * q;
}

/// The depth of the potential at r: 1/(1 + r). Eq. 5.
template <class R>
PERGOLA_HD R hernquist_depth(R r) {
  return R(1) / (R(1) + r);
}

/// The isotropic distribution function (mass per volume of phase space) at the binding energy E, 0 ≤ E < 1. Eq. 17 with
/// q² = E: (1 − q²)^(−5/2) [3 asin q + q √(1 − q²) (1 − 2 q²)(8 q⁴ − 8 q² − 3)]/(8 √2 π³). Where the bracket would lose
/// its digits, by its series.
template <class R>
PERGOLA_HD R hernquist_distribution(R energy) {
  const R q = std::sqrt(energy), s = R(1) - energy, e = energy;
  const R bracket =
      e < R(0.01)
          ? e * e * q *
                (R(128) / R(5) + e * (-R(192) / R(7) + e * (R(16) / R(3) + e * (R(8) / R(11) + e * (R(3) / R(13))))))
          : R(3) * std::asin(q) + q * std::sqrt(s) * (R(1) - R(2) * e) * (R(8) * e * e - R(8) * e - R(3));
  const R pi = R(std::numbers::pi);
  return bracket / (s * s * std::sqrt(s) * R(8 * std::numbers::sqrt2) * pi * pi * pi);
}

/// The halo of Navarro, Frenk & White 1996 (ApJ 462, 563) with scale radius 1, 4π ρ r (1 + r)² = 1 within the radius c,
/// the concentration; beyond it the density falls as r^ε exp(−r/d), with ε so that the slope is continuous.
/// Kazantzidis, Magorrian & Moore 2004, ApJ 601, 37, eqs. 2 and 3. The mass within r ≤ c is nfw_mass (external.hpp).
template <class R>
struct TruncatedNfw {
  R concentration, decay;  // c and d

  /// dlnρ/dlnr: −(1 + 3 r)/(1 + r) within c, ε − r/d beyond.
  PERGOLA_HD R log_slope(R r) const {
    if (r <= concentration) return inner_slope(r);
    return inner_slope(concentration) + (concentration - r) / decay;
  }

  PERGOLA_HD R density(R r) const {
    if (r <= concentration) return inner_density(r);
    const R power = inner_slope(concentration) + concentration / decay;
    return inner_density(concentration) * std::exp(power * std::log(r / concentration) - (r - concentration) / decay);
  }

 private:
  PERGOLA_HD static R inner_slope(R r) { return -(R(1) + R(3) * r) / (R(1) + r); }
  PERGOLA_HD static R inner_density(R r) { return R(1) / (R(12.566370614359172954) * r * (R(1) + r) * (R(1) + r)); }
};

// King's sphere: the isothermal one without stars that reach the edge. Lengths are in King radii √(9σ²/4πGρ₀), speeds
// in σ and W = depth of the potential below the edge over σ². King 1966, AJ 71, 64; Binney & Tremaine 2008,
// section 4.3.3.

/// The distribution function at the binding energy E below the edge, not normalised: exp(E) − 1. BT eq. 4.110.
template <class R>
PERGOLA_HD R king_distribution(R energy) {
  return energy > R(0) ? std::expm1(energy) : R(0);
}

/// The density at W, not normalised: exp(W) erf(√W) − √(4W/π) (1 + 2W/3). BT eq. 4.111. Near the edge by the series
/// (2/√π) √W Σ_{n≥2} (2W)^n/(2n + 1)!!.
template <class R>
PERGOLA_HD R king_density(R w) {
  if (!(w > R(0))) return R(0);
  const R root = std::sqrt(w), unit = R(2 * std::numbers::inv_sqrtpi) * root;
  if (w > R(1)) return std::exp(w) * std::erf(root) - unit * (R(1) + R(2) * w / R(3));
  R term = R(2) * w / R(3), sum = R(0);
  for (int n = 2; n < 20; ++n) {
    term *= R(2) * w / R(2 * n + 1);
    sum += term;
  }
  return unit * sum;
}

/// Poisson's equation in s = ln x: d²W/ds² = −dW/ds − 9 x² ρ(W)/ρ(W₀). BT eq. 4.112. The mass within x is −x dW/ds.
template <class R>
PERGOLA_HD R king_curvature(R x, R w, R slope, R central_density) {
  return -slope - R(9) * x * x * king_density(w) / central_density;
}

/// Part of Eddington's integral for the isotropic distribution function f(E) of the density ρ in a potential of depth
/// Ψ: f = ∫ d²ρ/dΨ² dΨ/√(E − Ψ) / (√8 π²). Eddington 1916; Binney & Tremaine 2008, eq. 4.46b. Exact for a range of Ψ in
/// which dρ/dΨ rises linearly from `slope_low` at `low` to `slope_high` at `high` ≤ E.
template <class R>
PERGOLA_HD R eddington_share(R energy, R low, R high, R slope_low, R slope_high) {
  const R length = high - low;
  if (!(length > R(0))) return R(0);
  // 2 (√(E − low) − √(E − high)) without the difference of roots.
  const R weight = R(2) * length / (std::sqrt(energy - low) + std::sqrt(energy - high));
  constexpr R unit = R(2 * std::numbers::sqrt2 * std::numbers::pi * std::numbers::pi);
  return (slope_high - slope_low) / length * weight / unit;
}

}  // namespace pergola::physics

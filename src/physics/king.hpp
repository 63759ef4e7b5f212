#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

// King's sphere: the isothermal one, cut where stars reach the edge. With lengths in King radii √(9σ²/4πGρ₀), speeds in
// σ and W = depth of the potential below the edge over σ². King 1966, AJ 71, 64; Binney & Tremaine 2008, section 4.3.3.

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

}  // namespace pergola::physics

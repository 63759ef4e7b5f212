#pragma once
#include <cmath>
#include <numbers>

namespace pergola::physics {

/// Maxwell's distribution of one component of the velocity, per unit of velocity:
/// exp(−(v − u)²/(2 σ²))/(σ √(2π)), with the drift u and the thermal speed σ.
template <class Real>
Real maxwellian(Real v, Real drift, Real thermal) {
  const Real s = (v - drift) / thermal;
  return std::exp(-s * s / 2) / (thermal * std::sqrt(2 * std::numbers::pi_v<Real>));
}

/// k_B T = m σ² of one component of the velocity with the variance σ².
template <class Real>
Real kinetic_temperature(Real mass, Real variance) {
  return mass * variance;
}

}  // namespace pergola::physics

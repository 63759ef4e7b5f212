#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

/// Part of Eddington's integral for the isotropic distribution function f(E) that makes the density ρ in a potential of
/// depth Ψ: f = ∫ d²ρ/dΨ² dΨ/√(E − Ψ) / (√8 π²). Eddington 1916; Binney & Tremaine 2008, eq. 4.46b. Of a stretch of Ψ
/// where dρ/dΨ rises evenly from `slope_low` at `low` to `slope_high` at `high` ≤ E, which can be integrated exactly.
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

#pragma once
/// Maxwell's equations on Yee's grid: K. S. Yee 1966; Taflove & Hagness 2005, chapters 3 and 4. Cells have side 1.
///
/// E_a stands ½ cell above the grid point along axis a, B_a along the two other axes. Then all derivatives are central
/// differences of neighbours, ∇·∇× is 0 term by term, and ∇·E is that of the charge at the grid points as long as
/// currents satisfy the equation of continuity.
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Where a grid point and its neighbours along the axes are in memory: all neighbours below, or all above.
struct YeePoint {
  std::int64_t at = 0, x = 0, y = 0, z = 0;
};

/// With neighbours below, ∇×B at the places of E; with those above, −∇×E at the places of B. In two dimensions nothing
/// varies along z.
template <int dimensions, class Real>
PERGOLA_HD_INLINE Vec3<Real> yee_curl(const Real* fx, const Real* fy, const Real* fz, const YeePoint& p) {
  Vec3<Real> curl{fz[p.at] - fz[p.y], fz[p.x] - fz[p.at], (fy[p.at] - fy[p.x]) - (fx[p.at] - fx[p.y])};
  if constexpr (dimensions == 3) curl.x -= fy[p.at] - fy[p.z], curl.y += fx[p.at] - fx[p.z];
  return curl;
}

/// With neighbours below, ∇·E at the grid points; with those above, −∇·B in the middle of the cells.
template <int dimensions, class Real>
PERGOLA_HD_INLINE Real yee_divergence(const Real* fx, const Real* fy, const Real* fz, const YeePoint& p) {
  const Real flat = (fx[p.at] - fx[p.x]) + (fy[p.at] - fy[p.y]);
  return dimensions == 3 ? flat + (fz[p.at] - fz[p.z]) : flat;
}

/// A conductor's layer of the convolutional perfectly matched kind: Roden & Gedney 2000, Microw. Opt. Technol. Lett.
/// 27, 334; Taflove & Hagness 2005, section 7.9, with κ = 1. In it a derivative ∂ along the axis becomes ∂ + ψ, where ψ
/// is memory ψ + weight ∂ in every step.
struct YeeAbsorber {
  double memory = 0, weight = 0;
};

/// At a depth of 0 … 1 of a layer of any thickness. The conductivity rises as depth³ to 0.8 · 4 c per cell (eq. 7.66),
/// which is best for the differences; the shift falls to zero, so that slow fields are absorbed as well.
inline YeeAbsorber yee_absorber(double depth, double light_speed, double step) {
  if (!(depth > 0)) return {};
  const double conductivity = 3.2 * light_speed * depth * depth * depth, shift = 0.02 * light_speed * (1 - depth);
  const double memory = std::exp(-(conductivity + shift) * step);
  return {memory, conductivity / (conductivity + shift) * (memory - 1)};
}

/// The frequency of a vacuum wave in the scheme: sin²(ω dt/2) = (c dt)² Σ sin²(k_a/2). Taflove & Hagness 2005,
/// eq. 4.15.
inline double yee_frequency(double light_speed, double step, const Vec3<double>& k) {
  const Vec3<double> sine{std::sin(0.5 * k.x), std::sin(0.5 * k.y), std::sin(0.5 * k.z)};
  return 2 / step * std::asin(light_speed * step * std::sqrt(dot(sine, sine)));
}

/// The scheme is stable below 1: the part of the longest step, 1 / (c √dimensions).
inline double courant_number(int dimensions, double light_speed, double step) {
  return light_speed * step * std::sqrt(static_cast<double>(dimensions));
}

}  // namespace pergola::physics

#pragma once
#include "base/host_device.hpp"

namespace pergola::physics {

// Forces −∂φ/∂x at a cell from the potential in the cells around it along one axis; `per_spacing` = 1/h.

/// (φ₋₁ − φ₊₁) / 2h, error h²φ‴/6.
template <class R>
PERGOLA_HD R two_point_force(R below, R above, R per_spacing) {
  return (below - above) * (R(0.5) * per_spacing);
}

/// (8(φ₋₁ − φ₊₁) − (φ₋₂ − φ₊₂)) / 12h, error h⁴φ⁗′/30.
template <class R>
PERGOLA_HD R four_point_force(R below2, R below, R above, R above2, R per_spacing) {
  return (R(8) * (below - above) - (below2 - above2)) * (per_spacing / R(12));
}

/// The difference of two neighbouring cells, for the cells at a face that has nothing beyond.
template <class R>
PERGOLA_HD R one_sided_force(R lower, R upper, R per_spacing) {
  return (lower - upper) * per_spacing;
}

/// The force at cell i of `cells` (two or more) along an axis, where read(j) is the potential in cell j. Beyond the
/// last cell comes the first where the potential wraps; where it does not, cells too near to the face for the
/// four-point stencil take the two-point one, and those at the face the one-sided difference.
template <bool four_point, class R, class Read>
PERGOLA_HD R axis_force(const Read& read, int i, int cells, bool wraps, R per_spacing) {
  const auto at = [&](int j) { return read(j < 0 ? j + cells : j >= cells ? j - cells : j); };
  if (!wraps) {
    if (i == 0) return one_sided_force<R>(read(0), read(1), per_spacing);
    if (i == cells - 1) return one_sided_force<R>(read(cells - 2), read(cells - 1), per_spacing);
    if (i == 1 || i == cells - 2) return two_point_force<R>(read(i - 1), read(i + 1), per_spacing);
  }
  if constexpr (four_point)
    return four_point_force<R>(at(i - 2), at(i - 1), at(i + 1), at(i + 2), per_spacing);
  else
    return two_point_force<R>(at(i - 1), at(i + 1), per_spacing);
}

}  // namespace pergola::physics

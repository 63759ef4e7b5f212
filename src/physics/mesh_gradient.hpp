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

enum class ForceStencil { one_sided_above, one_sided_below, two_point, four_point };

/// The stencil for cell i of `cells` (four or more) along an axis. Where the potential does not wrap, cells too near to
/// a face for the four-point stencil take the two-point one, and those at the face a one-sided difference.
template <bool four_point>
PERGOLA_HD ForceStencil force_stencil(int i, int cells, bool wraps) {
  if (!wraps) {
    if (i == 0) return ForceStencil::one_sided_above;
    if (i == cells - 1) return ForceStencil::one_sided_below;
    if (i == 1 || i == cells - 2) return ForceStencil::two_point;
  }
  return four_point ? ForceStencil::four_point : ForceStencil::two_point;
}

/// The force by a stencil, where read(k) is the potential k cells above.
template <ForceStencil stencil, class R, class Read>
PERGOLA_HD R stencil_force(const Read& read, R per_spacing) {
  if constexpr (stencil == ForceStencil::one_sided_above)
    return one_sided_force<R>(read(0), read(1), per_spacing);
  else if constexpr (stencil == ForceStencil::one_sided_below)
    return one_sided_force<R>(read(-1), read(0), per_spacing);
  else if constexpr (stencil == ForceStencil::two_point)
    return two_point_force<R>(read(-1), read(1), per_spacing);
  else
    return four_point_force<R>(read(-2), read(-1), read(1), read(2), per_spacing);
}

/// The force at cell i of `cells` along an axis, where read(j) is the potential in cell j of the axis.
template <bool four_point, class R, class Read>
PERGOLA_HD R axis_force(const Read& read, int i, int cells, bool wraps, R per_spacing) {
  const auto at = [&](int k) {
    const int j = i + k;
    return read(j < 0 ? j + cells : j >= cells ? j - cells : j);
  };
  switch (force_stencil<four_point>(i, cells, wraps)) {
    case ForceStencil::one_sided_above:
      return stencil_force<ForceStencil::one_sided_above, R>(at, per_spacing);
    case ForceStencil::one_sided_below:
      return stencil_force<ForceStencil::one_sided_below, R>(at, per_spacing);
    case ForceStencil::two_point:
      return stencil_force<ForceStencil::two_point, R>(at, per_spacing);
    default:
      return stencil_force<ForceStencil::four_point, R>(at, per_spacing);
  }
}

}  // namespace pergola::physics

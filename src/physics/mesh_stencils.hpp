#pragma once
/// Differences on a mesh: the seven-point equation of multigrid with its walls and eigenvectors, and forces from a
/// potential.
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

/// The relaxation factor of the red-black sweeps: about the best for the seven-point Laplacian on a cube (it makes a
/// V(2,2) cycle contract by 0.05 instead of 0.11). Yavneh 1996, SIAM J. Sci. Comput. 17, 180.
inline constexpr double red_black_relaxation = 1.2;

/// The equation of one cell: the seven-point Laplacian of the potential equals the source. Multigrid needs of it the
/// sum over neighbours, the diagonal, one relaxation and the residual. At the wall of an isolated box the potential of
/// the correction is zero: the cell beyond has −φ, which is 0 there and one more 1/h² on the diagonal. A potential on
/// the face is part of the source (wall_source). mul_add is explicit here, so that all loops over a cell have the same
/// bits.
template <class R>
struct PoissonStencil {
  R wx = 0, wy = 0, wz = 0;  // 1/h² along each axis

  PERGOLA_HD R neighbours(R west, R east, R south, R north, R below, R above) const {
    return mul_add(wz, below + above, mul_add(wy, south + north, wx * (west + east)));
  }
  /// For the number of walls that the cell touches along each axis.
  PERGOLA_HD R diagonal(int walls_x, int walls_y, int walls_z) const {
    return mul_add(wz, static_cast<R>(2 + walls_z),
                   mul_add(wy, static_cast<R>(2 + walls_y), wx * static_cast<R>(2 + walls_x)));
  }
  /// A bound of the operator's norm, reached by the mode that changes sign from cell to cell.
  PERGOLA_HD double norm() const {
    return 4 * (static_cast<double>(wx) + static_cast<double>(wy) + static_cast<double>(wz));
  }
  /// The weight of relaxed(): the relaxation factor over the diagonal.
  PERGOLA_HD static R relaxation_weight(R diagonal) { return static_cast<R>(red_black_relaxation) / diagonal; }
  PERGOLA_HD static R relaxed(R value, R neighbours, R source, R weight) {
    return mul_add(weight, neighbours - source, static_cast<R>(1 - red_black_relaxation) * value);
  }
  PERGOLA_HD static R residual(R value, R neighbours, R source, R diagonal) {
    return source - mul_add(-diagonal, value, neighbours);
  }
  /// The part of a cell's source from the potential on a face, half a cell from the cell's centre.
  PERGOLA_HD static R wall_source(R weight, R face_potential) { return R(-2) * weight * face_potential; }
};

/// Value at cell j of the k-th orthonormal eigenvector of the second difference along an axis of n cells: periodic, or
/// zero on the faces half a cell beyond the first and the last centre.
inline double axis_mode(bool periodic, int n, int k, int j) {
  constexpr double pi = std::numbers::pi;
  if (!periodic)  // k = 0 … n − 1 stands for the wave number k + 1
    return std::sqrt((k + 1 < n ? 2.0 : 1.0) / n) * std::sin(pi * (k + 1) * (j + 0.5) / n);
  const int wave = (k + 1) / 2;
  const double norm = std::sqrt((wave == 0 || 2 * wave == n ? 1.0 : 2.0) / n);
  const double phase = 2 * pi * wave * j / n;
  return norm * (k % 2 == 1 || k == 0 ? std::cos(phase) : std::sin(phase));
}

/// Its eigenvalue, −4 sin²(κh/2)/h².
inline double axis_eigenvalue(bool periodic, int n, int k, double spacing) {
  const double half_phase = std::numbers::pi * (periodic ? (k + 1) / 2 : 0.5 * (k + 1)) / n;
  const double s = std::sin(half_phase);
  return -4 * s * s / (spacing * spacing);
}

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

/// The difference of two neighbouring cells, for cells at an open face.
template <class R>
PERGOLA_HD R one_sided_force(R lower, R upper, R per_spacing) {
  return (lower - upper) * per_spacing;
}

enum class ForceStencil { one_sided_above, one_sided_below, two_point, four_point };

/// The stencil for cell i of `cells` (four or more) along an axis. If the potential does not wrap, cells at a face use
/// a one-sided difference and their neighbours the two-point one.
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

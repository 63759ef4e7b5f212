#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

/// The relaxation factor of the red-black sweeps: about the best for the seven-point Laplacian on a cube (it makes a
/// V(2,2) cycle contract by 0.05 instead of 0.11). Yavneh 1996, SIAM J. Sci. Comput. 17, 180.
inline constexpr double red_black_relaxation = 1.2;

/// The equation of one cell: the seven-point Laplacian of the potential equals the source. Everything that multigrid
/// asks of an operator is here: what the neighbours give, the diagonal, one relaxation, the residual. A cell at the
/// wall of an isolated box, where the potential of the correction is zero, sees −φ beyond it, which is the same as 0
/// beyond it and one more 1/h² on the diagonal; a potential on the face is part of the source (wall_source). Which
/// product is added without rounding where the device can is said here, so that all loops over a cell have one result.
template <class R>
struct PoissonStencil {
  R wx = 0, wy = 0, wz = 0;  // 1/h² along each axis

  PERGOLA_HD R neighbours(R west, R east, R south, R north, R below, R above) const {
    return mul_add(wz, below + above, mul_add(wy, south + north, wx * (west + east)));
  }
  /// With the number of walls that the cell touches along each axis.
  PERGOLA_HD R diagonal(int walls_x, int walls_y, int walls_z) const {
    return mul_add(wz, static_cast<R>(2 + walls_z),
                   mul_add(wy, static_cast<R>(2 + walls_y), wx * static_cast<R>(2 + walls_x)));
  }
  /// A bound of the operator's norm, reached by the mode that changes sign from cell to cell.
  PERGOLA_HD double norm() const {
    return 4 * (static_cast<double>(wx) + static_cast<double>(wy) + static_cast<double>(wz));
  }
  /// Of the equation in relaxed(): the relaxation factor by the diagonal.
  PERGOLA_HD static R relaxation_weight(R diagonal) { return static_cast<R>(red_black_relaxation) / diagonal; }
  PERGOLA_HD static R relaxed(R value, R neighbours, R source, R weight) {
    return mul_add(weight, neighbours - source, static_cast<R>(1 - red_black_relaxation) * value);
  }
  PERGOLA_HD static R residual(R value, R neighbours, R source, R diagonal) {
    return source - mul_add(-diagonal, value, neighbours);
  }
  /// What the potential on a face, at half a cell from the cell's centre, adds to the source of the cell.
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

}  // namespace pergola::physics

#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "mesh/grid.hpp"
#include "mesh/options.hpp"
#include "physics/mesh_stencils.hpp"
#include "physics/multipole.hpp"

namespace pergola::multigrid {

/// One grid of the hierarchy.
template <class Real>
struct Level {
  int nx = 0, ny = 0, nz = 0;
  int fx = 1, fy = 1, fz = 1;  // cells of this level, along each axis, in one of the next
  bool periodic = true;
  double hx = 0, hy = 0, hz = 0;
  physics::PoissonStencil<Real> stencil;

  PERGOLA_HD std::int64_t index(int x, int y, int z) const { return (std::int64_t{z} * ny + y) * nx + x; }
  PERGOLA_HD std::int64_t cells() const { return std::int64_t{nx} * ny * nz; }
  /// Walls of an isolated box that a cell touches along an axis of n cells.
  PERGOLA_HD int walls(int i, int n) const { return periodic ? 0 : (i == 0) + (i == n - 1); }
  /// Coordinate of the middle of cell i, from the middle of the box.
  PERGOLA_HD static double place(int i, int n, double h) { return (i + 0.5 - 0.5 * n) * h; }
};

/// Grids from the finest to the coarsest. An axis is halved while its spacing is within √2 of the smallest one (then
/// point relaxation smooths all that the next grid cannot hold); the last grid, which is solved directly, is the first
/// with at most `direct_cells` cells per axis, or whose finest axis cannot be halved, or with an odd axis, or the
/// `limit`-th (0: no limit).
template <class Real>
std::vector<Level<Real>> make_levels(const Grid& grid, int limit, int direct_cells);

/// Values of a coarse level as the finer one reads them, one cell beyond the grid too: wrapped in a periodic box; in an
/// isolated one the mirror image with the other sign (a correction is zero on the faces) or, where `far` is given, the
/// potential of the multipole expansion, as long as the values are those of a whole potential. Of a slab `data` begins
/// with plane `first`, and stands with the planes around.
template <class Real>
struct CoarseValues {
  const Real* data = nullptr;
  Level<Real> level;
  const physics::Multipole* far = nullptr;
  int first = 0;
  bool slab = false;

  PERGOLA_HD std::int64_t index(int x, int y, int z) const { return level.index(x, y, z - first); }
  PERGOLA_HD Real operator()(int x, int y, int z) const {
    const bool inside = x >= 0 && x < level.nx && y >= 0 && y < level.ny && z >= 0 && z < level.nz;
    return inside ? data[index(x, y, z)] : beyond(x, y, z);
  }
  PERGOLA_HD Real beyond(int x, int y, int z) const {
    if (far && !level.periodic)
      return static_cast<Real>((*far)(level.place(x, level.nx, level.hx), level.place(y, level.ny, level.hy),
                                      level.place(z, level.nz, level.hz)));
    return mirrored(x, y, z);
  }
  /// Without the multipole expansion.
  PERGOLA_HD Real mirrored(int x, int y, int z) const {
    Real sign = 1;
    x = folded(x, level.nx, sign);
    y = folded(y, level.ny, sign);
    if (!slab || !level.periodic) z = folded(z, level.nz, sign);
    return sign * data[index(x, y, z)];
  }

 private:
  PERGOLA_HD int folded(int i, int n, Real& sign) const {
    if (i >= 0 && i < n) return i;
    if (level.periodic) return i < 0 ? i + n : i - n;
    sign = -sign;
    return i < 0 ? 0 : n - 1;
  }
};

/// Linear interpolation along one axis: 3/4 of the coarse cell that holds a fine one and 1/4 of the one on its side.
template <class Real>
PERGOLA_HD Real interpolated(Real near, Real next) {
  return physics::mul_add(Real(0.75), near, Real(0.25) * next);
}

/// The same as weights, at fine cell i; the coarse cell itself where the axis is not halved.
template <class Real>
struct Between {
  int near = 0, next = 0;
  Real near_weight = 1, next_weight = 0;
  PERGOLA_HD Between(int i, int factor) {
    near = factor == 2 ? i / 2 : i;
    if (factor == 2)
      next = near + (i % 2 ? 1 : -1), near_weight = interpolated(Real(1), Real(0)),
      next_weight = interpolated(Real(0), Real(1));
    else
      next = near;
  }
};

/// Eigenvectors and eigenvalues of a level along its axes: the direct solution of the coarsest one. mode[axis] holds
/// value(k, j) at k n + j and its transpose behind it.
template <class Real>
struct AxisModes {
  std::array<std::vector<Real>, 3> mode;
  std::array<std::vector<Real>, 3> eigenvalue;
};
template <class Real>
AxisModes<Real> axis_modes(const Level<Real>& level);

/// 1/λ of a product of modes, 0 for the constant one of a periodic box.
template <class Real>
PERGOLA_HD Real inverse_eigenvalue(Real x, Real y, Real z) {
  const Real sum = x + y + z;
  return sum == Real(0) ? Real(0) : Real(1) / sum;
}

}  // namespace pergola::multigrid

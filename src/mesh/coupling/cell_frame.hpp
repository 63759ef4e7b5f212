#pragma once
#include <cstdint>

#include "mesh/grid.hpp"
#include "physics/mesh_weights.hpp"

namespace pergola {

/// A grid as the loops over particles see it, in their number type. The same operations in the same order on every
/// device (without fused multiply-add), so that all of them count the same quanta in the same cells.
template <class Real>
struct CellFrame {
  int dimensions = 3;
  int cells[3] = {1, 1, 1};
  bool periodic = true;
  Real corner[3] = {}, side[3] = {}, per_length[3] = {};  // per_length: cells in a unit of length

  CellFrame() = default;
  explicit CellFrame(const Grid& grid) : dimensions(grid.dimensions), periodic(grid.periodic()) {
    const double low[3] = {grid.box.corner.x, grid.box.corner.y, grid.box.corner.z};
    const double length[3] = {grid.box.side.x, grid.box.side.y, grid.box.side.z};
    for (int axis = 0; axis < dimensions; ++axis) {
      cells[axis] = grid.cells[static_cast<std::size_t>(axis)];
      corner[axis] = static_cast<Real>(low[axis]);
      side[axis] = static_cast<Real>(length[axis]);
      per_length[axis] = static_cast<Real>(cells[axis] / length[axis]);
    }
  }

  /// Cells between the corner and x along an axis.
  PERGOLA_HD Real cells_from_corner(int axis, Real x) const { return (x - corner[axis]) * per_length[axis]; }
  /// The same, in a periodic box of the image in the box, 0 ≤ place ≤ cells.
  PERGOLA_HD Real place(int axis, Real x) const {
    return cells_from_corner(axis, periodic ? wrap(x, corner[axis], side[axis]) : x);
  }
  /// Whether a place is far enough from the faces along this axis for the mesh to take the particle.
  PERGOLA_HD bool holds(int axis, Real place) const {
    return periodic || (place >= Real(isolated_margin) && place < Real(cells[axis] - isolated_margin));
  }
  /// The cell that a cell of a cloud or stencil is in a periodic box.
  PERGOLA_HD int wrapped(int axis, int cell) const {
    return cell < 0 ? cell + cells[axis] : cell >= cells[axis] ? cell - cells[axis] : cell;
  }
};

/// Calls add(kx, ky, kz, quanta) for the cells of a particle's cloud, counted from the first along each axis; the last
/// one gets what the others leave. In two dimensions kz = 0 and z is not looked at.
template <int dimensions, int order, class Real, class Add>
PERGOLA_HD void share_out(const physics::AxisWeights<order, Real>& x, const physics::AxisWeights<order, Real>& y,
                          const physics::AxisWeights<order, Real>& z, std::int64_t quanta, const Add& add) {
  std::int64_t rest = quanta;
  constexpr int layers = dimensions == 3 ? order : 1;
  for (int kz = 0; kz < layers; ++kz)
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? y.weight[ky] * z.weight[kz] : y.weight[ky];
      for (int kx = 0; kx < order; ++kx) {
        const bool last = kx == order - 1 && ky == order - 1 && kz == layers - 1;
        const std::int64_t share = last ? rest : physics::quanta_share(quanta, x.weight[kx] * yz);
        rest -= share;
        add(kx, ky, kz, share);
      }
    }
}

}  // namespace pergola

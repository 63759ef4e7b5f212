#pragma once
// Grids and options that the tests of the exchange share.
#include <cstddef>
#include <vector>

#include "mesh/mesh_fixture.hpp"

namespace pergola {

inline constexpr Assignment every_assignment[] = {Assignment::ngp, Assignment::cic, Assignment::tsc, Assignment::pcs};
inline constexpr double quantum = 0x1p-40;

inline ExchangeOptions with(Assignment assignment, Gradient gradient = Gradient::two_point) {
  return {assignment, gradient};
}

inline Grid flat_grid(Boundary boundary) { return {2, {16, 24, 1}, {{-1, 2, 0}, {2, 3, 0}, boundary}}; }
inline Grid box_grid(Boundary boundary) { return {3, {16, 20, 24}, {{-1, 2, 0.5}, {2, 3, 4}, boundary}}; }

/// Places in cells from the corner, in fp64.
inline bool inside_margin(const Grid& grid, double x, double y, double z) {
  const double corner[3] = {grid.box.corner.x, grid.box.corner.y, grid.box.corner.z};
  const double position[3] = {x, y, z};
  const auto h = grid.spacing();
  for (std::size_t a = 0; a < static_cast<std::size_t>(grid.dimensions); ++a) {
    const double u = (position[a] - corner[a]) / h[a];
    if (u < isolated_margin || u >= grid.cells[a] - isolated_margin) return false;
  }
  return true;
}

template <class Real>
HostParticles<Real> reordered(const HostParticles<Real>& from, const std::vector<std::size_t>& order) {
  HostParticles<Real> to;
  for (const std::size_t i : order) to.add(from.x[i], from.y[i], from.z[i], from.mass[i]);
  return to;
}

}  // namespace pergola

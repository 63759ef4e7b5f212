#include "mesh/multigrid/multigrid_levels.hpp"

#include <algorithm>
#include <numbers>

namespace pergola::multigrid {

namespace {

template <class Real>
Level<Real> make_level(const std::array<int, 3>& cells, const Grid& grid) {
  Level<Real> level;
  level.nx = cells[0], level.ny = cells[1], level.nz = cells[2];
  level.periodic = grid.periodic();
  level.hx = grid.box.side.x / cells[0], level.hy = grid.box.side.y / cells[1], level.hz = grid.box.side.z / cells[2];
  level.stencil = {static_cast<Real>(1 / (level.hx * level.hx)), static_cast<Real>(1 / (level.hy * level.hy)),
                   static_cast<Real>(1 / (level.hz * level.hz))};
  return level;
}

/// Cells of the next grid, or the same when there is none.
std::array<int, 3> coarsened(const std::array<int, 3>& cells, const std::array<double, 3>& h) {
  const double finest = std::min({h[0], h[1], h[2]});
  std::array<int, 3> next = cells;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (cells[axis] % 2) return cells;
    if (h[axis] > std::numbers::sqrt2 * finest) continue;
    if (cells[axis] < 4) return cells;
    next[axis] = cells[axis] / 2;
  }
  return next;
}

}  // namespace

template <class Real>
std::vector<Level<Real>> make_levels(const Grid& grid, int limit, int direct_cells) {
  std::array<int, 3> cells = grid.cells;
  std::vector<Level<Real>> levels{make_level<Real>(cells, grid)};
  while (limit == 0 || static_cast<int>(levels.size()) < limit) {
    Level<Real>& last = levels.back();
    if (*std::max_element(cells.begin(), cells.end()) <= direct_cells) break;
    const std::array<int, 3> next = coarsened(cells, {last.hx, last.hy, last.hz});
    if (next == cells) break;
    last.fx = cells[0] / next[0], last.fy = cells[1] / next[1], last.fz = cells[2] / next[2];
    cells = next;
    levels.push_back(make_level<Real>(cells, grid));
  }
  return levels;
}

template <class Real>
AxisModes<Real> axis_modes(const Level<Real>& level) {
  AxisModes<Real> result;
  const std::array<int, 3> cells{level.nx, level.ny, level.nz};
  const std::array<double, 3> spacing{level.hx, level.hy, level.hz};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int n = cells[axis];
    const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    auto& mode = result.mode[axis];
    mode.resize(2 * square);
    for (int k = 0; k < n; ++k) {
      result.eigenvalue[axis].push_back(
          static_cast<Real>(physics::axis_eigenvalue(level.periodic, n, k, spacing[axis])));
      for (int j = 0; j < n; ++j)
        mode[static_cast<std::size_t>(k * n + j)] = mode[square + static_cast<std::size_t>(j * n + k)] =
            static_cast<Real>(physics::axis_mode(level.periodic, n, k, j));
    }
  }
  return result;
}

template std::vector<Level<float>> make_levels(const Grid& grid, int limit, int direct_cells);
template std::vector<Level<double>> make_levels(const Grid& grid, int limit, int direct_cells);
template AxisModes<float> axis_modes(const Level<float>& level);
template AxisModes<double> axis_modes(const Level<double>& level);

}  // namespace pergola::multigrid

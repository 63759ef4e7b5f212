#pragma once
#include <vector>

namespace pergola {

/// A square grid of cells, row after row.
struct SquareGrid {
  explicit SquareGrid(int cells_per_side)
      : side(cells_per_side), cells(static_cast<std::size_t>(side) * static_cast<std::size_t>(side)) {}
  double& at(int x, int y) { return cells[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)]; }
  double at(int x, int y) const { return cells[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)]; }
  int side;
  std::vector<double> cells;
};

/// Standard deviation, in cells, of what `blur` makes of a point: √(r (r + 1)).
double blur_width(int radius);

/// Smooths by three means over 2 radius + 1 cells along each axis, close to a Gaussian (central limit theorem). The sum
/// stays, up to what leaves across the edges. Bits do not depend on the number of threads.
void blur(SquareGrid& grid, int radius, int threads);

}  // namespace pergola

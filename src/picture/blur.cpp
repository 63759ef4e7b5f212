#include "picture/blur.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr std::int64_t rows_per_task = 32;

/// Means over 2r + 1 neighbours; beyond the ends lies nothing. `from` has r + 1 zeros before and r after the row.
void mean_of_neighbours(const std::vector<double>& from, int count, int r, double* to) {
  const double scale = 1.0 / (2 * r + 1);
  double sum = 0;
  for (int i = 1; i <= 2 * r; ++i) sum += from[static_cast<std::size_t>(i)];
  for (int i = 0; i < count; ++i) {
    sum += from[static_cast<std::size_t>(i + 2 * r + 1)] - from[static_cast<std::size_t>(i)];
    to[i] = std::max(0.0, sum * scale);
  }
}

void blur_rows(SquareGrid& grid, int r, int threads) {
  parallel_chunks(threads, grid.side, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> padded(static_cast<std::size_t>(grid.side + 2 * r + 1), 0.0);
    for (std::int64_t y = begin; y < end; ++y) {
      double* row = grid.cells.data() + y * grid.side;
      for (int pass = 0; pass < 3; ++pass) {
        std::copy(row, row + grid.side, padded.begin() + r + 1);
        mean_of_neighbours(padded, grid.side, r, row);
      }
    }
  });
}

void transpose(SquareGrid& grid) {
  constexpr int block = 32;
  for (int y0 = 0; y0 < grid.side; y0 += block)
    for (int x0 = y0; x0 < grid.side; x0 += block)
      for (int y = y0; y < std::min(y0 + block, grid.side); ++y)
        for (int x = std::max(x0, y + 1); x < std::min(x0 + block, grid.side); ++x)
          std::swap(grid.at(x, y), grid.at(y, x));
}

}  // namespace

double blur_width(int radius) { return std::sqrt(static_cast<double>(radius) * (radius + 1)); }

void blur(SquareGrid& grid, int radius, int threads) {
  if (radius < 1) return;
  blur_rows(grid, radius, threads);
  transpose(grid);
  blur_rows(grid, radius, threads);
  transpose(grid);
}

}  // namespace pergola

#pragma once
// Files keep the particles of each species together, in the order in which they come. This finds their rows.
#include <array>
#include <cstdint>
#include <vector>

#include "particles/particles.hpp"

namespace pergola {

/// Particles `place` … `place` + count − 1 of a piece become the rows from `row` on of their species.
struct RowRun {
  std::int64_t row, place, count;
};

/// Where the particles of a piece go.
struct PieceRows {
  std::array<std::vector<RowRun>, species_count> runs;
};

/// Particles first … first + n − 1 of `particles`; `next_row` of each species rises by what was found.
PieceRows find_rows(const Particles& particles, std::int64_t first, std::int64_t n,
                    std::array<std::int64_t, species_count>& next_row);

/// Calls take(row, place, count) for the parts of the runs within rows [begin, end).
template <class Take>
void for_rows(const std::vector<RowRun>& runs, std::int64_t begin, std::int64_t end, const Take& take) {
  std::size_t low = 0, high = runs.size();  // the first run that ends after `begin`
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (runs[middle].row + runs[middle].count <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  for (std::size_t r = low; r < runs.size() && runs[r].row < end; ++r) {
    const std::int64_t from = runs[r].row < begin ? begin : runs[r].row;
    const std::int64_t until = runs[r].row + runs[r].count < end ? runs[r].row + runs[r].count : end;
    take(from, runs[r].place + (from - runs[r].row), until - from);
  }
}

}  // namespace pergola

#include "io/piece_rows.hpp"

namespace pergola {

PieceRows find_rows(const Particles& particles, std::int64_t first, std::int64_t n,
                    std::array<std::int64_t, species_count>& next_row) {
  PieceRows rows;
  const std::uint8_t* const species = particles.species.data();
  for (std::int64_t i = first; i < first + n;) {
    std::int64_t end = i + 1;
    while (end < first + n && species[end] == species[i]) ++end;
    rows.runs[species[i]].push_back({next_row[species[i]], i, end - i});
    next_row[species[i]] += end - i;
    i = end;
  }
  return rows;
}

}  // namespace pergola

#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::tree {

/// Octal digits of a key: 21 levels of the octree. Where they do not tell particles apart, a second key continues with
/// the next 21.
inline constexpr int key_levels = 21;

/// Bits 0 … 20 to bits 0, 3, …, 60.
PERGOLA_HD std::uint64_t spread_bits(std::uint64_t v) {
  v &= 0x1fffff;
  v = (v | v << 32) & 0x1f00000000ffffULL;
  v = (v | v << 16) & 0x1f0000ff0000ffULL;
  v = (v | v << 8) & 0x100f00f00f00f00fULL;
  v = (v | v << 4) & 0x10c30c30c30c30c3ULL;
  v = (v | v << 2) & 0x1249249249249249ULL;
  return v;
}

PERGOLA_HD std::uint64_t interleave(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  return spread_bits(x) << 2 | spread_bits(y) << 1 | spread_bits(z);
}

/// A coordinate of the unit cube in 42 bits; what lies on or beyond the edges is counted to the outermost cells.
PERGOLA_HD std::uint64_t grid_place(double unit) {
  constexpr double cells = 4398046511104.0;  // 2^42
  const double place = unit * cells;
  return place < 0 ? 0 : place >= cells ? 0x3ffffffffffULL : static_cast<std::uint64_t>(place);
}

/// Morton keys: the upper and the lower 21 levels.
PERGOLA_HD std::uint64_t upper_key(const Vec3<double>& unit) {
  return interleave(grid_place(unit.x) >> key_levels, grid_place(unit.y) >> key_levels,
                    grid_place(unit.z) >> key_levels);
}
PERGOLA_HD std::uint64_t lower_key(const Vec3<double>& unit) {
  return interleave(grid_place(unit.x), grid_place(unit.y), grid_place(unit.z));
}

}  // namespace pergola::tree

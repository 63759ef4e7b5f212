#pragma once
// Where particles are in the octree: Morton keys, and how a cell over sorted keys is split.
//
// A place in the unit cube has 42 octal digits, one per level: the first 21 are its upper key, the others its lower
// key. A digit is 4 for the upper half of x, 2 for that of y, 1 for that of z, added up. Sorted by (upper, lower), the
// particles of every cell of the octree stand together. Where softening lengths differ, one more digit keeps particles
// with different lengths apart in small cells.
// CPU and GPU use the same functions, so both build the same cells.
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// Octal digits of a key: 21 levels of the octree.
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

/// Bits 0, 3, …, 60 to bits 0 … 20: undoes spread_bits().
PERGOLA_HD std::uint64_t unspread_bits(std::uint64_t v) {
  v &= 0x1249249249249249ULL;
  v = (v | v >> 2) & 0x10c30c30c30c30c3ULL;
  v = (v | v >> 4) & 0x100f00f00f00f00fULL;
  v = (v | v >> 8) & 0x1f0000ff0000ffULL;
  v = (v | v >> 16) & 0x1f00000000ffffULL;
  v = (v | v >> 32) & 0x1fffff;
  return v;
}

PERGOLA_HD std::uint64_t interleave(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  return spread_bits(x) << 2 | spread_bits(y) << 1 | spread_bits(z);
}

/// A coordinate of the unit cube in 42 bits. Places on or beyond an edge belong to the outermost cell.
PERGOLA_HD std::uint64_t grid_place(double unit) {
  constexpr double cells = 4398046511104.0;  // 2^42
  const double place = unit * cells;
  return place < 0 ? 0 : place >= cells ? 0x3ffffffffffULL : static_cast<std::uint64_t>(place);
}

/// Morton keys of the upper and of the lower 21 levels.
PERGOLA_HD std::uint64_t upper_key(const Vec3<double>& unit) {
  return interleave(grid_place(unit.x) >> key_levels, grid_place(unit.y) >> key_levels,
                    grid_place(unit.z) >> key_levels);
}
PERGOLA_HD std::uint64_t lower_key(const Vec3<double>& unit) {
  return interleave(grid_place(unit.x), grid_place(unit.y), grid_place(unit.z));
}

/// Keys with one digit for the softening length, after the digits of `level` levels. The digits of the levels below
/// follow one place later. If all lengths are the same there is no such digit, and keys are Morton's.
struct SofteningDigit {
  static constexpr int no_digit = -1;
  int level = no_digit;
  std::uint8_t of_species[6] = {};

  PERGOLA_HD std::uint64_t of(const std::uint8_t* species, std::int64_t i) const {
    return of_species[species ? species[i] : 0];
  }
  PERGOLA_HD std::uint64_t upper(const Vec3<double>& unit, std::uint64_t digit) const {
    const std::uint64_t key = upper_key(unit);
    if (level == no_digit) return key;
    const int below = 3 * (key_levels - level);
    const std::uint64_t mask = (std::uint64_t{1} << below) - 1;
    return (key & ~mask) | digit << (below - 3) | (key & mask) >> 3;
  }
  PERGOLA_HD std::uint64_t lower(const Vec3<double>& unit) const {
    if (level == no_digit) return lower_key(unit);
    return (upper_key(unit) & 7) << 3 * (key_levels - 1) | lower_key(unit) >> 3;
  }
};

/// The middle of the cell of the finest level that an upper key tells, in the unit cube. With a softening digit after
/// `digit_level` levels it is the cell of one level above.
PERGOLA_HD Vec3<double> place_of_key(std::uint64_t upper, int digit_level) {
  if (digit_level != SofteningDigit::no_digit) {
    const std::uint64_t below = (std::uint64_t{1} << 3 * (key_levels - digit_level)) - 1;
    upper = (upper & ~below) | (upper << 3 & below);
  }
  constexpr double cell = 1.0 / (1 << key_levels);
  return {(static_cast<double>(unspread_bits(upper >> 2)) + 0.5) * cell,
          (static_cast<double>(unspread_bits(upper >> 1)) + 0.5) * cell,
          (static_cast<double>(unspread_bits(upper)) + 0.5) * cell};
}

/// The last level whose cells are at least `width` wide, in a cube of that side.
PERGOLA_HD int softening_level(double side, double width) {
  int level = 0;
  for (double cell = side / 2; level < key_levels - 1 && cell >= width; cell /= 2) ++level;
  return level;
}

/// A digit for every length: the number of the first species with it. If lengths differ, the caller sets the level.
inline SofteningDigit softening_digits(const TreeSoftening& softening) {
  SofteningDigit digit;
  if (softening.uniform) return digit;
  digit.level = 0;
  for (std::uint8_t s = 0; s < 6; ++s)
    while (softening.epsilon[digit.of_species[s]] != softening.epsilon[s]) ++digit.of_species[s];
  return digit;
}

/// The parts of a cell: part c ends before particle end[c].
struct Pieces {
  int count = 0;
  std::uint32_t end[8] = {};
};

/// The lowest bit of the highest octal digit in which a and b differ.
PERGOLA_HD int digit_shift(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t difference = a ^ b;
  int shift = 60;
  while (!(difference >> shift)) shift -= 3;
  return shift;
}

/// The first of the particles begin … end − 1 whose digit is above `digit`, or `end`.
PERGOLA_HD std::uint32_t end_of_digit(const std::uint64_t* keys, std::uint32_t begin, std::uint32_t end, int shift,
                                      std::uint64_t digit) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if ((keys[middle] >> shift & 7) <= digit)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// The size of the parts of a cell whose particles all have the same keys.
PERGOLA_HD std::uint32_t equal_part(std::uint32_t count) {
  const std::uint32_t eighth = (count + 7) / 8;
  return eighth > leaf_capacity ? eighth : leaf_capacity;
}

/// Splits the cell of particles first … first + count − 1 by the highest digit in which its keys differ. `lower` may be
/// null. Particles with the same keys are split by their number. A leaf has no parts.
PERGOLA_HD Pieces split_cell(std::uint32_t first, std::uint32_t count, const std::uint64_t* upper,
                             const std::uint64_t* lower) {
  Pieces pieces;
  if (count <= leaf_capacity) return pieces;
  const std::uint32_t end = first + count;
  const std::uint64_t* keys = upper;
  if (keys[first] == keys[end - 1]) keys = lower;
  if (keys && keys[first] != keys[end - 1]) {
    const int shift = digit_shift(keys[first], keys[end - 1]);
    for (std::uint32_t at = first; at < end; ++pieces.count) {
      at = end_of_digit(keys, at, end, shift, keys[at] >> shift & 7);
      pieces.end[pieces.count] = at;
    }
    return pieces;
  }
  const std::uint32_t part = equal_part(count);
  for (std::uint32_t at = first; at < end; ++pieces.count) {
    at = end - at > part ? at + part : end;
    pieces.end[pieces.count] = at;
  }
  return pieces;
}

}  // namespace pergola::tree

#pragma once
#include "tree/keys.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// Keys that keep particles with different softening lengths apart in small cells: after the digits of `level` levels
/// comes one for the length, and those of the levels below follow one place later. Where all lengths are the same, keys
/// are Morton's.
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

/// The last level whose cells are at least `width` wide, in a cube of the given side.
PERGOLA_HD int softening_level(double side, double width) {
  int level = 0;
  for (double cell = side / 2; level < key_levels - 1 && cell >= width; cell /= 2) ++level;
  return level;
}

/// A digit for every length, that of the first species that has it. Where lengths differ the level is still to be
/// found.
inline SofteningDigit softening_digits(const TreeSoftening& softening) {
  SofteningDigit digit;
  if (softening.uniform) return digit;
  digit.level = 0;
  for (std::uint8_t s = 0; s < 6; ++s)
    while (softening.epsilon[digit.of_species[s]] != softening.epsilon[s]) ++digit.of_species[s];
  return digit;
}

}  // namespace pergola::tree

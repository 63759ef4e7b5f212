#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

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

/// The first of the particles begin … end − 1 whose digit is above `digit`; end when there is none.
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

/// The size of the parts of a cell whose particles no digit tells apart.
PERGOLA_HD std::uint32_t equal_part(std::uint32_t count) {
  const std::uint32_t eighth = (count + 7) / 8;
  return eighth > leaf_capacity ? eighth : leaf_capacity;
}

/// Splits the cell of particles first … first + count − 1; no parts for a leaf.
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

#pragma once
#include <cstdint>

namespace pergola {

/// A character of the built-in stroke font. `path` holds moves (M x y), lines (L x y) and quadratic curves
/// (Q cx cy x y). The base line is y = 0, capitals reach 10, small letters 7, descenders −3.
struct Glyph {
  std::uint32_t code;
  double width;
  const char* path;
};

/// The glyph of a Unicode character; a box where the font has none.
const Glyph& find_glyph(std::uint32_t code);

}  // namespace pergola

#pragma once
#include <string_view>

#include "picture/draw.hpp"

namespace pergola {

/// Where the given point lies in a line of text: x from left (0) to right (1).
enum class Align { left, center, right };
enum class Direction { horizontal, upward };

struct TextStyle {
  double cap_height = 12;  // pixels from the base line to the top of a capital
  Color color{};
  Align align = Align::left;
  Direction direction = Direction::horizontal;
  double weight = 1;  // thickness of the strokes, 1: regular, 1.5: bold
  double opacity = 1;
};

/// The width in pixels of a line of text. UTF-8: printable ASCII and a few more (− × · ° Δ Σ ε η λ µ π ρ σ τ φ ω); any
/// other character shows as a box. `^{…}` raises and `_{…}` lowers a part.
double text_width(std::string_view text, double cap_height);

/// Draws one line of text with its base line at `at`.
void draw_text(Image& image, Point at, std::string_view text, const TextStyle& style);

}  // namespace pergola

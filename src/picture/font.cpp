#include "picture/font.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "picture/glyphs.hpp"

namespace pergola {

namespace {

constexpr double units_per_cap = 10;   // the glyphs' design size, see glyphs.hpp
constexpr double letter_gap = 2.6;     // between the edges of two letters
constexpr double script_scale = 0.68;  // of superscripts and subscripts
constexpr double stroke_width = 1.15;

struct Outline {
  double width = 0;
  std::vector<std::vector<Point>> strokes;  // in design units, y up
};

/// Reads a path of M, L and Q commands; a Q becomes short straight pieces.
Outline read_glyph(const Glyph& glyph) {
  Outline outline{glyph.width, {}};
  std::vector<double> numbers;
  char command = 'M';
  const auto finish = [&] {
    if (numbers.empty()) return;
    if (command == 'M') {
      outline.strokes.push_back({Point{numbers[0], numbers[1]}});
    } else if (command == 'L') {
      outline.strokes.back().push_back({numbers[0], numbers[1]});
    } else {
      const Point from = outline.strokes.back().back(), over{numbers[0], numbers[1]}, to{numbers[2], numbers[3]};
      constexpr int pieces = 8;
      for (int i = 1; i <= pieces; ++i) {
        const double t = static_cast<double>(i) / pieces, s = 1 - t;
        outline.strokes.back().push_back(
            {s * s * from.x + 2 * s * t * over.x + t * t * to.x, s * s * from.y + 2 * s * t * over.y + t * t * to.y});
      }
    }
    numbers.clear();
  };
  std::string_view path = glyph.path;
  while (!path.empty()) {
    const auto end = std::min(path.find(' '), path.size());
    auto word = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (word.empty()) continue;
    if (word[0] == 'M' || word[0] == 'L' || word[0] == 'Q') {
      finish();
      command = word[0];
      word.remove_prefix(1);
    }
    numbers.push_back(parse_real(word).value());
  }
  finish();
  return outline;
}

std::uint32_t next_character(std::string_view& text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t code = length == 1 ? first : first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < std::min(length, text.size()); ++i) code = (code << 6) | (byte(i) & 0x3Fu);
  text.remove_prefix(std::min(length, text.size()));
  return code;
}

/// Calls place(glyph, x, y, scale) for each character; returns the width. Lengths in design units.
template <class Place>
double set_line(std::string_view text, const Place& place) {
  double x = 0, scale = 1, shift = 0;
  bool script = false;
  while (!text.empty()) {
    if (!script && (text.starts_with("^{") || text.starts_with("_{"))) {
      script = true;
      scale = script_scale;
      shift = text[0] == '^' ? 0.55 * units_per_cap : -0.3 * units_per_cap;
      text.remove_prefix(2);
    } else if (script && text[0] == '}') {
      script = false;
      scale = 1;
      shift = 0;
      text.remove_prefix(1);
    } else {
      const Glyph& glyph = find_glyph(next_character(text));
      place(glyph, x, shift, scale);
      x += scale * (glyph.width + letter_gap);
    }
  }
  return std::max(0.0, x - scale * letter_gap);
}

}  // namespace

double text_width(std::string_view text, double cap_height) {
  return set_line(text, [](const Glyph&, double, double, double) {}) * cap_height / units_per_cap;
}

void draw_text(Image& image, Point at, std::string_view text, const TextStyle& style) {
  const double unit = style.cap_height / units_per_cap, length = text_width(text, style.cap_height);
  const double start = style.align == Align::left ? 0 : style.align == Align::center ? -length / 2 : -length;
  const bool upward = style.direction == Direction::upward;
  const double above = 1.7 * style.cap_height, below = 0.8 * style.cap_height, side = style.cap_height;
  Coverage coverage(image, upward ? Rect{at.x - above, at.y - start - length - side, above + below, length + 2 * side}
                                  : Rect{at.x + start - side, at.y - above, length + 2 * side, above + below});
  set_line(text, [&](const Glyph& glyph, double x, double y, double scale) {
    const auto outline = read_glyph(glyph);
    const double width = std::max(stroke_width * unit * style.weight * std::sqrt(scale), 0.9);
    for (const auto& stroke : outline.strokes) {
      std::vector<Point> points;
      for (const Point& p : stroke) {
        const double along = start + (x + scale * p.x) * unit, up = (y + scale * p.y) * unit;
        points.push_back(upward ? Point{at.x - up, at.y - along} : Point{at.x + along, at.y - up});
      }
      coverage.polyline(points, width);
    }
  });
  coverage.paint(image, style.color, style.opacity);
}

}  // namespace pergola

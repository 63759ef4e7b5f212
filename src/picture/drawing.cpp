#include "picture/drawing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "base/error.hpp"

namespace pergola {

namespace {

/// Cairo keeps positions in 24 bits before the point. Lines are cut at this distance in pixels.
constexpr double far_away = 20000;
/// A point of a line is left out if it is nearer to the point before.
constexpr double least_step = 0.3;

/// The part of a segment within ±far_away (Liang & Barsky 1984); none if it is outside.
std::optional<std::pair<Point, Point>> cut(Point a, Point b) {
  constexpr double largest = 1e12;  // beyond, rounding would hide where the edges are crossed
  for (double* const place : {&a.x, &a.y, &b.x, &b.y}) *place = std::clamp(*place, -largest, largest);
  const double dx = b.x - a.x, dy = b.y - a.y;
  double from = 0, to = 1;
  for (const auto& [along, room] :
       {std::pair{-dx, a.x + far_away}, {dx, far_away - a.x}, {-dy, a.y + far_away}, {dy, far_away - a.y}}) {
    if (along == 0 && room < 0) return std::nullopt;
    if (along < 0) from = std::max(from, room / along);
    if (along > 0) to = std::min(to, room / along);
  }
  if (!(from <= to)) return std::nullopt;
  return std::pair{Point{a.x + from * dx, a.y + from * dy}, Point{a.x + to * dx, a.y + to * dy}};
}

bool finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }
bool same(Point a, Point b) { return a.x == b.x && a.y == b.y; }

Point moved(Point p, Point by) { return {p.x + by.x, p.y + by.y}; }
Rect moved(Rect r, Point by) { return {r.x + by.x, r.y + by.y, r.width, r.height}; }

/// Shifts an item.
struct Mover {
  Point by;
  DrawingItem operator()(Shape shape) const {
    for (auto& point : shape.points) point = moved(point, by);
    return shape;
  }
  DrawingItem operator()(Disc disc) const { return Disc{moved(disc.center, by), disc.radius, disc.fill}; }
  DrawingItem operator()(Text text) const { return Text{moved(text.at, by), std::move(text.text), text.style}; }
  DrawingItem operator()(Pixels pixels) const { return Pixels{moved(pixels.where, by), std::move(pixels.image)}; }
  DrawingItem operator()(Clip clip) const {
    if (clip.area) clip.area = moved(*clip.area, by);
    return clip;
  }
};

}  // namespace

Drawing::Drawing(int width, int height, Color paper) : width_(width), height_(height), paper_(paper) {
  if (width < 1 || height < 1 || width > far_away || height > far_away)
    throw Error(ErrorKind::input, fmt::format("a figure of {} x {} pixels cannot be made, expected 1 to {:.0f}", width,
                                              height, far_away));
}

void Drawing::line(Point from, Point to, const Pen& pen) { polyline({from, to}, pen); }

/// NaN ends a piece of the line; another piece begins at the next finite point. Pieces are cut far outside the paper,
/// and points that are too near to the one before are left out, except the last.
void Drawing::polyline(const std::vector<Point>& points, const Pen& pen) {
  Shape shape{{}, pen, {}, 1};
  auto& drawn = shape.points;
  const auto add_piece = [&drawn](Point from, Point to) {
    const auto piece = cut(from, to);
    if (!piece) return;
    if (drawn.empty() || !same(drawn.back(), piece->first)) {
      if (!drawn.empty()) drawn.push_back({std::nan(""), std::nan("")});
      drawn.push_back(piece->first);
    }
    drawn.push_back(piece->second);
  };
  for (std::size_t i = 0, last = 0; i < points.size(); ++i) {
    if (!finite(points[i]) || i == 0 || !finite(points[i - 1])) {
      last = i;  // where the next piece begins
      continue;
    }
    const bool ends = i + 1 == points.size() || !finite(points[i + 1]);
    if (!ends && std::hypot(points[i].x - points[last].x, points[i].y - points[last].y) < least_step) continue;
    add_piece(points[last], points[i]);
    last = i;
  }
  if (!drawn.empty()) items_.emplace_back(std::move(shape));
}

/// At half pixels, where a line one pixel wide is sharp.
void Drawing::outline(const Rect& r, const Pen& pen) {
  const double left = r.x - 0.5, top = r.y - 0.5, right = r.right() + 0.5, bottom = r.bottom() + 0.5;
  polyline({{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}}, pen);
}

/// A shape with a corner that is not finite is left out.
void Drawing::polygon(std::vector<Point> corners, Color color, double opacity) {
  if (std::all_of(corners.begin(), corners.end(), finite))
    items_.emplace_back(Shape{std::move(corners), std::nullopt, color, opacity});
}

void Drawing::box(const Rect& r, Color color, double opacity) {
  polygon({{r.x, r.y}, {r.right(), r.y}, {r.right(), r.bottom()}, {r.x, r.bottom()}}, color, opacity);
}

void Drawing::disc(Point center, double radius, Color color) {
  const bool near = std::abs(center.x) < far_away && std::abs(center.y) < far_away;  // not so for NaN
  if (near) items_.emplace_back(Disc{center, radius, color});
}

void Drawing::text(Point at, std::string_view words, const TextStyle& style) {
  if (!words.empty()) items_.emplace_back(Text{at, std::string(words), style});
}

void Drawing::pixels(const Rect& where, Image image) {
  items_.emplace_back(Pixels{where, std::make_shared<const Image>(std::move(image))});
}

void Drawing::clip(const Rect& area) { items_.emplace_back(Clip{area}); }
void Drawing::end_clip() { items_.emplace_back(Clip{}); }

/// The part's own clips are kept, and where one ends the area of the part limits again.
void Drawing::add(const Drawing& part, Point at) {
  const Rect whole{at.x, at.y, static_cast<double>(part.width()), static_cast<double>(part.height())};
  clip(whole);
  box(whole, part.paper());
  for (const auto& item : part.items()) {
    items_.push_back(std::visit(Mover{at}, item));
    if (const auto* const inner = std::get_if<Clip>(&item); inner && !inner->area) clip(whole);
  }
  end_clip();
}

std::string drawing_format(const std::filesystem::path& path, std::string_view called) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* const known : {"png", "svg", "pdf"})
    if (ending == fmt::format(".{}", known)) return known;
  throw Error(ErrorKind::input, fmt::format("{}: {}: expected a name that ends in .png, .svg or .pdf, found {}", called,
                                            path.string(), ending.empty() ? "no ending" : ending));
}

namespace {

/// The length in bytes of the first character; 0 if it is not UTF-8 (RFC 3629), or is a control character.
std::size_t character_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xD800 && code < 0xE000, unassigned = (code & 0xFFFE) == 0xFFFE;
  return code < least || code > 0x10FFFF || surrogate || unassigned ? 0 : length;
}

}  // namespace

/// Raised and lowered parts are not nested.
std::vector<TextRun> parse_markup(std::string_view text) {
  std::vector<TextRun> runs;
  int script = 0;
  const auto add = [&](std::string_view piece) {
    if (runs.empty() || runs.back().script != script) runs.push_back({"", script});
    runs.back().text += piece;
  };
  while (!text.empty()) {
    if (script == 0 && (text.starts_with("^{") || text.starts_with("_{"))) {
      script = text[0] == '^' ? 1 : -1;
      text.remove_prefix(2);
    } else if (script != 0 && text[0] == '}') {
      script = 0;
      text.remove_prefix(1);
    } else {
      const std::size_t length = character_length(text);
      add(length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD");
      text.remove_prefix(length > 0 ? length : 1);
    }
  }
  return runs;
}

}  // namespace pergola

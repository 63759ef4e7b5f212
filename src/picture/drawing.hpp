#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "picture/image.hpp"

namespace pergola {

/// A point in pixels; x to the right, y down, (0, 0) the upper left corner of the drawing.
struct Point {
  double x = 0, y = 0;
};

/// A rectangle in pixels; its upper left corner and its extent.
struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// How a line is drawn.
struct Pen {
  Color color{};
  double width = 1;
  double opacity = 1;
  std::vector<double> dashes = {};  // lengths of dash and gap in turn; empty: solid
};

/// Where the given point lies in a line of text.
enum class Align { left, center, right };
enum class Direction { horizontal, upward };

struct TextStyle {
  double size = 12;  // of the font, pixels
  Color color{};
  Align align = Align::left;
  Direction direction = Direction::horizontal;
  bool bold = false;
  double opacity = 1;
  double halo = 0;  // pixels of shadow around the letters, for text on a picture
};

/// What a drawing is made of, in the order in which it is drawn.
struct Shape {
  std::vector<Point> points;  // a point that is not finite makes a gap in a line
  std::optional<Pen> pen;     // of the line; none: filled
  Color fill{};
  double opacity = 1;
};
struct Disc {
  Point center;
  double radius = 0;
  Color fill{};
};
struct Text {
  Point at;  // on the base line
  std::string text;
  TextStyle style;
};
struct Pixels {
  Rect where;
  std::shared_ptr<const Image> image;
};
/// From here on nothing outside the rectangle is drawn; none: everything again.
struct Clip {
  std::optional<Rect> area;
};
using DrawingItem = std::variant<Shape, Disc, Text, Pixels, Clip>;

/// A drawing of lines, filled shapes, text and pixels, at any resolution. Drawing it needs nothing; measuring text and
/// turning the drawing into a file needs Cairo, which is opened then (Error(system) where it is missing). Text is
/// UTF-8;
/// `^{…}` raises and `_{…}` lowers a part.
class PERGOLA_API Drawing {
 public:
  Drawing(int width, int height, Color paper = {255, 255, 255});

  int width() const { return width_; }
  int height() const { return height_; }
  Color paper() const { return paper_; }
  const std::vector<DrawingItem>& items() const { return items_; }

  void line(Point from, Point to, const Pen& pen);
  void polyline(const std::vector<Point>& points, const Pen& pen);
  void polygon(std::vector<Point> corners, Color color, double opacity = 1);
  void box(const Rect& rect, Color color, double opacity = 1);
  void disc(Point center, double radius, Color color);
  void text(Point at, std::string_view words, const TextStyle& style);
  void pixels(const Rect& where, Image image);
  void clip(const Rect& area);
  void end_clip();
  /// Everything of another drawing, its paper too, with its upper left corner here.
  void add(const Drawing& part, Point at);

 private:
  int width_, height_;
  Color paper_;
  std::vector<DrawingItem> items_;
};

/// The width in pixels of a line of text.
PERGOLA_API double text_width(std::string_view text, double size, bool bold = false);

/// The drawing in pixels. A drawing of nothing but pixels that fill it needs no Cairo.
PERGOLA_API Image rasterize(const Drawing& drawing);

/// Writes PNG, SVG or PDF as the name ends: beside the name, renamed when complete. SVG and PDF hold lines and text as
/// such, and pixels as an image. The same drawing gives the same bytes (Cairo
/// numbers the parts of SVG files from the first of a program to the last). Throws Error(input) for another ending.
PERGOLA_API void write_drawing(const std::filesystem::path& path, const Drawing& drawing);

/// "png", "svg" or "pdf", from the ending in small or capital letters. Throws Error(input) for any other, with what the
/// caller calls the name (such as "--output").
PERGOLA_API std::string drawing_format(const std::filesystem::path& path, std::string_view called);

/// A part of a line of text: on the base line (0), raised (1) or lowered (−1).
struct TextRun {
  std::string text;
  int script = 0;
};

/// "10^{−3}" is "10" and a raised "−3". What is no UTF-8, and control characters, become U+FFFD, the mark of a
/// character that cannot be shown.
std::vector<TextRun> parse_markup(std::string_view text);

inline constexpr double script_size = 0.7;    // of a raised or lowered part, in sizes of the line
inline constexpr double script_raise = 0.38;  // of its base line
inline constexpr double script_lower = 0.18;

}  // namespace pergola

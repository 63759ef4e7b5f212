#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "picture/image.hpp"

// A figure as a list of items: lines, filled shapes, discs, text, pixels, clips. Programs add items; at the end the
// list becomes PNG, SVG or PDF.
// Making the list needs no library. Measuring text, and writing a figure with text, opens Cairo at run time
// (picture/drawing_cairo.cpp); Error(system) if it is missing. Text is UTF-8; `^{…}` raises and `_{…}` lowers a part.
// What always holds: the same drawing gives the same bytes.
namespace pergola {

/// A point in pixels: x to the right, y down; (0, 0) is the upper left corner.
struct Point {
  double x = 0, y = 0;
};

/// A rectangle in pixels: its upper left corner and its size.
struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// The style of a line.
struct Pen {
  Color color{};
  double width = 1;
  double opacity = 1;
  std::vector<double> dashes = {};  // lengths of dash and gap in turn; empty: solid
};

/// The part of a line of text that is at the given point.
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

/// Items of a drawing, in the order in which they are drawn.
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
/// Restricts later items to the rectangle; none: ends the restriction.
struct Clip {
  std::optional<Rect> area;
};
using DrawingItem = std::variant<Shape, Disc, Text, Pixels, Clip>;

/// A list of items with a size in pixels.
class PERGOLA_API Drawing {
 public:
  Drawing(int width, int height, Color paper = {255, 255, 255});

  int width() const { return width_; }
  int height() const { return height_; }
  Color paper() const { return paper_; }
  const std::vector<DrawingItem>& items() const { return items_; }

  void line(Point from, Point to, const Pen& pen);
  void polyline(const std::vector<Point>& points, const Pen& pen);
  /// A line around a rectangle, half a pixel outside of it.
  void outline(const Rect& rect, const Pen& pen);
  void polygon(std::vector<Point> corners, Color color, double opacity = 1);
  void box(const Rect& rect, Color color, double opacity = 1);
  void disc(Point center, double radius, Color color);
  void text(Point at, std::string_view words, const TextStyle& style);
  void pixels(const Rect& where, Image image);
  void clip(const Rect& area);
  void end_clip();
  /// Adds another drawing with its paper, its upper left corner at `at`.
  void add(const Drawing& part, Point at);

 private:
  int width_, height_;
  Color paper_;
  std::vector<DrawingItem> items_;
};

/// The width in pixels of a line of text.
PERGOLA_API double text_width(std::string_view text, double size, bool bold = false);

/// The drawing as pixels. A drawing of nothing but pixels that fill it needs no Cairo.
PERGOLA_API Image rasterize(const Drawing& drawing);

/// Writes PNG, SVG or PDF by the ending of the name. The file appears when it is complete. SVG and PDF keep lines and
/// text as such. Cairo numbers the parts of SVG files through the whole run of a program, so the bytes of a second SVG
/// differ. Throws Error(input) for another ending.
PERGOLA_API void write_drawing(const std::filesystem::path& path, const Drawing& drawing);

/// "png", "svg" or "pdf", from the ending in small or capital letters. Throws Error(input) for another ending; `called`
/// names the option, such as "--output".
PERGOLA_API std::string drawing_format(const std::filesystem::path& path, std::string_view called);

/// A part of a line of text: on the base line (0), raised (1) or lowered (−1).
struct TextRun {
  std::string text;
  int script = 0;
};

/// Splits "10^{−3}" into "10" and a raised "−3". Invalid UTF-8 and control characters become U+FFFD.
std::vector<TextRun> parse_markup(std::string_view text);

inline constexpr double script_size = 0.7;    // of a raised or lowered part, in sizes of the line
inline constexpr double script_raise = 0.38;  // of its base line
inline constexpr double script_lower = 0.18;

}  // namespace pergola

#pragma once
#include <vector>

#include "picture/image.hpp"

namespace pergola {

/// A point in pixels; x to the right, y down, (0, 0) the upper left corner of the picture.
struct Point {
  double x = 0, y = 0;
};

/// A rectangle in pixels; its upper left corner and its extent.
struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// How far pixels are covered by shapes, 0 to 1. Shapes that overlap cover a pixel once, so that a line drawn in pieces
/// has no knots; the colour comes with `paint`. Nothing outside the area is drawn.
class Coverage {
 public:
  /// `area` is cut to the picture.
  Coverage(const Image& image, const Rect& area);

  /// A line with round ends.
  void segment(Point from, Point to, double line_width);
  /// Segments between successive points; a point that is not finite makes a gap.
  void polyline(const std::vector<Point>& points, double line_width);
  void disc(Point center, double radius);
  void box(const Rect& rect);
  /// A filled convex polygon, corners in either sense of rotation.
  void polygon(const std::vector<Point>& corners);

  void paint(Image& image, Color color, double opacity = 1) const;

 private:
  template <class Distance>
  void fill(double left, double top, double right, double bottom, const Distance& distance);
  void cover(int x, int y, double amount);

  int left_, top_, width_, height_;
  std::vector<float> amount_;
};

/// Shapes drawn at once, in one colour, anywhere in the picture.
void draw_line(Image& image, Point from, Point to, double line_width, Color color, double opacity = 1);
void draw_box(Image& image, const Rect& rect, Color color, double opacity = 1);

}  // namespace pergola

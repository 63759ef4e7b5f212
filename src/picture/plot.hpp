#pragma once
#include <string>
#include <vector>

#include "picture/axis.hpp"
#include "picture/drawing.hpp"

namespace pergola {

enum class Stroke { none, solid, dashed, dotted };
enum class Marker { none, circle, square, triangle, diamond, cross };

struct SeriesStyle {
  Stroke stroke = Stroke::solid;
  Marker marker = Marker::none;
  int color = -1;  // place in the palette; -1: the next one
  double line_width = 2;
  double marker_size = 4;  // radius in pixels
};

struct Series {
  std::string name;  // empty: not in the legend
  std::vector<double> x, y;
  SeriesStyle style;
};

/// Colours that people with any colour vision tell apart (Okabe & Ito 2008), then from the beginning again.
PERGOLA_API Color palette_color(int index);

/// Colours behind the lines, over the whole field between the axes.
struct Backdrop {
  int columns = 0, rows = 0;
  std::vector<Color> colors;  // row 0 is the top
};

/// Lines and points over two axes, each linear or logarithmic. Points without a place (NaN, infinite, or ≤ 0 on a
/// logarithmic axis) are gaps.
class PERGOLA_API Plot {
 public:
  std::string title;
  Axis x, y;
  bool legend = true;
  Backdrop backdrop;  // none where it has no columns

  /// Throws Error(input) when the lengths differ.
  void add_series(std::string name, std::vector<double> xs, std::vector<double> ys, SeriesStyle style = {});

  /// Returns the field between the axes.
  Rect draw(Drawing& figure, const Rect& area) const;
  /// Over the whole figure.
  void draw(Drawing& figure) const;

 private:
  std::vector<Series> series_;
};

/// Plots below each other in one figure, all `width` wide and `height` high.
PERGOLA_API Drawing draw_panels(const std::vector<Plot>& plots, int width, int height);

}  // namespace pergola

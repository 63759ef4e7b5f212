#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "picture/drawing.hpp"

// Plots on paper: lines and points over linear or logarithmic axes, maps in colours with a colour bar, and bars. A plot
// collects series and draws them into a `Drawing`.
// Long titles take several lines. The legend stands where it hides no line, else above the field.
// Limits that are not set follow the data. Ticks are at 1, 2 or 5 times a power of ten. Values that a plot cannot show
// (NaN, infinite, or ≤ 0 on a logarithmic axis) make gaps and do not affect limits.
namespace pergola {

/// An axis. Limits that are not set follow the data.
struct Axis {
  std::string label;
  bool log = false;
  std::optional<double> low, high;
};

/// "time (Myr)", or only the name if the unit is not known.
PERGOLA_API std::string label_with_unit(const std::string& name, const std::string& unit);

struct Tick {
  double value = 0;
  std::string label;  // empty: a minor tick
};

/// About `wanted` ticks at 1, 2 or 5 × 10^k within [low, high]. Labels are as short as possible; very large and small
/// numbers read "3×10^{5}".
PERGOLA_API std::vector<Tick> linear_ticks(double low, double high, int wanted);

/// Ticks at powers of ten, with minor ticks between. If fewer than two powers fit: also at 2 and 5 times a power, or
/// else as on a linear axis.
PERGOLA_API std::vector<Tick> log_ticks(double low, double high, int wanted);

/// "3×10^{5}" with a true minus sign; a plain number if that is short.
PERGOLA_API std::string tick_text(double value);

/// An axis with known limits: maps a value to 0 (low) … 1 (high). NaN if a logarithm does not exist.
class PERGOLA_API Scale {
 public:
  /// Limits from the axis if set, else from the values with a margin.
  Scale(const Axis& axis, const std::vector<double>& values);
  double place(double value) const;
  std::vector<Tick> ticks(int wanted) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool log_;
  double low_ = 0, high_ = 1;
};

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

/// Colours that differ for people with any colour vision (Okabe & Ito 2008). The palette repeats.
PERGOLA_API Color palette_color(int index);

/// Colours behind the lines, over the whole field.
struct Backdrop {
  int columns = 0, rows = 0;
  std::vector<Color> colors;  // row 0 is the top
};

/// Lines and points over two axes.
class PERGOLA_API Plot {
 public:
  std::string title;
  Axis x, y;
  bool legend = true;
  bool equal_scales = false;  // of linear axes: both have as many pixels per unit
  Backdrop backdrop;          // not drawn without columns

  /// Throws Error(input) if the lengths differ.
  void add_series(std::string name, std::vector<double> xs, std::vector<double> ys, SeriesStyle style = {});

  /// Returns the field between the axes.
  Rect draw(Drawing& figure, const Rect& area) const;
  /// Draws over the whole figure.
  void draw(Drawing& figure) const;
  /// Whether it has no series.
  bool empty() const { return series_.empty(); }

 private:
  std::vector<Series> series_;
};

/// Plots below each other in one figure, each `width` × `height`.
PERGOLA_API Drawing draw_panels(const std::vector<Plot>& plots, int width, int height);

/// A function of two variables in colours, with axes, a colour bar, and lines on top (Plot::add_series).
class PERGOLA_API MapPlot {
 public:
  Plot plot;
  std::string colormap = "magma";
  Axis colors;              // the bar: label, logarithmic or not, limits; without limits they follow the values
  double decades_most = 4;  // of a logarithmic bar without limits, from the highest value down
  bool bar = true;          // else the figure is narrower: others share draw_color_bar()

  /// Values over the whole field, `columns` in a row, row 0 at the bottom. `x` and `y`: limits of the field. Throws
  /// Error(input) if the number of values does not match.
  void set_values(int columns, int rows, std::vector<double> values, std::pair<double, double> x,
                  std::pair<double, double> y);
  Drawing draw(int width, int height) const;

 private:
  Scale color_scale() const;
  int columns_ = 0, rows_ = 0;
  std::vector<double> values_;
};

/// The colour bar of maps that have none of their own. Its axis must have limits.
PERGOLA_API Drawing draw_color_bar(const Axis& colors, const std::string& colormap, int height);
/// The pixels that a map is narrower without its bar.
PERGOLA_API int color_bar_room();

/// Horizontal bars, the first at the top. Each has a name before it and a text after it.
class PERGOLA_API BarChart {
 public:
  std::string title;
  void add_bar(std::string name, double value, std::string text);
  /// The height follows from the number of bars.
  Drawing draw(int width) const;

 private:
  struct Bar {
    std::string name;
    double value = 0;
    std::string text;
  };
  std::vector<Bar> bars_;
};

}  // namespace pergola

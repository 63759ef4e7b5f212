#include "picture/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "picture/plot_style.hpp"

namespace pergola {

namespace {

using namespace plot_style;
constexpr double gap = 8;

/// A plot's axes set on the picture: where values lie in pixels.
struct Canvas {
  Rect field;
  Scale x, y;
  Point at(double vx, double vy) const {
    return {field.x + x.place(vx) * field.width, field.bottom() - y.place(vy) * field.height};
  }
};

std::vector<double> all_values(const std::vector<Series>& series, std::vector<double> Series::*values) {
  std::vector<double> all;
  for (const auto& s : series) all.insert(all.end(), (s.*values).begin(), (s.*values).end());
  return all;
}

double widest_label(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const auto& tick : ticks) width = std::max(width, text_width(tick.label, tick_size));
  return width;
}

int ticks_wanted(double length, double spacing) { return std::max(2, static_cast<int>(length / spacing)); }
std::vector<Tick> ticks_across(const Scale& scale, double width) { return scale.ticks(ticks_wanted(width, 95)); }
std::vector<Tick> ticks_up(const Scale& scale, double height) { return scale.ticks(ticks_wanted(height, 48)); }

/// Between the axes, in whole pixels: lines along its edges are sharp.
Rect field_of(const Rect& area, const Plot& plot, const Scale& y) {
  const double top = std::round(area.y + (plot.title.empty() ? 2 * gap : 2.5 * gap + title_size));
  const double below = tick_size + 2.5 * gap + (plot.x.label.empty() ? 0 : label_size + 0.75 * gap);
  const double height = std::max(10.0, std::round(area.bottom() - below) - top);
  const double labels = widest_label(ticks_up(y, height));
  const double left = std::round(area.x + (plot.y.label.empty() ? gap : label_size + 2 * gap) + labels + 1.5 * gap);
  return {left, top, std::max(10.0, std::round(area.right() - 3 * gap) - left), height};
}

void draw_backdrop(Drawing& figure, const Rect& field, const Backdrop& backdrop) {
  if (backdrop.columns == 0) return;
  Image image(backdrop.columns, backdrop.rows);
  for (int row = 0; row < backdrop.rows; ++row)
    for (int column = 0; column < backdrop.columns; ++column)
      image.set(column, row,
                backdrop.colors[static_cast<std::size_t>(row) * static_cast<std::size_t>(backdrop.columns) +
                                static_cast<std::size_t>(column)]);
  figure.pixels(field, std::move(image));
}

void draw_grid(Drawing& figure, const Canvas& canvas) {
  const Rect& f = canvas.field;
  const Pen pen{faint, 1};
  for (const auto& tick : ticks_across(canvas.x, f.width)) {
    const double x = std::floor(f.x + canvas.x.place(tick.value) * f.width) + 0.5;
    if (!tick.label.empty()) figure.line({x, f.y}, {x, f.bottom()}, pen);
  }
  for (const auto& tick : ticks_up(canvas.y, f.height)) {
    const double y = std::floor(f.bottom() - canvas.y.place(tick.value) * f.height) + 0.5;
    if (!tick.label.empty()) figure.line({f.x, y}, {f.right(), y}, pen);
  }
}

void draw_axes(Drawing& figure, const Canvas& canvas, const Plot& plot, const Rect& area) {
  const Rect& f = canvas.field;
  const Pen pen{ink, 1};
  TextStyle style{tick_size, ink, Align::center};
  for (const auto& tick : ticks_across(canvas.x, f.width)) {
    const double x = std::floor(f.x + canvas.x.place(tick.value) * f.width) + 0.5;
    figure.line({x, f.bottom()}, {x, f.bottom() + (tick.label.empty() ? 3 : 6)}, pen);
    figure.text({x, f.bottom() + 1.1 * gap + tick_size}, tick.label, style);
  }
  style.align = Align::right;
  for (const auto& tick : ticks_up(canvas.y, f.height)) {
    const double y = std::floor(f.bottom() - canvas.y.place(tick.value) * f.height) + 0.5;
    figure.line({f.x - (tick.label.empty() ? 3 : 6), y}, {f.x, y}, pen);
    figure.text({f.x - 1.3 * gap, y + cap_height * tick_size / 2}, tick.label, style);
  }
  const double left = f.x - 0.5, top = f.y - 0.5, right = f.right() + 0.5, bottom = f.bottom() + 0.5;
  figure.polyline({{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}}, pen);
  style = {label_size, ink, Align::center};
  figure.text({f.x + f.width / 2, area.bottom() - 1.4 * gap}, plot.x.label, style);
  style.direction = Direction::upward;
  figure.text({area.x + label_size + gap, f.y + f.height / 2}, plot.y.label, style);
  figure.text({f.x, f.y - 1.2 * gap}, plot.title, {title_size, ink, Align::left, Direction::horizontal, true});
}

Pen pen_of(const SeriesStyle& style) {
  Pen pen{palette_color(style.color), style.line_width};
  if (style.stroke == Stroke::dashed) pen.dashes = {8, 5};
  if (style.stroke == Stroke::dotted) pen.dashes = {0.1, 2.4 * style.line_width};
  return pen;
}

void draw_marker(Drawing& figure, Point at, Marker marker, double r, Color color) {
  switch (marker) {
    case Marker::none:
      return;
    case Marker::circle:
      return figure.disc(at, r, color);
    case Marker::square:
      return figure.box({at.x - 0.9 * r, at.y - 0.9 * r, 1.8 * r, 1.8 * r}, color);
    case Marker::triangle:
      return figure.polygon(
          {{at.x, at.y - 1.2 * r}, {at.x + 1.1 * r, at.y + 0.8 * r}, {at.x - 1.1 * r, at.y + 0.8 * r}}, color);
    case Marker::diamond:
      return figure.polygon(
          {{at.x, at.y - 1.3 * r}, {at.x + 1.3 * r, at.y}, {at.x, at.y + 1.3 * r}, {at.x - 1.3 * r, at.y}}, color);
    case Marker::cross:
      figure.line({at.x - r, at.y - r}, {at.x + r, at.y + r}, {color, 0.5 * r});
      return figure.line({at.x - r, at.y + r}, {at.x + r, at.y - r}, {color, 0.5 * r});
  }
}

/// `clip`: markers whose middle is outside are left out; those on the edge are whole.
void draw_points(Drawing& figure, const Rect& clip, const std::vector<Point>& points, const SeriesStyle& style) {
  if (style.stroke != Stroke::none) figure.polyline(points, pen_of(style));
  if (style.marker == Marker::none) return;
  const auto inside = [&clip](Point p) {
    return p.x >= clip.x && p.x <= clip.right() && p.y >= clip.y && p.y <= clip.bottom();  // not so for NaN
  };
  for (const Point& p : points)
    if (style.marker != Marker::cross && inside(p))
      draw_marker(figure, p, style.marker, style.marker_size + 1.2, paper);
  for (const Point& p : points)
    if (inside(p)) draw_marker(figure, p, style.marker, style.marker_size, palette_color(style.color));
}

std::vector<Point> places(const Canvas& canvas, const Series& series) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < series.x.size(); ++i) points.push_back(canvas.at(series.x[i], series.y[i]));
  return points;
}

/// How much of the lines lies in a rectangle, in steps of a few pixels.
std::size_t hidden_length(const Rect& rect, const std::vector<std::vector<Point>>& lines) {
  constexpr double step = 6;
  std::size_t count = 0;
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      const Point q = line[i], p = i > 0 ? line[i - 1] : q;
      const double length = std::hypot(q.x - p.x, q.y - p.y);
      const int pieces = std::isfinite(length) ? 1 + static_cast<int>(std::min(length, 5000.0) / step) : 1;
      for (int k = 1; k <= pieces; ++k) {
        const double t = static_cast<double>(k) / pieces, x = p.x + t * (q.x - p.x), y = p.y + t * (q.y - p.y);
        count += x > rect.x - step && x < rect.right() + step && y > rect.y - step && y < rect.bottom() + step ? 1 : 0;
      }
    }
  return count;
}

/// The place along the edge of the field at which the legend hides least; corners first.
Rect place_legend(const Rect& field, double width, double height, const std::vector<std::vector<Point>>& lines) {
  const double left = field.x + gap, right = field.right() - gap - width, center = (left + right) / 2;
  const double top = field.y + gap, bottom = field.bottom() - gap - height, middle = (top + bottom) / 2;
  Rect best{right, top, width, height};
  std::size_t least = hidden_length(best, lines);
  for (const auto& [x, y] : {Point{left, top},
                             {right, bottom},
                             {left, bottom},
                             {right, middle},
                             {left, middle},
                             {center, top},
                             {center, bottom}}) {
    const Rect rect{x, y, width, height};
    const std::size_t hidden = hidden_length(rect, lines);
    if (hidden >= least) continue;
    least = hidden;
    best = rect;
  }
  return best;
}

void draw_legend(Drawing& figure, const Rect& field, const std::vector<Series>& series,
                 const std::vector<std::vector<Point>>& lines) {
  constexpr double row = 21, sample = 28;
  double width = 0;
  int rows = 0;
  for (const auto& s : series) {
    if (s.name.empty()) continue;
    width = std::max(width, text_width(s.name, tick_size));
    ++rows;
  }
  if (rows == 0) return;
  const Rect box = place_legend(field, width + sample + 3.5 * gap, rows * row + gap, lines);
  figure.box(box, paper, 0.88);
  double y = std::round(box.y + gap / 2 + row / 2);
  for (const auto& s : series) {
    if (s.name.empty()) continue;
    const double x = box.x + gap;
    draw_points(figure, box, {{x, y}, {x + sample, y}},
                SeriesStyle{s.style.stroke, Marker::none, s.style.color, s.style.line_width});
    draw_points(figure, box, {{x + sample / 2, y}},
                SeriesStyle{Stroke::none, s.style.marker, s.style.color, 1, s.style.marker_size});
    figure.text({x + sample + gap, y + cap_height * tick_size / 2}, s.name, {tick_size, ink});
    y += row;
  }
}

}  // namespace

Color palette_color(int index) {
  constexpr std::array<Color, 8> colors{{{0, 114, 178},
                                         {213, 94, 0},
                                         {0, 158, 115},
                                         {204, 121, 167},
                                         {230, 159, 0},
                                         {86, 180, 233},
                                         {90, 90, 98},
                                         {196, 180, 20}}};
  return colors[static_cast<std::size_t>(std::max(index, 0)) % colors.size()];
}

void Plot::add_series(std::string name, std::vector<double> xs, std::vector<double> ys, SeriesStyle style) {
  if (xs.size() != ys.size())
    throw Error(ErrorKind::input, fmt::format("plot: series \"{}\" has {} x values and {} y values, expected as many",
                                              name, xs.size(), ys.size()));
  if (style.color < 0) style.color = static_cast<int>(series_.size());
  series_.push_back({std::move(name), std::move(xs), std::move(ys), style});
}

Rect Plot::draw(Drawing& figure, const Rect& area) const {
  figure.box(area, paper);
  const Scale x_scale(x, all_values(series_, &Series::x)), y_scale(y, all_values(series_, &Series::y));
  const Canvas canvas{field_of(area, *this, y_scale), x_scale, y_scale};
  const Rect& f = canvas.field;
  draw_backdrop(figure, f, backdrop);
  if (backdrop.columns == 0) draw_grid(figure, canvas);
  std::vector<std::vector<Point>> lines;
  figure.clip({f.x - 6, f.y - 6, f.width + 12, f.height + 12});
  for (const auto& series : series_) {
    lines.push_back(places(canvas, series));
    draw_points(figure, {f.x - 1, f.y - 1, f.width + 2, f.height + 2}, lines.back(), series.style);
  }
  figure.end_clip();
  draw_axes(figure, canvas, *this, area);
  if (legend) draw_legend(figure, f, series_, lines);
  return f;
}

void Plot::draw(Drawing& figure) const {
  draw(figure, {0, 0, static_cast<double>(figure.width()), static_cast<double>(figure.height())});
}

Drawing draw_panels(const std::vector<Plot>& plots, int width, int height) {
  Drawing figure(width, height * static_cast<int>(std::max<std::size_t>(plots.size(), 1)), paper);
  for (std::size_t i = 0; i < plots.size(); ++i)
    plots[i].draw(figure,
                  {0, static_cast<double>(i) * height, static_cast<double>(width), static_cast<double>(height)});
  return figure;
}

}  // namespace pergola

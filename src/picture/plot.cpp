#include "picture/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "picture/font.hpp"

namespace pergola {

namespace {

constexpr Color paper{255, 255, 255};
constexpr Color ink{38, 42, 51};
constexpr Color faint{226, 229, 234};
constexpr double tick_cap = 8.5, label_cap = 9.5, title_cap = 11;
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
  for (const auto& tick : ticks) width = std::max(width, text_width(tick.label, tick_cap));
  return width;
}

int ticks_wanted(double length, double spacing) { return std::max(2, static_cast<int>(length / spacing)); }

Rect field_of(const Rect& area, const Plot& plot, const Scale& y) {
  const double top = area.y + (plot.title.empty() ? 2 * gap : 3 * gap + title_cap);
  const double bottom = area.bottom() - (plot.x.label.empty() ? 0 : label_cap + 2 * gap) - tick_cap - 2.5 * gap;
  const double labels = widest_label(y.ticks(ticks_wanted(bottom - top, 48)));
  const double left = area.x + (plot.y.label.empty() ? gap : label_cap + 3 * gap) + labels + 1.5 * gap;
  return {left, top, std::max(10.0, area.right() - 3 * gap - left), std::max(10.0, bottom - top)};
}

void draw_backdrop(Image& image, const Rect& field, const Backdrop& backdrop) {
  if (backdrop.columns == 0) return;
  const int left = static_cast<int>(std::ceil(field.x)), top = static_cast<int>(std::ceil(field.y));
  for (int y = top; y < field.bottom() && y < image.height(); ++y)
    for (int x = left; x < field.right() && x < image.width(); ++x) {
      const auto column = static_cast<std::size_t>((x + 0.5 - field.x) / field.width * backdrop.columns);
      const auto row = static_cast<std::size_t>((y + 0.5 - field.y) / field.height * backdrop.rows);
      const std::size_t place =
          std::min(row, static_cast<std::size_t>(backdrop.rows - 1)) * static_cast<std::size_t>(backdrop.columns) +
          std::min(column, static_cast<std::size_t>(backdrop.columns - 1));
      image.set(x, y, backdrop.colors[place]);
    }
}

void draw_axes(Image& image, const Canvas& canvas, const Plot& plot, const Rect& area) {
  const Rect& f = canvas.field;
  const bool lines = plot.backdrop.columns == 0;
  TextStyle style{tick_cap, ink, Align::center};
  for (const auto& tick : canvas.x.ticks(ticks_wanted(f.width, 95))) {
    const double x = f.x + canvas.x.place(tick.value) * f.width;
    if (lines && !tick.label.empty()) draw_line(image, {x, f.y}, {x, f.bottom()}, 1, faint);
    draw_line(image, {x, f.bottom()}, {x, f.bottom() + (tick.label.empty() ? 3 : 5)}, 1, ink);
    draw_text(image, {x, f.bottom() + 1.2 * gap + tick_cap}, tick.label, style);
  }
  style.align = Align::right;
  for (const auto& tick : canvas.y.ticks(ticks_wanted(f.height, 48))) {
    const double y = f.bottom() - canvas.y.place(tick.value) * f.height;
    if (lines && !tick.label.empty()) draw_line(image, {f.x, y}, {f.right(), y}, 1, faint);
    draw_line(image, {f.x - (tick.label.empty() ? 3 : 5), y}, {f.x, y}, 1, ink);
    draw_text(image, {f.x - 1.2 * gap, y + tick_cap / 2}, tick.label, style);
  }
  draw_line(image, {f.x, f.y}, {f.x, f.bottom()}, 1.3, ink);
  draw_line(image, {f.x, f.bottom()}, {f.right(), f.bottom()}, 1.3, ink);
  style = {label_cap, ink, Align::center};
  draw_text(image, {f.x + f.width / 2, area.bottom() - 1.6 * gap}, plot.x.label, style);
  style.direction = Direction::upward;
  draw_text(image, {area.x + label_cap + 1.5 * gap, f.y + f.height / 2}, plot.y.label, style);
  draw_text(image, {f.x, f.y - 1.5 * gap}, plot.title, {title_cap, ink, Align::left, Direction::horizontal, 1.3});
}

/// Pieces of a line, each `on` pixels long and `off` apart, carried on around its corners.
void cover_dashes(Coverage& coverage, const std::vector<Point>& points, double width, double on, double off) {
  double phase = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point p = points[i - 1], q = points[i];
    const double length = std::hypot(q.x - p.x, q.y - p.y);
    if (!std::isfinite(length) || length > 1e5) continue;
    const auto along = [&](double s) { return Point{p.x + (q.x - p.x) * s / length, p.y + (q.y - p.y) * s / length}; };
    for (double s = 0; s < length;) {
      const bool drawing = phase < on;
      const double rest = (drawing ? on : on + off) - phase, end = std::min(length, s + rest);
      if (drawing) coverage.segment(along(s), along(end), width);
      phase = end < length ? (drawing ? on : 0) : phase + (end - s);
      s = end;
    }
  }
}

void cover_marker(Coverage& coverage, Point at, Marker marker, double r) {
  if (!std::isfinite(at.x) || !std::isfinite(at.y)) return;
  switch (marker) {
    case Marker::none:
      return;
    case Marker::circle:
      return coverage.disc(at, r);
    case Marker::square:
      return coverage.box({at.x - 0.9 * r, at.y - 0.9 * r, 1.8 * r, 1.8 * r});
    case Marker::triangle:
      return coverage.polygon(
          {{at.x, at.y - 1.2 * r}, {at.x + 1.1 * r, at.y + 0.8 * r}, {at.x - 1.1 * r, at.y + 0.8 * r}});
    case Marker::diamond:
      return coverage.polygon(
          {{at.x, at.y - 1.3 * r}, {at.x + 1.3 * r, at.y}, {at.x, at.y + 1.3 * r}, {at.x - 1.3 * r, at.y}});
    case Marker::cross:
      coverage.segment({at.x - r, at.y - r}, {at.x + r, at.y + r}, 0.5 * r);
      return coverage.segment({at.x - r, at.y + r}, {at.x + r, at.y - r}, 0.5 * r);
  }
}

void draw_points(Image& image, const Rect& clip, const std::vector<Point>& points, const SeriesStyle& style) {
  const Color color = palette_color(style.color);
  Coverage lines(image, clip);
  if (style.stroke == Stroke::solid) lines.polyline(points, style.line_width);
  if (style.stroke == Stroke::dashed) cover_dashes(lines, points, style.line_width, 8, 5);
  if (style.stroke == Stroke::dotted) cover_dashes(lines, points, style.line_width, 0.1, 2.4 * style.line_width);
  lines.paint(image, color);
  if (style.marker == Marker::none) return;
  Coverage rims(image, clip), markers(image, clip);
  for (const Point& p : points) {
    if (style.marker != Marker::cross) cover_marker(rims, p, style.marker, style.marker_size + 1.2);
    cover_marker(markers, p, style.marker, style.marker_size);
  }
  rims.paint(image, paper);
  markers.paint(image, color);
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

void draw_legend(Image& image, const Rect& field, const std::vector<Series>& series,
                 const std::vector<std::vector<Point>>& lines) {
  constexpr double row = 20, sample = 28;
  double width = 0;
  int rows = 0;
  for (const auto& s : series) {
    if (s.name.empty()) continue;
    width = std::max(width, text_width(s.name, tick_cap));
    ++rows;
  }
  if (rows == 0) return;
  const Rect box = place_legend(field, width + sample + 3.5 * gap, rows * row + gap, lines);
  draw_box(image, box, paper, 0.88);
  double y = box.y + gap / 2 + row / 2;
  for (const auto& s : series) {
    if (s.name.empty()) continue;
    const double x = box.x + gap;
    draw_points(image, box, {{x, y}, {x + sample, y}},
                SeriesStyle{s.style.stroke, Marker::none, s.style.color, s.style.line_width});
    draw_points(image, box, {{x + sample / 2, y}},
                SeriesStyle{Stroke::none, s.style.marker, s.style.color, 1, s.style.marker_size});
    draw_text(image, {x + sample + gap, y + tick_cap / 2}, s.name, {tick_cap, ink});
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

Rect Plot::draw(Image& image, const Rect& area) const {
  draw_box(image, area, paper);
  const Scale x_scale(x, all_values(series_, &Series::x)), y_scale(y, all_values(series_, &Series::y));
  const Canvas canvas{field_of(area, *this, y_scale), x_scale, y_scale};
  draw_backdrop(image, canvas.field, backdrop);
  draw_axes(image, canvas, *this, area);
  const Rect& f = canvas.field;
  const Rect clip{f.x - 6, f.y - 6, f.width + 12, f.height + 12};  // markers on the edge are whole
  std::vector<std::vector<Point>> lines;
  for (const auto& series : series_) {
    lines.push_back(places(canvas, series));
    draw_points(image, clip, lines.back(), series.style);
  }
  if (legend) draw_legend(image, f, series_, lines);
  return f;
}

void Plot::draw(Image& image) const {
  draw(image, {0, 0, static_cast<double>(image.width()), static_cast<double>(image.height())});
}

Image draw_panels(const std::vector<Plot>& plots, int width, int height) {
  Image image(width, height * static_cast<int>(std::max<std::size_t>(plots.size(), 1)), paper);
  for (std::size_t i = 0; i < plots.size(); ++i)
    plots[i].draw(image, {0, static_cast<double>(i) * height, static_cast<double>(width), static_cast<double>(height)});
  return image;
}

}  // namespace pergola

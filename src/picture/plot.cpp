#include "picture/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "picture/colormap.hpp"

// Lines are placed at half pixels, so that a line one pixel wide is sharp. The legend goes to a place in the field
// where it hides nothing; where there is none, and on maps, above the field.
namespace pergola {

namespace {

// The style of all plots on paper.
constexpr Color paper_color{255, 255, 255}, ink_color{38, 42, 51}, faint_color{226, 229, 234};
constexpr double tick_size = 12, label_size = 13.5, title_size = 15;  // of the fonts, pixels
constexpr double cap_height = 0.73;                                   // of a capital, in sizes of the font
constexpr double title_step = 1.3 * title_size;                       // from line to line
constexpr double legend_row = 21, legend_sample = 28;                 // height of a row, length of its line

std::string with_minus_sign(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

/// 10 with a raised exponent, in the markup of picture/drawing.hpp.
std::string power_text(int exponent) { return "10^{" + with_minus_sign(std::to_string(exponent)) + "}"; }

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

/// The value rounded to ten digits, without the noise of its computation.
double cleaned(double value) { return parse_real(fmt::format("{:.10g}", value)).value_or(value); }

}  // namespace

std::string label_with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} ({})", name, unit);
}

/// Plain up to 99999 and down to 0.001, else with a power of ten.
std::string tick_text(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e5) return with_minus_sign(fmt::format("{:.6g}", value));
  int exponent = static_cast<int>(std::floor(std::log10(size)));
  double factor = cleaned(value / power_of_ten(exponent));
  if (std::abs(factor) >= 10) {
    factor /= 10;
    ++exponent;
  }
  if (factor == 1) return power_text(exponent);
  return with_minus_sign(fmt::format("{:.6g}", factor)) + "×" + power_text(exponent);
}

/// The smallest step of 1, 2, 5 or 10 × 10^k that makes no more than about `wanted` ticks.
std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  std::vector<Tick> ticks;
  if (!(high > low) || wanted < 1) return ticks;
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  const double slack = 1e-9 * (high - low);
  for (double k = std::ceil((low - slack) / step); k * step <= high + slack; ++k) {
    const double value = cleaned(k * step);
    ticks.push_back({value, tick_text(value)});
  }
  return ticks;
}

/// With many powers only every stride-th one is named.
std::vector<Tick> log_ticks(double low, double high, int wanted) {
  std::vector<Tick> ticks;
  if (!(high > low) || !(low > 0) || wanted < 1) return ticks;
  const double slack = 1e-9;
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const auto inside = [&](double value) { return value >= low * (1 - slack) && value <= high * (1 + slack); };
  int powers = 0;
  for (int k = first; k <= last; ++k) powers += inside(power_of_ten(k)) ? 1 : 0;
  const int stride = std::max(1, (powers + wanted - 1) / wanted);
  const bool between = powers < 2;
  for (int k = first; k <= last; ++k)
    for (int factor = 1; factor < 10; ++factor) {
      const double value = cleaned(factor * power_of_ten(k));
      if (!inside(value)) continue;
      const bool major = factor == 1 && (k % stride) == 0;
      const bool named = major || (between && (factor == 2 || factor == 5));
      const bool minor = stride == 1 || factor == 1;
      if (named)
        ticks.push_back({value, factor == 1 && !between ? power_text(k) : tick_text(value)});
      else if (minor)
        ticks.push_back({value, ""});
    }
  const auto named = std::count_if(ticks.begin(), ticks.end(), [](const Tick& tick) { return !tick.label.empty(); });
  return between && named < 2 ? linear_ticks(low, high, wanted) : ticks;
}

/// The margin is 5 % of the range, on a logarithmic axis 4 % of its decades and at least a tenth of one.
Scale::Scale(const Axis& axis, const std::vector<double>& values) : log_(axis.log) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (log_ && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!(low <= high)) {
    low = log_ ? 1 : 0;
    high = log_ ? 10 : 1;
  }
  if (log_) {
    const double room = std::max(0.04 * std::log10(high / low), 0.1);
    low_ = axis.low.value_or(low * std::pow(10.0, -room));
    high_ = axis.high.value_or(high * std::pow(10.0, room));
  } else {
    const double room = high > low ? 0.05 * (high - low) : std::max(std::abs(high) * 0.1, 1e-12);
    low_ = axis.low.value_or(low - room);
    high_ = axis.high.value_or(high + room);
  }
  if (!(high_ > low_)) high_ = log_ ? low_ * 10 : low_ + 1;
}

/// Outside the limits it is below 0 or above 1.
double Scale::place(double value) const {
  if (!log_) return (value - low_) / (high_ - low_);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low_) / std::log(high_ / low_);
}

std::vector<Tick> Scale::ticks(int wanted) const {
  return log_ ? log_ticks(low_, high_, wanted) : linear_ticks(low_, high_, wanted);
}

namespace {

constexpr double plot_gap = 8;

/// The field of a plot and its scales: converts values to pixels. Above the field are the names of the legend, if they
/// do not stand in it, and the lines of the title.
struct Canvas {
  Rect field;
  Scale x, y;
  std::vector<std::string> title{};
  double legend_height = 0;
  Point at(double vx, double vy) const {
    return {field.x + x.place(vx) * field.width, field.bottom() - y.place(vy) * field.height};
  }
};

/// Of all series, for the limits of an axis.
std::vector<double> all_values(const std::vector<Series>& series, std::vector<double> Series::*values) {
  std::vector<double> all;
  for (const auto& s : series) all.insert(all.end(), (s.*values).begin(), (s.*values).end());
  return all;
}

/// Pixels that the labels of an axis need.
double widest_label(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const auto& tick : ticks) width = std::max(width, text_width(tick.label, tick_size));
  return width;
}

/// One tick for each `spacing` pixels, and at least two.
int ticks_wanted(double length, double spacing) { return std::max(2, static_cast<int>(length / spacing)); }
std::vector<Tick> ticks_across(const Scale& scale, double width) { return scale.ticks(ticks_wanted(width, 95)); }
std::vector<Tick> ticks_up(const Scale& scale, double height) { return scale.ticks(ticks_wanted(height, 48)); }

/// The pixels that a title or the names above a field may be wide, about.
double room_above(const Rect& area) { return area.width - 16 * plot_gap; }

/// The words of a title in lines that are not too wide.
std::vector<std::string> title_lines(const std::string& title, double width) {
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin < title.size();) {
    const std::size_t end = std::min(title.find(' ', begin), title.size());
    const std::string word = title.substr(begin, end - begin);
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (lines.back().empty() || text_width(longer, title_size, true) <= width)
      lines.back() = longer;
    else
      lines.push_back(word);
    begin = end + 1;
  }
  return lines;
}

/// The field between the axes, in whole pixels, so that lines along its edges are sharp.
Rect field_of(const Rect& area, const Plot& plot, const Canvas& canvas) {
  const Scale& y = canvas.y;
  const double lines = static_cast<double>(canvas.title.size() - 1) * title_step + canvas.legend_height;
  const double top = std::round(area.y + lines + (plot.title.empty() ? 2 * plot_gap : 2.5 * plot_gap + title_size));
  const double below = tick_size + 2.5 * plot_gap + (plot.x.label.empty() ? 0 : label_size + 0.75 * plot_gap);
  const double height = std::max(10.0, std::round(area.bottom() - below) - top);
  const double labels = widest_label(ticks_up(y, height));
  const double left =
      std::round(area.x + (plot.y.label.empty() ? plot_gap : label_size + 2 * plot_gap) + labels + 1.5 * plot_gap);
  return {left, top, std::max(10.0, std::round(area.right() - 3 * plot_gap) - left), height};
}

/// Each cell of the map becomes a rectangle without smoothing.
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

/// Faint lines at the named ticks.
void draw_grid(Drawing& figure, const Canvas& canvas) {
  const Rect& f = canvas.field;
  const Pen pen{faint_color, 1};
  for (const auto& tick : ticks_across(canvas.x, f.width)) {
    const double x = std::floor(f.x + canvas.x.place(tick.value) * f.width) + 0.5;
    if (!tick.label.empty()) figure.line({x, f.y}, {x, f.bottom()}, pen);
  }
  for (const auto& tick : ticks_up(canvas.y, f.height)) {
    const double y = std::floor(f.bottom() - canvas.y.place(tick.value) * f.height) + 0.5;
    if (!tick.label.empty()) figure.line({f.x, y}, {f.right(), y}, pen);
  }
}

/// The frame, the ticks with their labels, and the labels of both axes.
void draw_axes(Drawing& figure, const Canvas& canvas, const Plot& plot, const Rect& area) {
  const Rect& f = canvas.field;
  const Pen pen{ink_color, 1};
  TextStyle style{tick_size, ink_color, Align::center};
  for (const auto& tick : ticks_across(canvas.x, f.width)) {
    const double x = std::floor(f.x + canvas.x.place(tick.value) * f.width) + 0.5;
    figure.line({x, f.bottom()}, {x, f.bottom() + (tick.label.empty() ? 3 : 6)}, pen);
    figure.text({x, f.bottom() + 1.1 * plot_gap + tick_size}, tick.label, style);
  }
  style.align = Align::right;
  for (const auto& tick : ticks_up(canvas.y, f.height)) {
    const double y = std::floor(f.bottom() - canvas.y.place(tick.value) * f.height) + 0.5;
    figure.line({f.x - (tick.label.empty() ? 3 : 6), y}, {f.x, y}, pen);
    figure.text({f.x - 1.3 * plot_gap, y + cap_height * tick_size / 2}, tick.label, style);
  }
  figure.outline(f, pen);
  style = {label_size, ink_color, Align::center};
  figure.text({f.x + f.width / 2, area.bottom() - 1.4 * plot_gap}, plot.x.label, style);
  style.direction = Direction::upward;
  figure.text({area.x + label_size + plot_gap, f.y + f.height / 2}, plot.y.label, style);
  double base = f.y - 1.2 * plot_gap - canvas.legend_height;
  for (auto line = canvas.title.rbegin(); line != canvas.title.rend(); ++line, base -= title_step)
    figure.text({f.x, base}, *line, {title_size, ink_color, Align::left, Direction::horizontal, true});
}

/// Dots are round caps of very short dashes.
Pen pen_of(const SeriesStyle& style) {
  Pen pen{palette_color(style.color), style.line_width};
  if (style.stroke == Stroke::dashed) pen.dashes = {8, 5};
  if (style.stroke == Stroke::dotted) pen.dashes = {0.1, 2.4 * style.line_width};
  return pen;
}

/// `r`: about the radius in pixels. Shapes are scaled so that all look equally large.
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

/// Markers with their centre outside `clip` are left out; markers on the edge are drawn whole.
void draw_points(Drawing& figure, const Rect& clip, const std::vector<Point>& points, const SeriesStyle& style) {
  if (style.stroke != Stroke::none) figure.polyline(points, pen_of(style));
  if (style.marker == Marker::none) return;
  const auto inside = [&clip](Point p) {
    return p.x >= clip.x && p.x <= clip.right() && p.y >= clip.y && p.y <= clip.bottom();  // not so for NaN
  };
  for (const Point& p : points)
    if (style.marker != Marker::cross && inside(p))
      draw_marker(figure, p, style.marker, style.marker_size + 1.2, paper_color);
  for (const Point& p : points)
    if (inside(p)) draw_marker(figure, p, style.marker, style.marker_size, palette_color(style.color));
}

/// A series in pixels; NaN for what a logarithmic axis cannot show.
std::vector<Point> places(const Canvas& canvas, const Series& series) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < series.x.size(); ++i) points.push_back(canvas.at(series.x[i], series.y[i]));
  return points;
}

/// How much of the lines is inside a rectangle, in steps of a few pixels.
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

/// The place along the edge of the field where the legend hides least; corners come first.
Rect place_legend(const Rect& field, double width, double height, const std::vector<std::vector<Point>>& lines) {
  const double left = field.x + plot_gap, right = field.right() - plot_gap - width, center = (left + right) / 2;
  const double top = field.y + plot_gap, bottom = field.bottom() - plot_gap - height, middle = (top + bottom) / 2;
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

/// The series that a legend names.
std::vector<const Series*> named_series(const std::vector<Series>& series) {
  std::vector<const Series*> named;
  for (const auto& one : series)
    if (!one.name.empty()) named.push_back(&one);
  return named;
}

/// The width of a sample and the name beside it.
double entry_width(const Series& series) { return legend_sample + plot_gap + text_width(series.name, tick_size); }

/// A sample of the line with its name. `at`: the left end of the sample.
void draw_entry(Drawing& figure, Point at, const Series& series) {
  const auto [x, y] = at;
  const SeriesStyle& style = series.style;
  const Rect row{x, y - legend_row / 2, legend_sample, legend_row};
  draw_points(figure, row, {{x, y}, {x + legend_sample, y}},
              SeriesStyle{style.stroke, Marker::none, style.color, style.line_width});
  draw_points(figure, row, {{x + legend_sample / 2, y}},
              SeriesStyle{Stroke::none, style.marker, style.color, 1, style.marker_size});
  figure.text({x + legend_sample + plot_gap, y + cap_height * tick_size / 2}, series.name, {tick_size, ink_color});
}

/// The box of a legend in the field, where it hides least.
Rect legend_box(const Rect& field, const std::vector<const Series*>& named,
                const std::vector<std::vector<Point>>& lines) {
  double width = 0;
  for (const Series* one : named) width = std::max(width, entry_width(*one));
  return place_legend(field, width + 2.5 * plot_gap, static_cast<double>(named.size()) * legend_row + plot_gap, lines);
}

/// One name below the other.
void draw_legend(Drawing& figure, const Rect& box, const std::vector<const Series*>& named) {
  figure.box(box, paper_color, 0.88);
  double y = std::round(box.y + plot_gap / 2 + legend_row / 2);
  for (const Series* one : named) {
    draw_entry(figure, {box.x + plot_gap, y}, *one);
    y += legend_row;
  }
}

/// The places of the samples above a field, from its upper left corner: in rows that are not too wide.
std::vector<Point> places_above(const std::vector<const Series*>& named, double width) {
  std::vector<Point> places;
  Point at;
  for (const Series* one : named) {
    const double needed = entry_width(*one);
    if (at.x > 0 && at.x + needed > width) at = {0, at.y + legend_row};
    places.push_back(at);
    at.x += needed + 2.5 * plot_gap;
  }
  return places;
}

/// The names in rows between title and field.
void draw_legend_above(Drawing& figure, const Canvas& canvas, const std::vector<const Series*>& named,
                       const std::vector<Point>& places) {
  const double top = std::round(canvas.field.y - plot_gap / 2 - canvas.legend_height + legend_row / 2);
  for (std::size_t i = 0; i < named.size(); ++i)
    draw_entry(figure, {canvas.field.x + places[i].x, top + places[i].y}, *named[i]);
}

/// Fits the field of a plot into its area.
void fit_field(Canvas& canvas, const Rect& area, const Plot& plot) {
  Rect& field = canvas.field = field_of(area, plot, canvas);
  if (!plot.equal_scales) return;
  const double across = canvas.x.high() - canvas.x.low(), up = canvas.y.high() - canvas.y.low(),
               bottom = field.bottom();
  const double pixels = std::min(field.width / across, field.height / up);  // per unit
  field.width = std::round(pixels * across);
  field.height = std::round(pixels * up);
  field.y = bottom - field.height;
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

/// A colour below 0 means the next one of the palette.
void Plot::add_series(std::string name, std::vector<double> xs, std::vector<double> ys, SeriesStyle style) {
  if (xs.size() != ys.size())
    throw Error(ErrorKind::input, fmt::format("plot: series \"{}\" has {} x values and {} y values, expected as many",
                                              name, xs.size(), ys.size()));
  if (style.color < 0) style.color = static_cast<int>(series_.size());
  series_.push_back({std::move(name), std::move(xs), std::move(ys), style});
}

/// In this order: paper, colours or grid, lines and points within the field, axes, legend.
Rect Plot::draw(Drawing& figure, const Rect& area) const {
  figure.box(area, paper_color);
  Canvas canvas{{}, {x, all_values(series_, &Series::x)}, {y, all_values(series_, &Series::y)}};
  canvas.title = title_lines(title, room_above(area));
  fit_field(canvas, area, *this);
  const auto lines_in_pixels = [&] {
    std::vector<std::vector<Point>> lines;
    for (const auto& series : series_) lines.push_back(places(canvas, series));
    return lines;
  };
  auto lines = lines_in_pixels();
  const auto named = legend ? named_series(series_) : std::vector<const Series*>();
  const Rect box = named.empty() ? Rect{} : legend_box(canvas.field, named, lines);
  std::vector<Point> above;
  if (!named.empty() && (backdrop.columns > 0 || hidden_length(box, lines) > 0)) {
    above = places_above(named, room_above(area));
    canvas.legend_height = above.back().y + legend_row;
    fit_field(canvas, area, *this);
    lines = lines_in_pixels();
  }
  const Rect& f = canvas.field;
  draw_backdrop(figure, f, backdrop);
  if (backdrop.columns == 0) draw_grid(figure, canvas);
  figure.clip({f.x - 6, f.y - 6, f.width + 12, f.height + 12});
  for (std::size_t i = 0; i < series_.size(); ++i)
    draw_points(figure, {f.x - 1, f.y - 1, f.width + 2, f.height + 2}, lines[i], series_[i].style);
  figure.end_clip();
  draw_axes(figure, canvas, *this, area);
  if (!above.empty())
    draw_legend_above(figure, canvas, named, above);
  else if (!named.empty())
    draw_legend(figure, box, named);
  return f;
}

void Plot::draw(Drawing& figure) const {
  draw(figure, {0, 0, static_cast<double>(figure.width()), static_cast<double>(figure.height())});
}

/// The figure is as high as all panels together.
Drawing draw_panels(const std::vector<Plot>& plots, int width, int height) {
  Drawing figure(width, height * static_cast<int>(std::max<std::size_t>(plots.size(), 1)), paper_color);
  for (std::size_t i = 0; i < plots.size(); ++i)
    plots[i].draw(figure,
                  {0, static_cast<double>(i) * height, static_cast<double>(width), static_cast<double>(height)});
  return figure;
}

namespace {

constexpr double bar_width = 16, bar_room = 112;  // pixels right of the field

/// The colour bar to the right of a map, with its own ticks and label.
void draw_bar(Drawing& figure, const Rect& field, const Scale& scale, const Colormap& map, const std::string& label) {
  const Rect bar{field.right() + 18, field.y, bar_width, field.height};
  constexpr int colors = 256;
  Image strip(1, colors);
  for (int k = 0; k < colors; ++k) strip.set(0, colors - 1 - k, map(k / (colors - 1.0)));
  figure.pixels(bar, std::move(strip));
  const Pen pen{ink_color, 1};
  figure.outline(bar, pen);
  double widest = 0;
  for (const Tick& tick : scale.ticks(std::max(2, static_cast<int>(bar.height / 48)))) {
    const double y = std::floor(bar.bottom() - scale.place(tick.value) * bar.height) + 0.5;
    figure.line({bar.right(), y}, {bar.right() + (tick.label.empty() ? 3 : 6), y}, pen);
    figure.text({bar.right() + 10, y + cap_height * tick_size / 2}, tick.label, {tick_size, ink_color});
    widest = std::max(widest, text_width(tick.label, tick_size));
  }
  const TextStyle style{label_size, ink_color, Align::center, Direction::upward};
  figure.text({bar.right() + 16 + widest + label_size, bar.y + bar.height / 2}, label, style);
}

}  // namespace

int color_bar_room() { return static_cast<int>(bar_room); }

/// Beside fields that begin where those of plots with a title do.
Drawing draw_color_bar(const Axis& colors, const std::string& colormap, int height) {
  Drawing figure(color_bar_room(), height, paper_color);
  const double top = std::round(2.5 * plot_gap + title_size);
  draw_bar(figure, {-plot_gap, top, 0, height - top - tick_size - 4 * plot_gap}, Scale(colors, {}), Colormap(colormap),
           colors.label);
  return figure;
}

void MapPlot::set_values(int columns, int rows, std::vector<double> values, std::pair<double, double> x,
                         std::pair<double, double> y) {
  if (values.size() != static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows))
    throw Error(ErrorKind::input,
                fmt::format("plot: a map of {} x {} cells has {} values", columns, rows, values.size()));
  columns_ = columns;
  rows_ = rows;
  values_ = std::move(values);
  plot.x.low = x.first;
  plot.x.high = x.second;
  plot.y.low = y.first;
  plot.y.high = y.second;
}

/// A logarithmic scale reaches at most `decades_most` below its highest value.
Scale MapPlot::color_scale() const {
  Axis axis = colors;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values_) {
    if (!std::isfinite(value) || (axis.log && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low < high) {
    if (!axis.high) axis.high = high;
    if (!axis.low) axis.low = axis.log ? std::max(low, *axis.high * std::pow(10.0, -decades_most)) : low;
  }
  return Scale(axis, values_);
}

/// Values that the scale cannot show get the lowest colour.
Drawing MapPlot::draw(int width, int height) const {
  const Colormap map(colormap);
  const Scale scale = color_scale();
  Plot whole = plot;
  whole.backdrop.columns = columns_;
  whole.backdrop.rows = rows_;
  for (int row = rows_ - 1; row >= 0; --row)
    for (int column = 0; column < columns_; ++column) {
      const double place = scale.place(values_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                                               static_cast<std::size_t>(column)]);
      whole.backdrop.colors.push_back(map(std::isfinite(place) ? place : 0.0));
    }
  const int own_width = width - color_bar_room();
  Drawing figure(bar ? width : own_width, height, paper_color);
  const Rect field = whole.draw(figure, {0, 0, static_cast<double>(own_width), static_cast<double>(height)});
  if (bar) draw_bar(figure, field, scale, map, colors.label);
  return figure;
}

void BarChart::add_bar(std::string name, double value, std::string text) {
  bars_.push_back({std::move(name), value, std::move(text)});
}

/// Lengths are proportional to the values, the longest bar fills the room between names and texts.
Drawing BarChart::draw(int width) const {
  constexpr double size = 12.5, row = 30, edge = 24, gap = 10, header = 50;
  double names = 0, texts = 0, longest = 0;
  for (const auto& bar : bars_) {
    names = std::max(names, text_width(bar.name, size));
    texts = std::max(texts, text_width(bar.text, size));
    longest = std::max(longest, bar.value);
  }
  const double height = header + row * static_cast<double>(bars_.size()) + edge;
  Drawing figure(width, static_cast<int>(height));
  figure.text({edge, header - 18}, title, {title_size, ink_color, Align::left, Direction::horizontal, true});
  const double left = std::round(edge + names + gap), room = std::max(10.0, width - edge - texts - gap - left);
  double y = header;
  for (const auto& bar : bars_) {
    const double length = longest > 0 ? std::max(1.0, room * bar.value / longest) : 1.0,
                 base = y + (row + cap_height * size) / 2;
    figure.text({left - gap, base}, bar.name, {size, ink_color, Align::right});
    figure.box({left, y + 6, length, row - 12}, palette_color(0));
    figure.text({left + length + gap, base}, bar.text, {size, ink_color});
    y += row;
  }
  return figure;
}

}  // namespace pergola

#include "picture/map_plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "picture/colormap.hpp"
#include "picture/plot_style.hpp"

namespace pergola {

namespace {

using namespace plot_style;
constexpr double bar_width = 16, bar_room = 112;  // pixels right of the field

void draw_bar(Drawing& figure, const Rect& field, const Scale& scale, const Colormap& map, const std::string& label) {
  const Rect bar{field.right() + 18, field.y, bar_width, field.height};
  constexpr int colors = 256;
  Image strip(1, colors);
  for (int k = 0; k < colors; ++k) strip.set(0, colors - 1 - k, map(k / (colors - 1.0)));
  figure.pixels(bar, std::move(strip));
  const Pen pen{ink, 1};
  const double left = bar.x - 0.5, top = bar.y - 0.5, right = bar.right() + 0.5, bottom = bar.bottom() + 0.5;
  figure.polyline({{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}}, pen);
  double widest = 0;
  for (const Tick& tick : scale.ticks(std::max(2, static_cast<int>(bar.height / 48)))) {
    const double y = std::floor(bar.bottom() - scale.place(tick.value) * bar.height) + 0.5;
    figure.line({bar.right(), y}, {bar.right() + (tick.label.empty() ? 3 : 6), y}, pen);
    figure.text({bar.right() + 10, y + cap_height * tick_size / 2}, tick.label, {tick_size, ink});
    widest = std::max(widest, text_width(tick.label, tick_size));
  }
  const TextStyle style{label_size, ink, Align::center, Direction::upward};
  figure.text({bar.right() + 16 + widest + label_size, bar.y + bar.height / 2}, label, style);
}

}  // namespace

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
  Drawing figure(width, height, paper);
  const Rect field = whole.draw(figure, {0, 0, width - bar_room, static_cast<double>(height)});
  draw_bar(figure, field, scale, map, colors.label);
  return figure;
}

}  // namespace pergola

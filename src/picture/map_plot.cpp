#include "picture/map_plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "picture/colormap.hpp"
#include "picture/font.hpp"

namespace pergola {

namespace {

constexpr Color paper{255, 255, 255};
constexpr Color ink{38, 42, 51};
constexpr double tick_cap = 8.5, label_cap = 9.5;
constexpr double bar_width = 16, bar_room = 104;  // pixels right of the field

void draw_bar(Image& image, const Rect& field, const Scale& scale, const Colormap& map, const std::string& label) {
  const Rect bar{field.right() + 18, field.y, bar_width, field.height};
  for (int y = 0; y < static_cast<int>(bar.height); ++y)
    draw_box(image, {bar.x, bar.bottom() - y - 1, bar.width, 1}, map(y / bar.height));
  double widest = 0;
  for (const Tick& tick : scale.ticks(std::max(2, static_cast<int>(bar.height / 48)))) {
    const double y = bar.bottom() - scale.place(tick.value) * bar.height;
    draw_line(image, {bar.right(), y}, {bar.right() + (tick.label.empty() ? 3 : 5), y}, 1, ink);
    draw_text(image, {bar.right() + 9, y + tick_cap / 2}, tick.label, {tick_cap, ink});
    widest = std::max(widest, text_width(tick.label, tick_cap));
  }
  TextStyle style{label_cap, ink, Align::center, Direction::upward};
  draw_text(image, {bar.right() + 16 + widest + label_cap, bar.y + bar.height / 2}, label, style);
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

Image MapPlot::draw(int width, int height) const {
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
  Image image(width, height, paper);
  const Rect field = whole.draw(image, {0, 0, width - bar_room, static_cast<double>(height)});
  draw_bar(image, field, scale, map, colors.label);
  return image;
}

}  // namespace pergola

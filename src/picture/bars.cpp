#include "picture/bars.hpp"

#include <algorithm>
#include <cmath>

#include "picture/plot.hpp"
#include "picture/plot_style.hpp"

namespace pergola {

void BarChart::add_bar(std::string name, double value, std::string text) {
  bars_.push_back({std::move(name), value, std::move(text)});
}

Drawing BarChart::draw(int width) const {
  using namespace plot_style;
  constexpr double size = 12.5, row = 30, edge = 24, gap = 10, header = 50;
  double names = 0, texts = 0, longest = 0;
  for (const auto& bar : bars_) {
    names = std::max(names, text_width(bar.name, size));
    texts = std::max(texts, text_width(bar.text, size));
    longest = std::max(longest, bar.value);
  }
  const double height = header + row * static_cast<double>(bars_.size()) + edge;
  Drawing figure(width, static_cast<int>(height));
  figure.text({edge, header - 18}, title, {title_size, ink, Align::left, Direction::horizontal, true});
  const double left = std::round(edge + names + gap), room = std::max(10.0, width - edge - texts - gap - left);
  double y = header;
  for (const auto& bar : bars_) {
    const double length = longest > 0 ? std::max(1.0, room * bar.value / longest) : 1.0,
                 base = y + (row + cap_height * size) / 2;
    figure.text({left - gap, base}, bar.name, {size, ink, Align::right});
    figure.box({left, y + 6, length, row - 12}, palette_color(0));
    figure.text({left + length + gap, base}, bar.text, {size, ink});
    y += row;
  }
  return figure;
}

}  // namespace pergola

#include "picture/bars.hpp"

#include <algorithm>

#include "picture/font.hpp"
#include "picture/plot.hpp"

namespace pergola {

void BarChart::add_bar(std::string name, double value, std::string text) {
  bars_.push_back({std::move(name), value, std::move(text)});
}

Image BarChart::draw(int width) const {
  constexpr Color ink{38, 42, 51};
  constexpr double cap = 9, row = 30, edge = 24, gap = 10, header = 50;
  double names = 0, texts = 0, longest = 0;
  for (const auto& bar : bars_) {
    names = std::max(names, text_width(bar.name, cap));
    texts = std::max(texts, text_width(bar.text, cap));
    longest = std::max(longest, bar.value);
  }
  const double height = header + row * static_cast<double>(bars_.size()) + edge;
  Image image(width, static_cast<int>(height), {255, 255, 255});
  draw_text(image, {edge, header - 18}, title, {11, ink, Align::left, Direction::horizontal, 1.3});
  const double left = edge + names + gap, room = std::max(10.0, width - edge - texts - gap - left);
  double y = header;
  for (const auto& bar : bars_) {
    const double length = longest > 0 ? std::max(1.0, room * bar.value / longest) : 1.0, base = y + (row + cap) / 2;
    draw_text(image, {left - gap, base}, bar.name, {cap, ink, Align::right});
    draw_box(image, {left, y + 6, length, row - 12}, palette_color(0));
    draw_text(image, {left + length + gap, base}, bar.text, {cap, ink});
    y += row;
  }
  return image;
}

}  // namespace pergola

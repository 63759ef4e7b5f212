#include "picture/render_legend.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "picture/axis.hpp"
#include "picture/plot.hpp"

namespace pergola {

namespace {

constexpr Color ink{235, 235, 240};

/// The longest of 1, 2, 5 × 10^k that is at most `length`.
double round_length(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length)));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= length) return factor * power;
  return power;
}

double text_size(const Projection& map) { return std::max(10.5, map.pixels / 52.0); }
double edge_of(const Projection& map) { return std::max(17.6, map.pixels / 32.7); }

TextStyle style_of(const Projection& map) {
  TextStyle style{text_size(map), ink, Align::left};
  style.halo = 0.16 * style.size;
  return style;
}

}  // namespace

void draw_labels(Drawing& figure, const Projection& map, const RenderOptions& options) {
  TextStyle style = style_of(map);
  const double size = style.size, edge = edge_of(map), bottom = map.pixels - edge;
  style.bold = true;
  figure.text({edge, edge + 0.73 * size}, options.title, style);
  style.bold = false;
  style.align = Align::right;
  figure.text({map.pixels - edge, edge + 0.73 * size}, options.note, style);

  const double length = round_length(map.frame.width / 4), bar = length / map.frame.width * map.pixels;
  const Pen shadow{{0, 0, 0}, 0.16 * size + 3, 0.4}, pen{ink, 0.14 * size};
  for (const Pen& one : {shadow, pen}) {
    figure.line({edge, bottom}, {edge + bar, bottom}, one);
    for (const double x : {edge, edge + bar}) figure.line({x, bottom - size / 4}, {x, bottom + size / 4}, one);
  }
  style.align = Align::center;
  figure.text(
      {edge + bar / 2, bottom - 0.6 * size},
      options.length_unit.empty() ? tick_text(length) : fmt::format("{} {}", tick_text(length), options.length_unit),
      style);
}

void draw_color_bar(Drawing& figure, const Projection& map, const ColorBar& bar, const std::string& unit) {
  TextStyle style = style_of(map);
  const double size = style.size, bottom = map.pixels - edge_of(map), height = std::round(0.55 * size);
  const int strip = static_cast<int>(map.pixels / 3.6);
  const double left = std::floor(map.pixels - edge_of(map)) - strip, y = std::round(bottom - height / 2);
  Image colors(strip, 1);
  for (int x = 0; x < strip; ++x) colors.set(x, 0, bar.colors(bar.bottom + (bar.top - bar.bottom) * x / (strip - 1)));
  figure.pixels({left, y, static_cast<double>(strip), height}, std::move(colors));
  const double right = left + strip;
  figure.polyline({{left - 0.5, y - 0.5},
                   {right + 0.5, y - 0.5},
                   {right + 0.5, y + height + 0.5},
                   {left - 0.5, y + height + 0.5},
                   {left - 0.5, y - 0.5}},
                  {ink, 1, 0.7});
  // The densities end where the colours do, or before.
  const double end = std::min(bar.full, bar.top) / bar.full;
  const double high = bar.range.low * std::pow(bar.range.high / bar.range.low, end);
  style.size *= 0.85;
  style.align = Align::center;
  double free_from = left - size;
  for (const Tick& tick : log_ticks(bar.range.low, high, std::max(2, static_cast<int>(strip / (4 * size))))) {
    const double place = std::log(tick.value / bar.range.low) / std::log(bar.range.high / bar.range.low);
    const double x = left + strip * place * bar.full / bar.top;
    figure.line({x, y - (tick.label.empty() ? 3.0 : 5.0)}, {x, y - 1}, {ink, 1});
    const double half = text_width(tick.label, style.size) / 2;
    if (tick.label.empty() || x - half < free_from || x + half > right + size) continue;
    figure.text({x, y - 0.55 * size}, tick.label, style);
    free_from = x + half + 0.5 * size;
  }
  style.size = size;
  style.align = Align::right;
  figure.text({right, y - 1.9 * size}, unit.empty() ? bar.symbol : fmt::format("{} ({})", bar.symbol, unit), style);
}

void draw_names(Drawing& figure, const std::vector<RenderLayer>& layers) {
  const auto& map = layers.front().map;
  TextStyle style = style_of(map);
  style.align = Align::right;
  const double right = map.pixels - edge_of(map);
  double base = map.pixels - edge_of(map);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer, base -= 1.4 * style.size) {
    style.color = layer->color;
    figure.text({right, base}, layer->name, style);
  }
}

void draw_trails(Drawing& figure, const std::vector<std::vector<Point>>& trails) {
  constexpr std::size_t shades = 32;
  const double width = std::max(1.0, figure.width() / 600.0);
  for (std::size_t t = 0; t < trails.size(); ++t) {
    const Color color = blend(palette_color(static_cast<int>(t) + 1), {255, 255, 255}, 0.25);
    const auto& trail = trails[t];
    const std::size_t piece = std::max<std::size_t>(1, trail.size() / shades);
    for (std::size_t first = 0; first + 1 < trail.size(); first += piece) {
      const auto end = trail.begin() + static_cast<std::ptrdiff_t>(std::min(trail.size(), first + piece + 1));
      const double part = static_cast<double>(first) / static_cast<double>(trail.size());
      figure.polyline({trail.begin() + static_cast<std::ptrdiff_t>(first), end},
                      {blend({0, 0, 0}, color, 0.25 + 0.65 * part), width});
    }
  }
}

}  // namespace pergola

#include "picture/render.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.hpp"
#include "picture/colormap.hpp"
#include "picture/plot.hpp"

// Legends first, then pictures. Few particles are shown as bright lights on a dark map, many as the map alone; `haze`
// and `crowd` blend between both.
namespace pergola {

namespace {

constexpr Color legend_color{235, 235, 240};

/// The largest of 1, 2, 5 × 10^k that is at most `length`.
double round_length(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length)));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= length) return factor * power;
  return power;
}

/// Sizes in pixels follow the picture, with a lower bound that can still be read.
double text_size(const Projection& map) { return std::max(10.5, map.pixels / 52.0); }
double edge_of(const Projection& map) { return std::max(17.6, map.pixels / 32.7); }

/// Letters with a dark halo, so that they can be read on bright maps.
TextStyle style_of(const Projection& map) {
  TextStyle style{text_size(map), legend_color, Align::left};
  style.halo = 0.16 * style.size;
  return style;
}

}  // namespace

/// The scale bar is a round length of at most a quarter of the width.
void draw_labels(Drawing& figure, const Projection& map, const RenderOptions& options) {
  TextStyle style = style_of(map);
  const double size = style.size, edge = edge_of(map), bottom = map.pixels - edge;
  style.bold = true;
  figure.text({edge, edge + 0.73 * size}, options.title, style);
  style.bold = false;
  style.align = Align::right;
  figure.text({map.pixels - edge, edge + 0.73 * size}, options.note, style);

  const double length = round_length(map.frame.width / 4), bar = length / map.frame.width * map.pixels;
  const Pen shadow{{0, 0, 0}, 0.16 * size + 3, 0.4}, pen{legend_color, 0.14 * size};
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

/// Ticks whose labels would overlap or leave the picture are left out.
void draw_color_bar(Drawing& figure, const Projection& map, const ColorBar& bar, const std::string& unit) {
  TextStyle style = style_of(map);
  const double size = style.size, bottom = map.pixels - edge_of(map), height = std::round(0.55 * size);
  const int strip = static_cast<int>(map.pixels / 3.6);
  const double left = std::floor(map.pixels - edge_of(map)) - strip, y = std::round(bottom - height / 2);
  Image colors(strip, 1);
  for (int x = 0; x < strip; ++x) colors.set(x, 0, bar.colors(bar.bottom + (bar.top - bar.bottom) * x / (strip - 1)));
  const Rect where{left, y, static_cast<double>(strip), height};
  figure.pixels(where, std::move(colors));
  figure.outline(where, {legend_color, 1, 0.7});
  const double right = left + strip;
  // Densities end with the colours, or before.
  const double end = std::min(bar.full, bar.top) / bar.full;
  const double high = bar.range.low * std::pow(bar.range.high / bar.range.low, end);
  style.size *= 0.85;
  style.align = Align::center;
  double free_from = left - size;
  for (const Tick& tick : log_ticks(bar.range.low, high, std::max(2, static_cast<int>(strip / (4 * size))))) {
    const double place = std::log(tick.value / bar.range.low) / std::log(bar.range.high / bar.range.low);
    const double x = left + strip * place * bar.full / bar.top;
    figure.line({x, y - (tick.label.empty() ? 3.0 : 5.0)}, {x, y - 1}, {legend_color, 1});
    const double half = text_width(tick.label, style.size) / 2;
    if (tick.label.empty() || x - half < free_from || x + half > right + size) continue;
    figure.text({x, y - 0.55 * size}, tick.label, style);
    free_from = x + half + 0.5 * size;
  }
  style.size = size;
  style.align = Align::right;
  figure.text({right, y - 1.9 * size}, unit.empty() ? bar.symbol : fmt::format("{} ({})", bar.symbol, unit), style);
}

namespace {

constexpr double brightest = 0.93;  // place in the colour map of the highest density; what is above is for the lights

/// 0 at the lowest density of the range, 1 at the highest.
double place(const DensityRange& range, double density) {
  return density > range.low ? std::min(1.0, std::log(density / range.low) / std::log(range.high / range.low)) : 0.0;
}

/// The visibility of the density: 0 for a few bodies, 1 for a cluster.
double haze(const Projection& map) {
  const double n = static_cast<double>(map.particles);
  return std::clamp(std::log10(n / 20) / std::log10(15.0), 0.0, 1.0);
}

/// Light of single particles per pixel.
class Lights {
 public:
  explicit Lights(int pixels)
      : side_(pixels), light_(static_cast<std::size_t>(pixels) * static_cast<std::size_t>(pixels)) {}

  void add(double cx, double cy, double width, double strength) {
    const int reach = static_cast<int>(std::ceil(3.5 * width));
    const int px = static_cast<int>(cx), py = static_cast<int>(cy);
    for (int y = std::max(0, py - reach); y <= std::min(side_ - 1, py + reach); ++y)
      for (int x = std::max(0, px - reach); x <= std::min(side_ - 1, px + reach); ++x) {
        const double dx = x + 0.5 - cx, dy = y + 0.5 - cy;
        light_[index(x, y)] += static_cast<float>(strength * std::exp(-(dx * dx + dy * dy) / (2 * width * width)));
      }
  }
  /// At most 1, for any number of overlapping lights.
  double exposed(int x, int y) const { return 1 - std::exp(-static_cast<double>(light_[index(x, y)])); }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(side_) + static_cast<std::size_t>(x);
  }
  int side_;
  std::vector<float> light_;
};

/// A core and a faint halo per particle. Few particles are brighter; heavy ones too.
Lights light_spots(const Projection& map) {
  Lights lights(map.pixels);
  if (map.spots.empty()) return lights;
  double mean = 0;
  for (const auto& spot : map.spots) mean += spot.mass / static_cast<double>(map.spots.size());
  const double n = static_cast<double>(map.spots.size()), scale = map.pixels / 900.0;
  const double crowd = std::clamp(std::log10(n / 100) / 2.8, 0.0, 1.0);  // 0: up to 100, 1: 60,000
  const double few = 1 - haze(map);
  const double wished = (1.9 - 1.2 * crowd + 2.5 * few) * scale, width = std::max(0.6, wished);
  const double dimmed = std::min(1.0, wished * wished / (width * width));  // the same light from a wider spot
  const double strength = (1.6 - 1.3 * crowd + 2 * few) * dimmed;
  for (const auto& spot : map.spots) {
    const double relative = mean > 0 ? std::clamp(spot.mass / mean, 0.2, 30.0) : 1.0;
    lights.add(spot.x, spot.y, width * std::cbrt(std::max(1.0, relative)),
               strength * std::cbrt(std::min(1.0, relative)));
    if (crowd < 1) lights.add(spot.x, spot.y, 3.5 * width * std::cbrt(relative), 0.12 * strength * (1 - crowd));
    if (few > 0) lights.add(spot.x, spot.y, 10 * width * std::cbrt(relative), 0.03 * strength * few);
  }
  return lights;
}

/// Screen blending, 1 − (1 − under)(1 − over): it adds light and never exceeds 1.
std::uint8_t screen(std::uint8_t under, double over) {
  return static_cast<std::uint8_t>(std::lround(255 - (255 - under) * (1 - over)));
}

/// A colour at a brightness from 0 to 1; the brightest turn white.
Color lit(Color color, double brightness) {
  const double light = std::pow(std::clamp(brightness, 0.0, 1.0), 1.4),
               white = std::max(0.0, light - 0.75) / 0.25 * 0.6;
  const auto channel = [&](std::uint8_t c) {
    return static_cast<std::uint8_t>(std::lround(light * c + white * (255 - c) * light));
  };
  return {channel(color.r), channel(color.g), channel(color.b)};
}

/// Trails begin faint at the far end.
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

}  // namespace

/// At the lower right corner, the first layer at the top.
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

/// From the densities below which lie 1 % and 99.5 % of the sum over all pixels.
DensityRange density_range(const Projection& map) {
  std::vector<double> sorted;
  for (const double d : map.density)
    if (d > 0) sorted.push_back(d);
  if (sorted.empty()) return {};
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (const double d : sorted) total += d;
  const auto below = [&](double fraction) {
    double sum = 0;
    for (const double d : sorted)
      if ((sum += d) >= fraction * total) return d;
    return sorted.back();
  };
  const double high = below(0.995) * 1.1;
  return {std::clamp(below(0.01) / 2, high * 1e-5, high / 30), high};
}

/// Layers add up as light, from black.
Drawing render_layers(const std::vector<RenderLayer>& layers, const RenderOptions& options) {
  const int pixels = layers.front().map.pixels;
  Image image(pixels, pixels);
  for (const auto& layer : layers) {
    const auto range = layer.range.value_or(density_range(layer.map));
    for (int y = 0; y < pixels; ++y)
      for (int x = 0; x < pixels; ++x) {
        const Color under = image.at(x, y), over = lit(layer.color, place(range, layer.map.at(x, y)));
        image.set(x, y,
                  {screen(under.r, over.r / 255.0), screen(under.g, over.g / 255.0), screen(under.b, over.b / 255.0)});
      }
  }
  Drawing figure(pixels, pixels, {});
  figure.pixels({0, 0, static_cast<double>(pixels), static_cast<double>(pixels)}, std::move(image));
  if (options.legend) {
    draw_labels(figure, layers.front().map, options);
    draw_names(figure, layers);
  }
  return figure;
}

/// Colours, lights, trails, legend. The colour bar ends at the brightest colour in the picture, or of a given range.
Drawing render(const Projection& map, const RenderOptions& options) {
  const Colormap colors(options.colormap);
  const auto range = options.range.value_or(density_range(map));
  const auto lights = light_spots(map);
  const double visible = haze(map), full = brightest * visible;
  double top = options.range ? 1 : 0;  // a given range has the same colour bar in every picture
  Image image(map.pixels, map.pixels);
  for (int y = 0; y < map.pixels; ++y)
    for (int x = 0; x < map.pixels; ++x) {
      double color = full * place(range, map.at(x, y));
      if (!map.spots.empty()) color = 1 - (1 - color) * (1 - lights.exposed(x, y));
      image.set(x, y, colors(color));
      top = std::max(top, color);
    }
  Drawing figure(map.pixels, map.pixels, {});
  figure.pixels({0, 0, static_cast<double>(map.pixels), static_cast<double>(map.pixels)}, std::move(image));
  draw_trails(figure, options.trails);
  if (options.legend) {
    draw_labels(figure, map, options);
    if (options.color_bar && full > 0 && top > 0)
      draw_color_bar(figure, map, {colors, range, full, top}, options.density_unit);
  }
  return figure;
}

}  // namespace pergola

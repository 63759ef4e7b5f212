#include "picture/render.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.hpp"
#include "picture/colormap.hpp"
#include "picture/draw.hpp"
#include "picture/font.hpp"
#include "picture/plot.hpp"

namespace pergola {

namespace {

constexpr Color ink{235, 235, 240};
constexpr double brightest = 0.93;  // place in the colour map of the highest density; what is above is for the lights

struct DensityRange {
  double low = 1, high = 10;
  double place(double density) const {
    return density > low ? std::min(1.0, std::log(density / low) / std::log(high / low)) : 0.0;
  }
  double density(double place) const { return low * std::pow(high / low, place); }
};

/// The densities between which most of the mass lies; at least a factor of 30, so that noise does not look like
/// structure, and at most 10^5.
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

/// How much of the density shows: nothing of a handful of bodies, all of a cluster.
double haze(const Projection& map) {
  const double n = static_cast<double>(map.particles);
  return std::clamp(std::log10(n / 20) / std::log10(15.0), 0.0, 1.0);
}

/// Light of single particles, 0 upwards, per pixel.
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
  /// Never above 1, however many lights overlap.
  double exposed(int x, int y) const { return 1 - std::exp(-static_cast<double>(light_[index(x, y)])); }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(side_) + static_cast<std::size_t>(x);
  }
  int side_;
  std::vector<float> light_;
};

/// A core and a faint halo per particle; fewer particles shine brighter, heavier ones too.
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

std::uint8_t screen(std::uint8_t under, double over) {
  return static_cast<std::uint8_t>(std::lround(255 - (255 - under) * (1 - over)));
}

/// The longest of 1, 2, 5 × 10^k that is at most `length`.
double round_length(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length)));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= length) return factor * power;
  return power;
}

void draw_shadowed(Image& image, Point at, const std::string& text, TextStyle style) {
  TextStyle shadow = style;
  shadow.color = {0, 0, 0};
  shadow.weight = style.weight * 5;
  shadow.opacity = 0.5;
  draw_text(image, at, text, shadow);
  draw_text(image, at, text, style);
}

double legend_cap(const Projection& map) { return std::max(8.0, map.pixels / 72.0); }
double legend_edge(const Projection& map) { return 2.2 * legend_cap(map); }

void draw_labels(Image& image, const Projection& map, const RenderOptions& options) {
  const double cap = legend_cap(map), edge = legend_edge(map), bottom = map.pixels - edge;
  TextStyle style{cap, ink, Align::left, Direction::horizontal, 1, 0.95};
  TextStyle bold = style;
  bold.weight = 1.25;
  draw_shadowed(image, {edge, edge + cap}, options.title, bold);
  style.align = Align::right;
  draw_shadowed(image, {map.pixels - edge, edge + cap}, options.note, style);

  const double length = round_length(map.frame.width / 4), bar = length / map.frame.width * map.pixels;
  draw_line(image, {edge, bottom}, {edge + bar, bottom}, cap / 5, ink);
  for (const double x : {edge, edge + bar})
    draw_line(image, {x, bottom - cap / 3}, {x, bottom + cap / 3}, cap / 5, ink);
  style.align = Align::center;
  draw_shadowed(image, {edge + bar / 2, bottom - 0.8 * cap},
                options.length_unit.empty() ? to_text(length) : to_text(length) + " " + options.length_unit, style);
}

/// The colours of the picture from the darkest to the brightest, at `top` in the colour map. The densities end before,
/// where single particles shine brighter than any density.
void draw_color_bar(Image& image, const Projection& map, const DensityRange& range, const Colormap& colors, double top,
                    const std::string& unit) {
  const double cap = legend_cap(map), bottom = map.pixels - legend_edge(map);
  const int strip = static_cast<int>(map.pixels / 4.5);
  const double left = std::floor(map.pixels - legend_edge(map)) - strip;
  for (int x = 0; x < strip; ++x)
    draw_box(image, {left + x, bottom - cap / 3, 1, cap / 1.5}, colors(top * x / (strip - 1)));
  TextStyle style{0.8 * cap, ink, Align::left, Direction::horizontal, 1, 0.95};
  const double full = brightest * haze(map), end = std::min(full, top);
  const std::string low = fmt::format("{:.2g}", range.low), high = fmt::format("{:.2g}", range.density(end / full));
  const double base = bottom - 0.9 * cap;
  if (text_width(low + high, style.cap_height) + cap > strip * end / top) return;
  draw_shadowed(image, {left, base}, low, style);
  style.align = Align::right;
  draw_shadowed(image, {left + strip * end / top, base}, high, style);
  draw_shadowed(image, {left + strip, base - 1.7 * cap}, unit.empty() ? "Σ" : fmt::format("Σ ({})", unit), style);
}

/// From the far end, where they are faint, to the particle.
void draw_trails(Image& image, const std::vector<std::vector<Point>>& trails) {
  const double width = std::max(1.0, image.width() / 600.0);
  for (std::size_t t = 0; t < trails.size(); ++t) {
    const Color color = blend(palette_color(static_cast<int>(t) + 1), {255, 255, 255}, 0.25);
    const auto& trail = trails[t];
    for (std::size_t i = 1; i < trail.size(); ++i) {
      if (!std::isfinite(trail[i - 1].x + trail[i].x)) continue;
      const Color faded =
          blend({0, 0, 0}, color, 0.25 + 0.65 * static_cast<double>(i) / static_cast<double>(trail.size()));
      draw_line(image, trail[i - 1], trail[i], width, faded);
    }
  }
}

/// A colour at a brightness from 0 to 1, going on to white at the top.
Color lit(Color color, double brightness) {
  const double light = std::pow(std::clamp(brightness, 0.0, 1.0), 1.4),
               white = std::max(0.0, light - 0.75) / 0.25 * 0.6;
  const auto channel = [&](std::uint8_t c) {
    return static_cast<std::uint8_t>(std::lround(light * c + white * (255 - c) * light));
  };
  return {channel(color.r), channel(color.g), channel(color.b)};
}

void draw_names(Image& image, const std::vector<RenderLayer>& layers) {
  const auto& map = layers.front().map;
  const double cap = legend_cap(map), right = map.pixels - legend_edge(map);
  double base = map.pixels - legend_edge(map);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer, base -= 1.8 * cap)
    draw_shadowed(image, {right, base}, layer->name, {cap, layer->color, Align::right, Direction::horizontal, 1, 0.95});
}

}  // namespace

Image render_layers(const std::vector<RenderLayer>& layers, const RenderOptions& options) {
  const int pixels = layers.front().map.pixels;
  Image image(pixels, pixels);
  for (const auto& layer : layers) {
    const auto range = density_range(layer.map);
    for (int y = 0; y < pixels; ++y)
      for (int x = 0; x < pixels; ++x) {
        const Color under = image.at(x, y), over = lit(layer.color, range.place(layer.map.at(x, y)));
        image.set(x, y,
                  {screen(under.r, over.r / 255.0), screen(under.g, over.g / 255.0), screen(under.b, over.b / 255.0)});
      }
  }
  if (options.legend) {
    draw_labels(image, layers.front().map, options);
    draw_names(image, layers);
  }
  return image;
}

Image render(const Projection& map, const RenderOptions& options) {
  const Colormap colors(options.colormap);
  const auto range = density_range(map);
  const auto lights = light_spots(map);
  const double visible = haze(map);
  double top = 0;
  Image image(map.pixels, map.pixels);
  for (int y = 0; y < map.pixels; ++y)
    for (int x = 0; x < map.pixels; ++x) {
      double place = brightest * visible * range.place(map.at(x, y));
      if (!map.spots.empty()) place = 1 - (1 - place) * (1 - lights.exposed(x, y));
      image.set(x, y, colors(place));
      top = std::max(top, place);
    }
  draw_trails(image, options.trails);
  if (options.legend) {
    draw_labels(image, map, options);
    if (visible > 0 && top > 0) draw_color_bar(image, map, range, colors, top, options.density_unit);
  }
  return image;
}

}  // namespace pergola

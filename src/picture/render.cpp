#include "picture/render.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "picture/colormap.hpp"
#include "picture/render_legend.hpp"

namespace pergola {

namespace {

constexpr double brightest = 0.93;  // place in the colour map of the highest density; what is above is for the lights

/// 0 for the lowest density of the range, 1 for the highest.
double place(const DensityRange& range, double density) {
  return density > range.low ? std::min(1.0, std::log(density / range.low) / std::log(range.high / range.low)) : 0.0;
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

/// A colour at a brightness from 0 to 1, going on to white at the top.
Color lit(Color color, double brightness) {
  const double light = std::pow(std::clamp(brightness, 0.0, 1.0), 1.4),
               white = std::max(0.0, light - 0.75) / 0.25 * 0.6;
  const auto channel = [&](std::uint8_t c) {
    return static_cast<std::uint8_t>(std::lround(light * c + white * (255 - c) * light));
  };
  return {channel(color.r), channel(color.g), channel(color.b)};
}

}  // namespace

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

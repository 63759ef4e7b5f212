#include "picture/plasma_plots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "picture/colormap.hpp"
#include "picture/plot.hpp"
#include "picture/projection.hpp"

// Phase space is drawn by the projection of stars: it smooths by the number of neighbours. A periodic coordinate is
// continued beyond its ends, so that smoothing crosses them.
namespace pergola {

namespace {

constexpr int map_pixels = 720;
constexpr double decades_shown = 2.5;
constexpr double periodic_margin = 0.125;  // of the width: what a projection looks at beyond its frame

/// The range of the values with a margin on both sides; of equal values a range about them.
Limits limits_of(const std::vector<double>& values, double room) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double size = *high > *low ? *high - *low : std::max(std::abs(*high), 1.0);
  return {*low - room * size, *high + room * size};
}

/// 0 at the lower limit, 1 at the upper one.
double place(double value, const Limits& limits) { return (value - limits.first) / (limits.second - limits.first); }

/// Limits as far apart as `size` at least, about the same middle.
Limits widened(const Limits& limits, double size) {
  const double middle = 0.5 * (limits.first + limits.second), half = 0.5 * (limits.second - limits.first);
  return {middle - std::max(half, 0.5 * size), middle + std::max(half, 0.5 * size)};
}

struct Plane {
  Limits across, up;
};

/// With equal scales the field is as wide as high, or up to three times as wide.
Plane plane_of(const PhaseSpace& particles) {
  Plane plane{particles.across_limits.value_or(particles.period > 0 ? Limits{0, particles.period}
                                                                    : limits_of(particles.across, 0.05)),
              particles.up_limits.value_or(limits_of(particles.up, 0.06))};
  if (!particles.equal_scales) return plane;
  const auto size = [](const Limits& limits) { return limits.second - limits.first; };
  plane.across = widened(plane.across, size(plane.up));
  plane.up = widened(plane.up, size(plane.across) / 3);
  return plane;
}

/// Particles first … end − 1 per area, row 0 at the bottom.
std::vector<double> density_of(const PhaseSpace& particles, const Plane& plane, std::size_t first, std::size_t end) {
  // Uses the projection of stars on a unit square: it smooths by the number of neighbours.
  const auto& [across, up] = plane;
  Particles square;
  const auto add = [&](double x, double y, double weight) {
    square.id.push_back(square.id.size() + 1);
    square.x.push_back(x);
    square.y.push_back(y);
    square.mass.push_back(weight);
  };
  for (std::size_t i = first; i < end; ++i) {
    const double x = place(particles.across[i], across), y = place(particles.up[i], up);
    add(x, y, particles.weights[i]);
    if (particles.period > 0 && x < periodic_margin) add(x + 1, y, particles.weights[i]);
    if (particles.period > 0 && x > 1 - periodic_margin) add(x - 1, y, particles.weights[i]);
  }
  square.z.assign(square.x.size(), 0.0);
  const Projection map = project(square, {SightLine::z, {{0.5, 0.5, 0}, 1}, map_pixels, particles.threads});
  const double area = (across.second - across.first) * (up.second - up.first);
  std::vector<double> density;
  for (int y = map_pixels - 1; y >= 0; --y)
    for (int x = 0; x < map_pixels; ++x) density.push_back(map.at(x, y) / area);
  return density;
}
std::vector<double> density_of(const PhaseSpace& particles, const Plane& plane) {
  return density_of(particles, plane, 0, particles.across.size());
}

/// Each species as ink of its colour on white paper: full at its own highest density, none 2.5 decades below.
Plot plot_of_species(const PhaseSpace& particles, const Plane& plane) {
  constexpr std::size_t cells = static_cast<std::size_t>(map_pixels) * map_pixels;
  std::vector<std::array<double, 3>> light(cells, {1, 1, 1});
  Plot plot;
  std::size_t first = 0;
  for (std::size_t s = 0; s < particles.species.size(); ++s) {
    const auto& [name, count] = particles.species[s];
    const Color color = palette_color(static_cast<int>(s));
    plot.add_series(name, {}, {}, {Stroke::solid, Marker::none, static_cast<int>(s), 6});
    if (count == 0) continue;
    const auto density = density_of(particles, plane, first, first + count);
    first += count;
    const double high = *std::max_element(density.begin(), density.end());
    for (std::size_t i = 0; i < cells; ++i) {
      if (!(density[i] > 0)) continue;
      const double ink = std::clamp(1 + std::log10(density[i] / high) / decades_shown, 0.0, 1.0);
      const std::array<double, 3> reflected{color.r / 255.0, color.g / 255.0, color.b / 255.0};
      for (std::size_t k = 0; k < 3; ++k) light[i][k] *= 1 - ink * (1 - reflected[k]);
    }
  }
  plot.x.low = plane.across.first, plot.x.high = plane.across.second;
  plot.y.low = plane.up.first, plot.y.high = plane.up.second;
  plot.backdrop.columns = plot.backdrop.rows = map_pixels;
  const auto byte = [](double value) { return static_cast<std::uint8_t>(std::lround(255 * value)); };
  for (int row = map_pixels - 1; row >= 0; --row)
    for (int column = 0; column < map_pixels; ++column) {
      const auto& [r, g, b] = light[static_cast<std::size_t>(row) * map_pixels + static_cast<std::size_t>(column)];
      plot.backdrop.colors.push_back({byte(r), byte(g), byte(b)});
    }
  return plot;
}

/// The height at which a field of this width has equal scales; else two thirds of the width.
int height_of(const PhaseSpace& particles, const Plane& plane, int width) {
  if (!particles.equal_scales) return width * 2 / 3;
  constexpr double beside = 200, above = 100;  // pixels of a figure that are not its field, about
  const double aspect = (plane.up.second - plane.up.first) / (plane.across.second - plane.across.first);
  return static_cast<int>(above + aspect * (width - beside));
}

void refuse_none(const PhaseSpace& particles) {
  if (particles.across.empty()) throw Error(ErrorKind::input, "picture: there are no particles to show");
}

}  // namespace

/// Colours reach down 2.5 decades from the highest density.
PhaseSpaceLimits phase_space_limits(const PhaseSpace& particles) {
  refuse_none(particles);
  const Plane plane = plane_of(particles);
  const auto density = density_of(particles, plane);
  const double high = *std::max_element(density.begin(), density.end());
  return {plane.across, plane.up, particles.color_limits.value_or(Limits{high * std::pow(10.0, -decades_shown), high})};
}

Drawing plot_phase_space(const PhaseSpace& particles, int width) {
  refuse_none(particles);
  const Plane plane = plane_of(particles);
  MapPlot plot;
  if (!particles.species.empty()) plot.plot = plot_of_species(particles, plane);
  plot.plot.title = particles.title;
  plot.plot.x.label = particles.across_label;
  plot.plot.y.label = particles.up_label;
  plot.plot.equal_scales = particles.equal_scales;
  const int height = height_of(particles, plane, width);
  if (!particles.species.empty()) {
    Drawing figure(width, height);
    plot.plot.draw(figure);
    return figure;
  }
  plot.colormap = particles.colormap;
  plot.bar = particles.bar;
  plot.colors = {particles.density_label, true, {}, {}};
  if (particles.color_limits)
    plot.colors.low = particles.color_limits->first, plot.colors.high = particles.color_limits->second;
  plot.decades_most = decades_shown;
  plot.set_values(map_pixels, map_pixels, density_of(particles, plane), plane.across, plane.up);
  return plot.draw(width, height);
}

/// A field with both signs gets the diverging map with equal limits, so that 0 is light grey.
Drawing plot_field(const FieldSlice& slice, int width) {
  MapPlot plot;
  plot.plot.title = slice.title;
  plot.plot.x.label = slice.across_label;
  plot.plot.y.label = slice.up_label;
  const auto [low, high] = std::minmax_element(slice.values.begin(), slice.values.end());
  const bool both_signs = !slice.values.empty() && *low < 0 && *high > 0;
  plot.colormap = !slice.colormap.empty() ? slice.colormap : both_signs ? diverging_colormap : "magma";
  plot.colors.label = slice.value_label;
  if (both_signs && plot.colormap == diverging_colormap) {
    const double largest = std::max(-*low, *high);
    plot.colors.low = -largest, plot.colors.high = largest;
  }
  if (slice.color_limits) plot.colors.low = slice.color_limits->first, plot.colors.high = slice.color_limits->second;
  plot.bar = slice.bar;
  plot.set_values(slice.columns, slice.rows, slice.values, {0, slice.width}, {0, slice.height});
  const double aspect = std::clamp(slice.height / slice.width, 0.25, 1.0);
  return plot.draw(width, 120 + static_cast<int>((width - 180) * aspect));
}

/// Cells are centred on their wave number and frequency: the limits lie half a step outside.
Drawing plot_spectrum(const SpectrumMap& spectrum, int width) {
  const std::size_t modes = spectrum.wave_numbers.size();
  double shortest_wave = 0, highest_frequency = 0;
  for (const auto& curve : spectrum.theory)
    for (std::size_t i = 0; i < curve.wave_numbers.size(); ++i) {
      shortest_wave = std::max(shortest_wave, curve.wave_numbers[i]);
      highest_frequency = std::max(highest_frequency, curve.frequencies[i]);
    }
  // Show wave numbers and frequencies up to the ends of the curves and of the signal: what has a thousandth of the
  // highest power.
  const double signal =
      spectrum.power.empty() ? 0 : 1e-3 * *std::max_element(spectrum.power.begin(), spectrum.power.end());
  for (std::size_t i = 0; i < spectrum.power.size(); ++i) {
    if (spectrum.power[i] < signal) continue;
    highest_frequency = std::max(highest_frequency, spectrum.frequencies[i / modes]);
    shortest_wave = std::max(shortest_wave, spectrum.wave_numbers[i % modes]);
  }
  const auto above =
      std::upper_bound(spectrum.frequencies.begin(), spectrum.frequencies.end(), 1.3 * highest_frequency);
  const auto rows =
      std::min<std::size_t>(std::max<std::size_t>(16, static_cast<std::size_t>(above - spectrum.frequencies.begin())),
                            spectrum.frequencies.size());
  const std::size_t columns = std::min(
      modes,
      static_cast<std::size_t>(std::max(8.0, std::min(1.5 * shortest_wave / spectrum.wave_numbers[0], double(modes)))));
  std::vector<double> values;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t mode = 0; mode < columns; ++mode) values.push_back(spectrum.power[row * modes + mode]);

  MapPlot plot;
  plot.plot.title = spectrum.title;
  plot.plot.x.label = spectrum.wave_number_label;
  plot.plot.y.label = spectrum.frequency_label;
  plot.colormap = "viridis";
  plot.colors = {spectrum.power_label, true, {}, {}};
  plot.decades_most = 5;
  const double k = spectrum.wave_numbers[0], step = spectrum.frequencies.size() > 1 ? spectrum.frequencies[1] : 1;
  plot.set_values(static_cast<int>(columns), static_cast<int>(rows), std::move(values),
                  {0.5 * k, (static_cast<double>(columns) + 0.5) * k},
                  {-0.5 * step, (static_cast<double>(rows) - 0.5) * step});
  for (const auto& curve : spectrum.theory)
    plot.plot.add_series(curve.name, curve.wave_numbers, curve.frequencies, {Stroke::dashed, Marker::none, 1});
  return plot.draw(width, width * 2 / 3);
}

Drawing plot_wave(const RunLog& wave, const LogUnits& units, const std::string& note) {
  const auto times = wave.numbers("time");
  Plot plot;
  plot.title = fmt::format("The wave of [plasma.wave]{}{}", note.empty() ? "" : ": ", note);
  plot.x.label = label_with_unit("time", units.time);
  plot.y.label = label_with_unit("|φ_{k}|", units.potential);
  plot.y.log = true;
  plot.add_series("measured", times, wave.numbers("amplitude"));
  const auto fit = wave.numbers("fit");
  if (std::any_of(fit.begin(), fit.end(), [](double value) { return value > 0; }))
    plot.add_series("fit", times, fit, {Stroke::dashed});
  return draw_panels({plot}, 900, 420);
}

}  // namespace pergola

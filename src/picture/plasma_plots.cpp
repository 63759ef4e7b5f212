#include "picture/plasma_plots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
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

Limits across_of(const PhaseSpace& particles) {
  if (particles.across_limits) return *particles.across_limits;
  return particles.period > 0 ? Limits{0, particles.period} : limits_of(particles.across, 0.05);
}
Limits up_of(const PhaseSpace& particles) { return particles.up_limits.value_or(limits_of(particles.up, 0.06)); }

/// Particles per area, row 0 at the bottom.
std::vector<double> density_of(const PhaseSpace& particles, const Limits& across, const Limits& up) {
  // Uses the projection of stars on a unit square: it smooths by the number of neighbours.
  Particles square;
  const auto add = [&](double x, double y, double weight) {
    square.id.push_back(square.id.size() + 1);
    square.x.push_back(x);
    square.y.push_back(y);
    square.mass.push_back(weight);
  };
  for (std::size_t i = 0; i < particles.across.size(); ++i) {
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

void refuse_none(const PhaseSpace& particles) {
  if (particles.across.empty()) throw Error(ErrorKind::input, "picture: there are no particles to show");
}

}  // namespace

/// Colours reach down 2.5 decades from the highest density.
PhaseSpaceLimits phase_space_limits(const PhaseSpace& particles) {
  refuse_none(particles);
  const Limits across = across_of(particles), up = up_of(particles);
  const auto density = density_of(particles, across, up);
  const double high = *std::max_element(density.begin(), density.end());
  return {across, up, particles.color_limits.value_or(Limits{high * std::pow(10.0, -decades_shown), high})};
}

Drawing plot_phase_space(const PhaseSpace& particles, int width) {
  refuse_none(particles);
  const Limits across = across_of(particles), up = up_of(particles);
  MapPlot plot;
  plot.plot.title = particles.title;
  plot.plot.x.label = particles.across_label;
  plot.plot.y.label = particles.up_label;
  plot.colormap = particles.colormap;
  plot.colors = {particles.density_label, true, {}, {}};
  if (particles.color_limits)
    plot.colors.low = particles.color_limits->first, plot.colors.high = particles.color_limits->second;
  plot.decades_most = decades_shown;
  plot.set_values(map_pixels, map_pixels, density_of(particles, across, up), across, up);
  return plot.draw(width, width * 2 / 3);
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
  plot.set_values(slice.columns, slice.rows, slice.values, {0, slice.width}, {0, slice.height});
  const double aspect = std::clamp(slice.height / slice.width, 0.25, 1.0);
  return plot.draw(width, 120 + static_cast<int>((width - 180) * aspect));
}

/// Cells are centred on their wave number and frequency: the limits lie half a step outside.
Drawing plot_spectrum(const SpectrumMap& spectrum, int width) {
  const std::size_t modes = spectrum.wave_numbers.size();
  double longest_curve = 0, highest_curve = 0, total = 0, below = 0;
  for (const auto& curve : spectrum.theory)
    for (std::size_t i = 0; i < curve.wave_numbers.size(); ++i) {
      longest_curve = std::max(longest_curve, curve.wave_numbers[i]);
      highest_curve = std::max(highest_curve, curve.frequencies[i]);
    }
  // Show wave numbers and frequencies up to the ends of the curves and of nearly all power.
  for (const double power : spectrum.power) total += power;
  std::size_t rows = 0;
  for (; rows < spectrum.frequencies.size(); ++rows) {
    if (below >= 0.998 * total && spectrum.frequencies[rows] > 1.3 * highest_curve) break;
    for (std::size_t mode = 0; mode < modes; ++mode) below += spectrum.power[rows * modes + mode];
  }
  std::size_t columns = modes;
  if (longest_curve > 0)
    columns = static_cast<std::size_t>(std::clamp(1.5 * longest_curve / spectrum.wave_numbers[0], 8.0, double(modes)));
  columns = std::min(columns, modes);
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
  plot.add_series("fit", times, wave.numbers("fit"), {Stroke::dashed});
  return draw_panels({plot}, 900, 420);
}

}  // namespace pergola

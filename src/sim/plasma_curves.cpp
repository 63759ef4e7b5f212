#include "sim/plasma_curves.hpp"

#include <fmt/core.h>

#include <complex>
#include <cstddef>

#include "analysis/mode_recorder.hpp"
#include "physics/green.hpp"
#include "plasma/unit_names.hpp"

namespace pergola {

namespace {

/// Of a field with x fastest, over the other axes.
std::vector<double> mean_along(const std::vector<double>& field, const std::array<int, 3>& cells, std::size_t axis) {
  const auto n = static_cast<std::size_t>(cells[axis]);
  std::size_t stride = 1;
  for (std::size_t before = 0; before < axis; ++before) stride *= static_cast<std::size_t>(cells[before]);
  std::vector<double> mean(n, 0.0);
  for (std::size_t k = 0; k < field.size(); ++k) mean[k / stride % n] += field[k];
  for (double& value : mean) value *= static_cast<double>(n) / static_cast<double>(field.size());
  return mean;
}

}  // namespace

std::vector<StateCurve> field_curves(const std::vector<double>& field, const std::array<int, 3>& cells, int dimensions,
                                     int axis, double length, double strength) {
  const auto along = static_cast<std::size_t>(axis);
  const char name = "xyz"[along];

  StateCurve profile{.title = fmt::format("E{0}({0})", name), .x = {}, .y = {}};
  for (const double value : mean_along(field, cells, along)) {
    profile.x.push_back(static_cast<double>(profile.x.size()) * length);
    profile.y.push_back(value * strength);
  }

  StateCurve spectrum{
      .title = fmt::format("E{0} by k{0}", name), .look = StateCurve::Look::logarithmic, .x = {}, .y = {}};
  ModeRecorder modes(dimensions, cells, {1, 0, 0});
  modes.record(0, field);
  const double longest = physics::wave_number(1, cells[along] * length);
  for (int mode = 1; mode <= modes.modes(axis); ++mode) {
    const double modes_of_wave = 2 * mode == cells[along] ? 1 : 2;  // m and −m
    spectrum.x.push_back(longest * mode);
    spectrum.y.push_back(modes_of_wave * std::abs(modes.series(axis, mode).front()) * strength);
  }
  return {profile, spectrum};
}

std::vector<StateCurve> plasma_curves(const PlasmaFields& fields, const PlasmaOptions& options,
                                      const PlasmaUnits& units, int axis) {
  return field_curves(fields.electric[static_cast<std::size_t>(axis)], options.cells, options.dimensions, axis,
                      units.length().file, units.electric_field().file);
}

std::vector<StateMap> plasma_maps(const PlasmaFields& fields, const PlasmaOptions& options, const PlasmaUnits& units) {
  const std::array<double, 2> spacing{units.length().file, units.length().file};
  const auto in_file = [](std::vector<double> values, double factor) {
    for (double& value : values) value *= factor;
    return values;
  };
  return {state_map("charge density", charge_density_unit_name(units),
                    in_file(fields.density, units.charge_density().file), options.cells, spacing),
          state_map("|E|", electric_field_unit_name(units),
                    in_file(lengths_of(fields.electric), units.electric_field().file), options.cells, spacing)};
}

}  // namespace pergola

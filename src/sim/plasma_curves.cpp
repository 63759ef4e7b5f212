// Curves and maps of the fields of a plasma.
#include "sim/plasma_curves.hpp"
#include "analysis/mode_recorder.hpp"
#include "physics/green.hpp"
#include "plasma/units.hpp"

#include <fmt/core.h>

#include <complex>
#include <cstddef>

namespace pergola {

namespace {

/// Sums over the other axes; all values of a field are added in their order.
class SumsAlong {
 public:
  SumsAlong(const std::array<int, 3>& cells, std::size_t axis) : sums_(static_cast<std::size_t>(cells[axis]), 0.0) {
    for (std::size_t before = 0; before < axis; ++before) stride_ *= static_cast<std::size_t>(cells[before]);
    for (const int n : cells) cells_ *= n;
  }
  void add(std::int64_t first, const std::vector<double>& values) {
    for (std::size_t k = 0; k < values.size(); ++k)
      sums_[(static_cast<std::size_t>(first) + k) / stride_ % sums_.size()] += values[k];
  }
  std::vector<double> means() const {
    std::vector<double> means = sums_;
    for (double& value : means) value *= static_cast<double>(sums_.size()) / cells_;
    return means;
  }

 private:
  std::vector<double> sums_;
  std::size_t stride_ = 1;
  double cells_ = 1;
};

}  // namespace

std::vector<StateCurve> field_curves(const FieldLayers& field, const std::array<int, 3>& cells, int dimensions,
                                     int axis, double length, double strength) {
  const auto along = static_cast<std::size_t>(axis);
  const char name = "xyz"[along];
  SumsAlong sums(cells, along);
  ModeRecorder modes(dimensions, cells, {1, 0, 0});
  std::vector<double> of_modes = modes.no_sums();
  field([&](std::int64_t first, const std::vector<double>& values) {
    sums.add(first, values);
    modes.add(first / cells[0], values, of_modes);
  });
  modes.record_sums(0, of_modes);

  StateCurve profile{.title = fmt::format("E{0}({0})", name), .x = {}, .y = {}};
  for (const double value : sums.means()) {
    profile.x.push_back(static_cast<double>(profile.x.size()) * length);
    profile.y.push_back(value * strength);
  }

  StateCurve spectrum{
      .title = fmt::format("E{0} by k{0}", name), .look = StateCurve::Look::logarithmic, .x = {}, .y = {}};
  const double longest = physics::wave_number(1, cells[along] * length);
  for (int mode = 1; mode <= modes.modes(axis); ++mode) {
    const double modes_of_wave = 2 * mode == cells[along] ? 1 : 2;  // m and −m
    spectrum.x.push_back(longest * mode);
    spectrum.y.push_back(modes_of_wave * std::abs(modes.series(axis, mode).front()) * strength);
  }
  return {profile, spectrum};
}

std::vector<StateCurve> plasma_curves(const FieldLayers& electric, const PlasmaOptions& options,
                                      const PlasmaUnits& units, int axis) {
  return field_curves(electric, options.cells, options.dimensions, axis, units.length().file,
                      units.electric_field().file);
}

std::vector<StateMap> plasma_maps(const FieldLayers& density, const FieldLayers& strength, const PlasmaOptions& options,
                                  const PlasmaUnits& units) {
  const std::array<double, 2> spacing{units.length().file, units.length().file};
  return {
      state_map("charge density", charge_density_unit_name(units), density, units.charge_density().file, options.cells,
                spacing),
      state_map("|E|", electric_field_unit_name(units), strength, units.electric_field().file, options.cells, spacing)};
}

}  // namespace pergola

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/plasma_velocities.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/plasma_dispersion.hpp"

namespace pergola {

namespace {

constexpr std::int64_t usual_bins = 100;

std::size_t axis_of(const AnalysisOptions& options) { return static_cast<std::size_t>(options.axis[0] - 'x'); }

/// As asked for, or from the slowest to the fastest.
std::pair<double, double> range_of(const AnalysisPlasma& plasma, const AnalysisOptions& options) {
  double low = options.low, high = options.high;
  if (low == 0 && high == 0) {
    low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& species : plasma.species) {
      const auto [least, most] =
          std::minmax_element(species.velocity[axis_of(options)].begin(), species.velocity[axis_of(options)].end());
      low = std::min(low, *least), high = std::max(high, *most);
    }
    if (low == high)
      throw Error(ErrorKind::input,
                  fmt::format("{}: --axis: expected velocities that differ along {}, found {} for all", plasma.name,
                              options.axis, to_text(low)));
  }
  if (!(high > low))
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected from < to, found {} and {}", to_text(low), to_text(high)));
  return {low, high};
}

void add_species(const AnalysisPlasma& plasma, const AnalysisSpecies& species, const AnalysisOptions& options,
                 const std::vector<VelocityBin>& bins, Table& table, Figure& figure, const std::string& name) {
  const std::size_t axis = axis_of(options);
  const VelocityMoments moments = velocity_moments(species);
  const double thermal = std::sqrt(moments.variance[axis]);
  const std::string per_velocity = plasma.velocity_unit.empty() ? "" : fmt::format("1/({})", plasma.velocity_unit);
  FigureLine measured{name, {}, {}}, theory{"", {}, {}};
  theory.dashed = true;
  for (const VelocityBin& bin : bins) {
    const double middle = (bin.low + bin.high) / 2;
    const double maxwell = thermal > 0 ? physics::maxwellian(middle, moments.mean[axis], thermal)
                                       : std::numeric_limits<double>::quiet_NaN();
    table.add("time", plasma.time_unit, plasma.time);
    table.add_word("species", species.name);
    table.add("v_low", plasma.velocity_unit, bin.low);
    table.add("v_high", plasma.velocity_unit, bin.high);
    table.add("particles", "", static_cast<double>(bin.particles));
    table.add("f", per_velocity, bin.density);
    table.add("error", per_velocity, bin.error);
    table.add("maxwellian", per_velocity, maxwell);
    measured.x.push_back(middle), measured.y.push_back(bin.density);
    if (thermal > 0) theory.x.push_back(middle), theory.y.push_back(maxwell);
  }
  figure.lines.push_back(std::move(measured));
  if (thermal > 0) figure.lines.push_back(std::move(theory));
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
  AnalysisResult result;
  Figure figure{"Distribution of velocities", fmt::format("v_{{{}}}", options.axis), "", "f", "", false, false, {}};
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisPlasma plasma = chosen_species(files.plasma(k), options);
    const auto [low, high] = range_of(plasma, options);
    figure.x_unit = plasma.velocity_unit;
    figure.y_unit = plasma.velocity_unit.empty() ? "" : fmt::format("1/({})", plasma.velocity_unit);
    std::int64_t inside = 0;
    for (const auto& species : plasma.species) {
      const auto bins =
          velocity_bins(species, axis_of(options), low, high, options.bins > 0 ? options.bins : usual_bins);
      for (const auto& bin : bins) inside += bin.particles;
      add_species(plasma, species, options, bins, result.table, figure,
                  files.names.size() > 1 ? fmt::format("{}, {}", species.name, plasma.moment) : species.name);
    }
    if (inside == 0)
      throw Error(ErrorKind::input, fmt::format("{}: expected particles with velocities from {} to {}, found none",
                                                plasma.name, to_text(low), to_text(high)));
  }
  result.figures.push_back(figure);
  return result;
}

Key<AnalysisOptions> axis_key() {
  return word_option<AnalysisOptions>(
      "axis", "component of the velocity: x, y or z", {"x", "y", "z"},
      [](auto& options) -> auto& { return options.axis; });
}

}  // namespace

AnalysisEntry distribution_entry() {
  return {.name = "distribution",
          .help = "Distribution function of one component of the velocity, of each species of a plasma",
          .details =
              "One line per species and bin. Columns: time, species, v_low, v_high, particles (in the file), f (part "
              "of the species per velocity: its integral is 1) with its counting error, maxwellian (Maxwell's "
              "distribution with the mean and the variance of the species, in the middle of the bin).",
          .example = "two-stream/plasma_007.h5 --axis x --bins 80 -o f.csv --plot f.png",
          .needs = AnalysisNeeds::plasma,
          .span = AnalysisSpan::last_moment,
          .keys = {axis_key(), bins_key(usual_bins), low_key("lowest velocity; --from and --to 0: that of the slowest"),
                   high_key("highest velocity; --from and --to 0: that of the fastest"), plasma_species_key()},
          .analyze = analyze};
}

}  // namespace pergola

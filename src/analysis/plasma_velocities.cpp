#include "analysis/plasma_velocities.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/plasma_dispersion.hpp"

// Temperatures are m times the variance of a velocity component. A distribution function is the weighted number per bin
// over the total weight and the width of the bin; its error comes from the sum of squared weights.
namespace pergola {

// Species of a plasma have names of their own; those without particles are dropped first.
AnalysisPlasma chosen_species(AnalysisPlasma plasma, const AnalysisOptions& options) {
  std::erase_if(plasma.species, [](const AnalysisSpecies& species) { return species.weight.empty(); });
  if (plasma.species.empty())
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", plasma.name));
  if (options.species == "all") return plasma;
  std::vector<std::string> known;
  for (const auto& species : plasma.species) known.push_back(species.name);
  std::vector<AnalysisSpecies> chosen;
  for (const auto& name : split_names(options.species)) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      const std::string near = nearest_name(name, known);
      throw Error(ErrorKind::input, fmt::format("{}: --species: expected all or some of {}, found {}{}", plasma.name,
                                                fmt::join(known, ", "), name,
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    chosen.push_back(plasma.species[static_cast<std::size_t>(found - known.begin())]);
  }
  plasma.species = std::move(chosen);
  return plasma;
}

// Weighted mean and variance of each velocity component. Two passes, so that a drift costs no digits.
VelocityMoments velocity_moments(const AnalysisSpecies& species) {
  const auto& weight = species.weight;
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  VelocityMoments moments;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto& v = species.velocity[axis];
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += weight[i] * v[i];
    const double mean = sum / all;
    for (std::size_t i = 0; i < v.size(); ++i) squares += weight[i] * (v[i] - mean) * (v[i] - mean);
    moments.mean[axis] = mean;
    moments.variance[axis] = squares / all;
  }
  return moments;
}

// Equal widths; velocities outside of the range are not counted, but belong to the total weight.
std::vector<VelocityBin> velocity_bins(const AnalysisSpecies& species, std::size_t axis, double low, double high,
                                       std::int64_t bins) {
  const auto& weight = species.weight;
  const auto& v = species.velocity[axis];
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  const double width = (high - low) / static_cast<double>(bins);
  std::vector<VelocityBin> found(static_cast<std::size_t>(bins));
  for (std::size_t k = 0; k < found.size(); ++k) {
    found[k].low = low + static_cast<double>(k) * width;
    found[k].high = k + 1 == found.size() ? high : low + static_cast<double>(k + 1) * width;
  }
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!(v[i] >= low && v[i] <= high)) continue;
    const auto place = std::min(static_cast<std::int64_t>((v[i] - low) / width), bins - 1);
    VelocityBin& bin = found[static_cast<std::size_t>(place)];
    ++bin.particles;
    bin.density += weight[i];
    bin.error += weight[i] * weight[i];
  }
  for (VelocityBin& bin : found) {
    bin.density /= all * width;
    bin.error = std::sqrt(bin.error) / (all * width);
  }
  return found;
}

// Names are checked against the file, not when the key is read.
Key<AnalysisOptions> plasma_species_key() {
  Key<AnalysisOptions> key = species_key();
  key.help = "of these species only, by the names in the file, with commas between; or all";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return KeyProblem{"names such as electrons,ions", {}};
    options.species = *text;
    return std::nullopt;
  };
  return key;
}

namespace {

constexpr const char* axis_names[] = {"x", "y", "z"};

/// Adds a line. Returns the mean temperature over the axes along which particles move.
double add_line(const AnalysisPlasma& plasma, const AnalysisSpecies& species, Table& table) {
  const VelocityMoments moments = velocity_moments(species);
  double sum = 0;
  int moving = 0;
  table.add("time", plasma.time_unit, plasma.time);
  table.add_word("species", species.name);
  table.add("particles", "", static_cast<double>(species.weight.size()));
  for (std::size_t k = 0; k < 3; ++k)
    table.add(fmt::format("drift_{}", axis_names[k]), plasma.velocity_unit, moments.mean[k]);
  for (std::size_t k = 0; k < 3; ++k) {
    const double temperature = physics::kinetic_temperature(species.mass, moments.variance[k]);
    table.add(fmt::format("T_{}", axis_names[k]), plasma.temperature_unit, temperature);
    if (temperature > 0) sum += temperature, ++moving;
  }
  const double mean = moving > 0 ? sum / moving : 0;
  table.add("T", plasma.temperature_unit, mean);
  return mean;
}

/// The line of a species, made with its first file.
FigureLine& line_of(Figure& figure, const std::string& name) {
  for (auto& line : figure.lines)
    if (line.name == name) return line;
  figure.lines.push_back({name, {}, {}});
  return figure.lines.back();
}

/// Through time: one line of the figure per species.
AnalysisResult analyze_temperatures(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
  AnalysisResult result;
  Figure figure{"Temperatures", "time", "", "T", "", false, false, {}};
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisPlasma plasma = chosen_species(files.plasma(k), options);
    figure.x_unit = plasma.time_unit, figure.y_unit = plasma.temperature_unit;
    for (const auto& species : plasma.species) {
      const double temperature = add_line(plasma, species, result.table);
      FigureLine& line = line_of(figure, species.name);
      line.x.push_back(plasma.time), line.y.push_back(temperature);
      line.points = line.x.size() == 1;
    }
  }
  for (const auto& line : figure.lines)
    result.findings.push_back({fmt::format("T of {} at the end", line.name), figure.y_unit, line.y.back()});
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry temperatures_entry() {
  return {.name = "temperatures",
          .help = "Temperatures and drifts of a plasma's species through time",
          .details =
              "One line per file and species. Columns: time, species, particles (in the file), drift_x, drift_y, "
              "drift_z (mean velocity), T_x, T_y, T_z (m times the variance of that component of the velocity: also "
              "of waves and beams within a species), T (their mean over the axes along which particles move). In eV "
              "where the file is in SI, else in m_e times the unit of velocity squared, as plasma.species has it.",
          .example = "two-stream -o temperatures.csv --plot temperatures.png",
          .needs = AnalysisNeeds::plasma,
          .span = AnalysisSpan::through_time,
          .keys = {plasma_species_key()},
          .analyze = analyze_temperatures};
}

namespace {

constexpr std::int64_t usual_velocity_bins = 100;

/// The option is checked to be x, y or z.
std::size_t axis_of(const AnalysisOptions& options) { return static_cast<std::size_t>(options.axis[0] - 'x'); }

/// The range from the options, else from the slowest to the fastest particle.
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

/// One row per bin, and the measured and the Maxwellian line in the figure.
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
    const double maxwell =
        thermal > 0 ? physics::mean_maxwellian(bin.low, bin.high, moments.mean[axis], thermal) : not_known;
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

AnalysisResult analyze_distribution(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
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
          velocity_bins(species, axis_of(options), low, high, options.bins > 0 ? options.bins : usual_velocity_bins);
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
              "distribution with the mean and the variance of the species, its mean over the bin).",
          .example = "two-stream/plasma_000700.h5 --axis x --bins 80 -o f.csv --plot f.png",
          .needs = AnalysisNeeds::plasma,
          .span = AnalysisSpan::last_moment,
          .keys = {axis_key(), bins_key(usual_velocity_bins),
                   low_key("lowest velocity; --from and --to 0: that of the slowest"),
                   high_key("highest velocity; --from and --to 0: that of the fastest"), plasma_species_key()},
          .analyze = analyze_distribution};
}

}  // namespace pergola

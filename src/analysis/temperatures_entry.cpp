#include <fmt/core.h>

#include "analysis/analysis.hpp"
#include "analysis/plasma_velocities.hpp"
#include "physics/plasma_dispersion.hpp"

namespace pergola {

namespace {

constexpr const char* axes[] = {"x", "y", "z"};

/// One line of the table; the temperature over all axes along which the particles move.
double add_line(const AnalysisPlasma& plasma, const AnalysisSpecies& species, Table& table) {
  const VelocityMoments moments = velocity_moments(species);
  double sum = 0;
  int moving = 0;
  table.add("time", plasma.time_unit, plasma.time);
  table.add_word("species", species.name);
  table.add("particles", "", static_cast<double>(species.weight.size()));
  for (std::size_t k = 0; k < 3; ++k)
    table.add(fmt::format("drift_{}", axes[k]), plasma.velocity_unit, moments.mean[k]);
  for (std::size_t k = 0; k < 3; ++k) {
    const double temperature = physics::kinetic_temperature(species.mass, moments.variance[k]);
    table.add(fmt::format("T_{}", axes[k]), plasma.temperature_unit, temperature);
    if (temperature > 0) sum += temperature, ++moving;
  }
  const double mean = moving > 0 ? sum / moving : 0;
  table.add("T", plasma.temperature_unit, mean);
  return mean;
}

FigureLine& line_of(Figure& figure, const std::string& name) {
  for (auto& line : figure.lines)
    if (line.name == name) return line;
  figure.lines.push_back({name, {}, {}});
  return figure.lines.back();
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
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
          .analyze = analyze};
}

}  // namespace pergola

#include <fmt/core.h>

#include <array>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/radii.hpp"

namespace pergola {

namespace {

/// The system at one file, as a line of the table.
void add_moment(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device, Table& table) {
  const SystemCenter center = find_center(snapshot, options, device);
  const std::vector<double> fractions(lagrangian_fractions.begin(), lagrangian_fractions.end());
  Particles about = snapshot.particles;  // in a periodic box the images nearest to the centre
  for (std::size_t i = 0; i < about.id.size(); ++i) {
    const Vec3<double> d = place_from(snapshot, i, center.place);
    about.x[i] = d.x, about.y[i] = d.y, about.z[i] = d.z;
  }
  const auto radii = lagrangian_radii(about, {0, 0, 0}, fractions);
  const AnalysisUnits& units = snapshot.units;
  table.add("time", units.time, snapshot.time);
  for (std::size_t k = 0; k < radii.size(); ++k)
    table.add(lagrangian_column(lagrangian_fractions[k]), units.length, radii[k]);
  table.add("center_x", units.length, center.place.x);
  table.add("center_y", units.length, center.place.y);
  table.add("center_z", units.length, center.place.z);
  table.add("particles", "", static_cast<double>(snapshot.particles.size()));
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    add_moment(snapshot, options, device, result.table);
    units = snapshot.units;
  }
  result.findings.push_back({"center", "", options.center});
  const Table& table = result.table;
  result.findings.push_back({"half-mass radius at the end", units.length, table.numbers("r50").back()});
  Figure figure{"Lagrangian radii", "time", units.time, "radius", units.length, false, true, {}};
  for (const double fraction : lagrangian_fractions)
    figure.lines.push_back({fmt::format("{:g} %", 100 * fraction), table.numbers("time"),
                            table.numbers(lagrangian_column(fraction)), table.rows() == 1});
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry radii_entry() {
  return {.name = "radii",
          .help = "Lagrangian radii and the half-mass radius through time",
          .details =
              "Columns: time; r1, r5, r10, r25, r50 (the half-mass radius), r75, r90: the radii that hold so "
              "many per cent of the mass; the centre that they are about; the number of particles.",
          .example = "cluster -o radii.csv --plot radii.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::through_time,
          .keys = {center_key(), species_key(), softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/radii.hpp"

namespace pergola {

namespace {

/// Of the particles of all ranks; those of `own` are gone then.
std::vector<double> radii_about(const Vec3<double>& center, AnalysisSnapshot& own, Communicator& ranks) {
  const Particles& p = own.particles;
  std::vector<SeenMass> seen;
  seen.reserve(p.id.size());
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const Vec3<double> d = place_from(own, i, center);  // in a periodic box of the image nearest to the centre
    seen.push_back({{std::sqrt(dot(d, d)), p.id[i]}, p.mass[i]});
  }
  own.particles = {};
  return lagrangian_radii(std::move(seen), {lagrangian_fractions.begin(), lagrangian_fractions.end()}, ranks);
}

/// The system at one file, as a line of the table.
void add_moment(AnalysisSnapshot own, const AnalysisOptions& options, const Device& device,
                const std::shared_ptr<Communicator>& ranks, Table& table) {
  std::int64_t count = own.particles.size();
  ranks->all_reduce(&count, 1, Reduction::sum);
  const Vec3<double> center = place_of_center(own, options, device, ranks);
  const auto radii = radii_about(center, own, *ranks);
  const AnalysisUnits& units = own.units;
  table.add("time", units.time, own.time);
  for (std::size_t k = 0; k < radii.size(); ++k)
    table.add(lagrangian_column(lagrangian_fractions[k]), units.length, radii[k]);
  table.add("center_x", units.length, center.x);
  table.add("center_y", units.length, center.y);
  table.add("center_z", units.length, center.z);
  table.add("particles", "", static_cast<double>(count));
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    AnalysisSnapshot own = chosen_species(files.snapshot(k), options, files.ranks);
    units = own.units;
    add_moment(std::move(own), options, device, files.ranks, result.table);
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
          .by_ranks = true,
          .keys = {center_key(), species_key(), softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

#include <fmt/core.h>

#include <array>
#include <map>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/hierarchy.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

constexpr std::int64_t most_bodies = 50000;

void add_pair(const AnalysisSnapshot& snapshot, const BoundPair& pair, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  table.add("time", units.time, snapshot.time);
  table.add("level", "", pair.level);
  table.add_word("first", pair.first);
  table.add_word("second", pair.second);
  table.add("mass_1", units.mass, pair.mass_1);
  table.add("mass_2", units.mass, pair.mass_2);
  table.add("semi_major_axis", units.length, pair.orbit.semi_major_axis);
  table.add("eccentricity", "", pair.orbit.eccentricity);
  table.add("inclination", "rad", pair.angles.inclination);
  table.add("node", "rad", pair.angles.node);
  table.add("pericentre", "rad", pair.angles.pericentre);
  table.add("true_anomaly", "rad", pair.angles.true_anomaly);
  table.add("period", units.time, pair.orbit.period);
  table.add("distance", units.length, pair.distance);
  table.add("binding_energy", units.mass.empty() ? "" : fmt::format("{} ({})^2", units.mass, units.velocity),
            pair.binding_energy);
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
  AnalysisResult result;
  AnalysisUnits units;
  std::map<std::string, std::array<std::vector<double>, 3>> paths;  // time, axis, eccentricity
  std::size_t last = 0;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    if (snapshot.particles.size() > most_bodies)
      throw Error(ErrorKind::input, fmt::format("{}: expected at most {} particles to search for bound pairs, found {}",
                                                snapshot.name, most_bodies, snapshot.particles.size()));
    const auto pairs = bound_hierarchy(snapshot.particles, snapshot.gravitational_constant);
    for (const BoundPair& pair : pairs) {
      add_pair(snapshot, pair, result.table);
      auto& path = paths[fmt::format("{}-{}", pair.first, pair.second)];
      path[0].push_back(snapshot.time);
      path[1].push_back(pair.orbit.semi_major_axis);
      path[2].push_back(pair.orbit.eccentricity);
    }
    last = pairs.size();
    units = snapshot.units;
  }
  if (result.table.rows() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: expected at least one bound pair, found none", files.names.back()));
  result.findings.push_back({"bound pairs at the end", "", static_cast<double>(last)});
  Figure axes{"Semi-major axes", "time", units.time, "semi-major axis", units.length, false, true, {}};
  Figure eccentricities{"Eccentricities", "time", units.time, "eccentricity", "", false, false, {}};
  for (const auto& [name, path] : paths) {
    const bool points = path[0].size() == 1;
    axes.lines.push_back({name, path[0], path[1], points});
    eccentricities.lines.push_back({name, path[0], path[2], points});
  }
  result.figures = {axes, eccentricities};
  return result;
}

}  // namespace

AnalysisEntry orbits_entry() {
  return {.name = "orbits",
          .help = "Orbital elements of binaries, and of pairs of pairs, through time",
          .details =
              "One line per bound pair and file. The tightest two bodies that are each other's closest partner "
              "become one, and so on: level 1 are two particles, 2 and more have such pairs in them. Of more "
              "than 100 bodies only pairs count whose apocentre no third body is within. Columns: time, level, "
              "first, second (ids), masses, semi_major_axis, eccentricity, inclination, node, pericentre, "
              "true_anomaly (radians; about z), period, distance, binding_energy.",
          .example = "kepler -o orbits.csv --plot orbits.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::through_time,
          .keys = {species_key()},
          .analyze = analyze};
}

}  // namespace pergola

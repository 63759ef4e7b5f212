#include <fmt/core.h>

#include "analysis/centers.hpp"
#include "analysis/found_groups.hpp"
#include "analysis/group_properties.hpp"
#include "analysis/spread_groups.hpp"

namespace pergola {

namespace {

void add_groups(const AnalysisSnapshot& snapshot, const std::vector<GroupProperties>& groups, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  double number = 0;
  for (const GroupProperties& group : groups) {
    table.add("time", units.time, snapshot.time);
    table.add("group", "", ++number);
    table.add("particles", "", static_cast<double>(group.particles));
    table.add("mass", units.mass, group.mass);
    table.add("x", units.length, group.center.x);
    table.add("y", units.length, group.center.y);
    table.add("z", units.length, group.center.z);
    table.add("vx", units.velocity, group.velocity.x);
    table.add("vy", units.velocity, group.velocity.y);
    table.add("vz", units.velocity, group.velocity.z);
    table.add("dispersion", units.velocity, group.dispersion);
    table.add("m200m", units.mass, group.m200m);
    table.add("r200m", units.length, group.r200m);
    table.add("m200c", units.mass, group.m200c);
    table.add("r200c", units.length, group.r200c);
    table.add("vmax", units.velocity, group.peak_speed);
    table.add("spin", "", group.spin);
    table.add("concentration", "", group.concentration);
  }
}

/// Columns of a table without groups: it has its names all the same.
Table empty_table(const AnalysisUnits& units) {
  Table table;
  AnalysisSnapshot nothing;
  nothing.units = units;
  add_groups(nothing, {GroupProperties{}}, table);
  for (auto& column : table.columns) column.values = std::vector<double>();
  return table;
}

/// Groups of a snapshot, of which the particles are left out.
struct MeasuredGroups {
  AnalysisSnapshot frame;
  double length = 0;  // that links friends
  std::vector<GroupProperties> groups;
};

MeasuredGroups measure(const AnalysisFiles& files, std::size_t number, const AnalysisOptions& options,
                       const Device& device) {
  AnalysisSnapshot snapshot = files.snapshot(number);
  if (files.ranks->size() > 1) {
    SpreadGroups spread(files.ranks, std::move(snapshot), options, device);
    return {spread.frame(), spread.length(), spread.properties(0, spread.count())};
  }
  MeasuredGroups measured{frame_of(snapshot), 0, {}};
  const ChosenParticles particles(std::move(snapshot), options);
  const FoundGroups found(particles.chosen(), options, device);
  measured.length = found.length();
  measured.groups = found.properties(particles.all(), 0, found.count());
  return measured;
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Figure figure{"Groups", "rank", "", "mass", "", true, true, {}};
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const auto [snapshot, length, groups] = measure(files, k, options, device);
    if (k == 0) result.table = empty_table(snapshot.units);
    add_groups(snapshot, groups, result.table);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "", {}, {}, true};
    for (const GroupProperties& group : groups)
      line.x.push_back(static_cast<double>(line.x.size() + 1)), line.y.push_back(group.mass);
    figure.lines.push_back(line);
    figure.y_unit = snapshot.units.mass;
    result.findings.push_back({"linking length", snapshot.units.length, length});
    result.findings.push_back({"groups", "", static_cast<double>(groups.size())});
  }
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry groups_entry() {
  auto keys = group_keys();
  keys.push_back(species_key());
  return {.name = "groups",
          .help = "Friends-of-friends groups: masses, M200, centres, velocities, spin, concentration",
          .details =
              "One line per group, the largest first. Columns: time, group, particles, mass (of the members), x, y, "
              "z (the member with the lowest potential in the field of the members), vx, vy, vz (mean), "
              "dispersion (of one component), m200m and r200m (the sphere of all particles about the centre with "
              "200 times the mean density of the box), m200c and r200c (200 times the critical density, where the "
              "file knows its cosmology), and of this last sphere vmax (the largest circular speed), spin (J over "
              "sqrt(2) M V R, Bullock et al. 2001) and concentration (of the halo of Navarro, Frenk & White with this "
              "vmax over the circular speed at r200c). In a cosmological file lengths are comoving and velocities "
              "peculiar, a dx/dt. What cannot be known is nan. The same for any order of the particles and any number "
              "of threads and ranks.",
          .example = "box.hdf5 --linking 0.2 --least 32 -o groups.csv",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .periodic_only = true,
          .by_ranks = true,
          .keys = keys,
          .analyze = analyze};
}

}  // namespace pergola

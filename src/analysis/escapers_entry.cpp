#include <fmt/core.h>

#include <numeric>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/escapers.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

void add_moment(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device, Table& table) {
  if (snapshot.particles.size() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", snapshot.name));
  if (snapshot.box.periodic())
    throw Error(
        ErrorKind::input,
        fmt::format("{}: is a periodic box, which nobody escapes from; expected an isolated system", snapshot.name));
  const double a = snapshot.universe ? snapshot.universe->scale_factor : 1;
  const AnalysisSnapshot proper = in_proper_lengths(snapshot);
  const Escapers found = find_escapers(proper, potentials_in(proper, a * options.softening, device));
  const AnalysisUnits& units = snapshot.units;
  const auto& masses = snapshot.particles.mass;
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  table.add("time", units.time, snapshot.time);
  table.add("escapers", "", static_cast<double>(found.count));
  table.add("mass", units.mass, found.mass);
  table.add("mass_fraction", "", total > 0 ? found.mass / total : 0);
  table.add("kinetic_energy", units.mass.empty() ? "" : fmt::format("{} ({})^2", units.mass, units.velocity),
            found.kinetic_energy);
  table.add("fastest", units.velocity, found.fastest);
  table.add("particles", "", static_cast<double>(snapshot.particles.size()));
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = files.snapshot(k);
    add_moment(snapshot, options, device, result.table);
    units = snapshot.units;
  }
  const Table& table = result.table;
  result.findings.push_back({"escapers at the end", "", table.numbers("escapers").back()});
  result.figures = {{"Mass that escapes",
                     "time",
                     units.time,
                     "part of the mass",
                     "",
                     false,
                     false,
                     {{"", table.numbers("time"), table.numbers("mass_fraction"), table.rows() == 1}}}};
  return result;
}

}  // namespace

AnalysisEntry escapers_entry() {
  return {.name = "escapers",
          .help = "Particles that leave the system: number, mass and energy through time",
          .details =
              "A particle escapes where its kinetic energy, in the frame of those that stay, exceeds what its "
              "potential holds back; wherever it is now. Potentials are those of the file, or computed with "
              "--softening; of a file of an expanding universe all are taken in proper lengths, with the expansion in "
              "the velocities. Columns: time, escapers, mass, mass_fraction, kinetic_energy, fastest, particles.",
          .example = "cluster -o escapers.csv --plot escapers.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::through_time,
          .keys = {softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

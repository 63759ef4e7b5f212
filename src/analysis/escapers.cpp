// Escapers: particles whose energy in the frame of the remaining particles is positive. The frame depends on which
// particles remain, so that it is found by rounds: mean velocity of the remaining ones, then who is fast enough in that
// frame, until nothing changes (at most 50 rounds). Sums run in the order of ids.
#include "analysis/escapers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

/// The order of ids, so that sums do not depend on the order of a file.
std::vector<std::size_t> order_by_id(const Particles& p) {
  std::vector<std::size_t> order(p.id.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p.id[a] < p.id[b]; });
  return order;
}

}  // namespace

// Comoving lengths times the scale factor a, velocities with the expansion H r added, potentials over a.
AnalysisSnapshot in_proper_lengths(AnalysisSnapshot snapshot) {
  if (!snapshot.universe) return snapshot;
  const AnalysisUniverse& universe = *snapshot.universe;
  const double a = universe.scale_factor, rate = universe.cosmology.background(universe.hubble).rate(a);
  Particles& p = snapshot.particles;
  for (const auto& [place, velocity] : {std::pair{&p.x, &p.vx}, std::pair{&p.y, &p.vy}, std::pair{&p.z, &p.vz}})
    for (std::size_t i = 0; i < place->size(); ++i) {
      (*place)[i] *= a;
      (*velocity)[i] += rate * (*place)[i];
    }
  for (double& potential : p.potential) potential /= a;
  snapshot.universe.reset();
  return snapshot;
}

// `potential`: per unit mass, of each particle in the field of all others.
Escapers find_escapers(const AnalysisSnapshot& snapshot, const std::vector<double>& potential) {
  constexpr int most_rounds = 50;
  const Particles& p = snapshot.particles;
  const auto order = order_by_id(p);
  Escapers found;
  found.escapes.assign(p.id.size(), false);
  for (int round = 0; round < most_rounds; ++round) {
    Vec3<double> sum{0, 0, 0};
    double mass = 0;
    for (const std::size_t i : order)
      if (!found.escapes[i]) sum = sum + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]}, mass += p.mass[i];
    if (!(mass > 0)) break;
    found.velocity = (1 / mass) * sum;
    std::vector<bool> now(p.id.size());
    for (const std::size_t i : order) {
      const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - found.velocity;
      now[i] = dot(v, v) / 2 + potential[i] > 0;
    }
    if (now == found.escapes) break;
    found.escapes = std::move(now);
  }
  for (const std::size_t i : order) {
    if (!found.escapes[i]) continue;
    const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - found.velocity;
    ++found.count;
    found.mass += p.mass[i];
    found.kinetic_energy += p.mass[i] * dot(v, v) / 2;
    found.fastest = std::max(found.fastest, std::sqrt(dot(v, v)));
  }
  return found;
}

namespace {

/// One row: the escapers of a snapshot, in proper lengths.
void add_escapers(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                  Table& table) {
  if (snapshot.particles.size() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", snapshot.name));
  if (snapshot.box.periodic())
    throw Error(
        ErrorKind::input,
        fmt::format("{}: is a periodic box, which no particle leaves; expected an isolated system", snapshot.name));
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

AnalysisResult analyze_escapers(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = files.snapshot(k);
    add_escapers(snapshot, options, device, result.table);
    units = snapshot.units;
  }
  const Table& table = result.table;
  result.findings.push_back({"escapers at the end", "", table.numbers("escapers").back()});
  result.figures.push_back({"Mass that escapes", "time", units.time, "part of the mass", "", false, false, {}});
  result.figures[0].lines = {{"", table.numbers("time"), table.numbers("mass_fraction"), table.rows() == 1}};
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
          .analyze = analyze_escapers};
}

}  // namespace pergola

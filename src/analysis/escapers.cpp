// Escapers: particles whose energy in the frame of the remaining particles is positive, or above that of the Lagrange
// points in the tide of a field that they go about. The frame depends on which particles remain, so that it is found by
// rounds: mean velocity of the remaining ones, then who is fast enough in that frame, until nothing changes (at most 50
// rounds). Sums run in the order of ids.
#include "analysis/escapers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "gravity/external.hpp"
#include "physics/tide.hpp"

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

namespace {

/// The bound particles as one body.
struct BoundBody {
  Vec3<double> place{0, 0, 0}, velocity{0, 0, 0};
  double mass = 0;
};

BoundBody bound_body(const Particles& p, const std::vector<std::size_t>& order, const std::vector<bool>& escapes) {
  BoundBody body;
  for (const std::size_t i : order) {
    if (escapes[i]) continue;
    body.velocity = body.velocity + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]}, body.mass += p.mass[i];
    body.place = body.place + p.mass[i] * Vec3<double>{p.x[i], p.y[i], p.z[i]};
  }
  if (!(body.mass > 0)) return body;
  body.velocity = (1 / body.mass) * body.velocity;
  body.place = (1 / body.mass) * body.place;
  return body;
}

/// The frame in which a round judges, and who is above the energy that binds in it.
class EscapeFrame {
 public:
  EscapeFrame(const AnalysisSnapshot& snapshot, const BoundBody& body) : snapshot_(snapshot), body_(body) {
    if (snapshot.field.empty()) return;
    begin_tide();
    if (tidal_radius_ > 0) return;
    const auto ends = [](const ExternalPotential& one) { return external_kind(one.kind).ends; };
    at_rest_ = std::all_of(snapshot.field.begin(), snapshot.field.end(), ends);
    if (at_rest_) body_.velocity = {0, 0, 0};
  }

  const Vec3<double>& velocity() const { return body_.velocity; }
  double tidal_radius() const { return tidal_radius_; }
  const char* criterion() const { return tidal_radius_ > 0 ? "jacobi" : at_rest_ ? "energy in the field" : "energy"; }

  /// `v`: relative to velocity(); `own`: its potential without the field.
  bool escapes(std::size_t i, const Vec3<double>& v, double own) const {
    if (tidal_radius_ > 0) return leaves_tide(i, v, own);
    return dot(v, v) / 2 + own + (at_rest_ ? field_at(place_of(i)).potential : 0) > 0;
  }

 private:
  Vec3<double> place_of(std::size_t i) const {
    const Particles& p = snapshot_.particles;
    return {p.x[i], p.y[i], p.z[i]};
  }
  physics::ExternalField<double> field_at(const Vec3<double>& x) const {
    return external_field_at(snapshot_.field, snapshot_.gravitational_constant, x);
  }
  /// The centre of the potential that pulls the body most.
  Vec3<double> centre_of_field() const {
    const auto pull = [this](const ExternalPotential& one) {
      const auto field = external_field_at({one}, snapshot_.gravitational_constant, body_.place);
      return dot(field.acceleration, field.acceleration);
    };
    return std::max_element(snapshot_.field.begin(), snapshot_.field.end(),
                            [&](const auto& a, const auto& b) { return pull(a) < pull(b); })
        ->centre;
  }
  /// The orbit about that centre, where there is one: the tidal radius is then smaller than the distance.
  void begin_tide() {
    const Vec3<double> from = body_.place - centre_of_field();
    const double r2 = dot(from, from), gm = snapshot_.gravitational_constant * body_.mass;
    if (!(r2 > 0)) return;
    rate_ = (1 / r2) * cross(from, body_.velocity);
    at_body_ = field_at(body_.place);
    constexpr double step = 1e-4;  // of the distance, for the second derivative of the potential
    const Vec3<double> aside = step * from;
    const Vec3<double> change = field_at(body_.place - aside).acceleration - field_at(body_.place + aside).acceleration;
    const double radius = physics::tidal_radius(gm, dot(rate_, rate_), dot(change, from) / (2 * step * r2));
    if (radius * radius < r2) tidal_radius_ = radius;
  }
  bool leaves_tide(std::size_t i, const Vec3<double>& v, double own) const {
    const Vec3<double> place = place_of(i) - body_.place;
    if (dot(place, place) > tidal_radius_ * tidal_radius_) return true;
    const double tide = field_at(place_of(i)).potential - at_body_.potential + dot(at_body_.acceleration, place);
    const double gm = snapshot_.gravitational_constant * body_.mass;
    return physics::jacobi_energy(place, v, rate_, own, tide) > physics::lagrange_energy(gm, tidal_radius_);
  }

  const AnalysisSnapshot& snapshot_;
  BoundBody body_;
  Vec3<double> rate_{0, 0, 0};
  physics::ExternalField<double> at_body_{};
  double tidal_radius_ = 0;
  bool at_rest_ = false;
};

}  // namespace

// `potential`: per unit mass, of each particle in the field of all others.
Escapers find_escapers(const AnalysisSnapshot& snapshot, const std::vector<double>& potential,
                       std::vector<bool> left_out) {
  constexpr int most_rounds = 50;
  const Particles& p = snapshot.particles;
  const auto order = order_by_id(p);
  const auto velocity_of = [&p](std::size_t i) { return Vec3<double>{p.vx[i], p.vy[i], p.vz[i]}; };
  Escapers found;
  found.escapes = std::move(left_out);
  found.escapes.resize(p.id.size(), false);
  for (int round = 0; round < most_rounds; ++round) {
    const BoundBody body = bound_body(p, order, found.escapes);
    if (!(body.mass > 0)) break;
    const EscapeFrame frame(snapshot, body);
    found.velocity = frame.velocity(), found.tidal_radius = frame.tidal_radius(), found.criterion = frame.criterion();
    std::vector<bool> now(p.id.size());
    for (const std::size_t i : order) now[i] = frame.escapes(i, velocity_of(i) - found.velocity, potential[i]);
    if (now == found.escapes) break;
    found.escapes = std::move(now);
  }
  for (const std::size_t i : order) {
    if (!found.escapes[i]) continue;
    const Vec3<double> v = velocity_of(i) - found.velocity;
    ++found.count;
    found.mass += p.mass[i];
    found.kinetic_energy += p.mass[i] * dot(v, v) / 2;
    found.fastest = std::max(found.fastest, std::sqrt(dot(v, v)));
  }
  return found;
}

namespace {

/// Those of the particles alone: those of a file hold the field too.
std::vector<double> own_potentials(const AnalysisSnapshot& snapshot, double softening, const Device& device) {
  const Particles& p = snapshot.particles;
  auto own = potentials_in(snapshot, softening, device);
  if (snapshot.field.empty() || p.potential.empty()) return own;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] -= external_field_at(snapshot.field, snapshot.gravitational_constant, {p.x[i], p.y[i], p.z[i]}).potential;
  return own;
}

/// In a field the rounds begin with the half of the particles that is nearest to the density centre: what the tide has
/// taken along the orbit would move the middle of all.
std::vector<bool> outer_half(const AnalysisSnapshot& snapshot, const Device& device) {
  std::vector<bool> outer(snapshot.particles.id.size(), false);
  if (snapshot.field.empty()) return outer;
  SeenFromCenter seen;
  find_center(snapshot, AnalysisOptions{}, device, &seen);
  for (std::size_t k = (seen.order.size() + 1) / 2; k < seen.order.size(); ++k) outer[seen.order[k]] = true;
  return outer;
}

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
  const Escapers found =
      find_escapers(proper, own_potentials(proper, a * options.softening, device), outer_half(proper, device));
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
  table.add("tidal_radius", units.length, found.tidal_radius > 0 ? found.tidal_radius : not_known);
  table.add_word("criterion", found.criterion);
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
  result.findings.push_back({"criterion", "", std::get<std::vector<std::string>>(table.columns.back().values).back()});
  result.figures.push_back({"Mass that escapes", "time", units.time, "part of the mass", "", false, false, {}});
  result.figures[0].lines = {{"", table.numbers("time"), table.numbers("mass_fraction"), table.rows() == 1}};
  return result;
}

}  // namespace

AnalysisEntry escapers_entry() {
  return {
      .name = "escapers",
      .help = "Particles that leave the system: number, mass and energy through time",
      .details =
          "A particle escapes where its kinetic energy, in the frame of those that stay, exceeds what its "
          "potential holds back; wherever it is now. Potentials are those of the file, or computed with "
          "--softening; of a file of an expanding universe all are taken in proper lengths, with the expansion in "
          "the velocities. Where the run beside the file has [[gravity.external]], their part is taken off, and the "
          "column criterion says what decides: of a system that goes about their centre \"jacobi\", its energy in "
          "the turning frame against that of the Lagrange points, and the tidal_radius; of one in their middle "
          "\"energy in the field\", if their potential ends, else \"energy\". Columns: time, escapers, mass, "
          "mass_fraction, kinetic_energy, fastest, particles, tidal_radius, criterion.",
      .example = "cluster -o escapers.csv --plot escapers.png",
      .needs = AnalysisNeeds::particles,
      .span = AnalysisSpan::through_time,
      .keys = {softening_key()},
      .analyze = analyze_escapers};
}

}  // namespace pergola

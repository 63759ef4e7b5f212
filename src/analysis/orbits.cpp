#include "analysis/orbits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "physics/separation.hpp"

// The hierarchy keeps for each body its partner with the smallest semi-major axis. After a join only bodies that lost
// their partner search again, so that the work is about N² for N bodies.
namespace pergola {

namespace {

/// Of the second body with respect to the first.
struct RelativeState {
  Vec3<double> position, velocity;
};

RelativeState relative_state(const Particles& p, std::size_t i, std::size_t j) {
  return {physics::separation<double>({p.x[i], p.y[i], p.z[i]}, {p.x[j], p.y[j], p.z[j]}),
          physics::separation<double>({p.vx[i], p.vy[i], p.vz[i]}, {p.vx[j], p.vy[j], p.vz[j]})};
}

}  // namespace

Pair pair_orbit(const Particles& particles, std::int64_t first, std::int64_t second, double gravitational_constant) {
  if (first < 0 || second < 0 || first >= particles.size() || second >= particles.size() || first == second)
    throw Error(ErrorKind::input,
                fmt::format("orbit: particles {} and {} of {} are no pair, expected two different ones", first, second,
                            particles.size()));
  const auto i = static_cast<std::size_t>(first), j = static_cast<std::size_t>(second);
  const auto [r, v] = relative_state(particles, i, j);
  const double distance = std::sqrt(dot(r, r)), mu = gravitational_constant * (particles.mass[i] + particles.mass[j]);
  if (!(distance > 0) || !(mu > 0))
    throw Error(ErrorKind::input,
                fmt::format("orbit: particles id {} and id {} {}, so they have no orbit", particles.id[i],
                            particles.id[j], mu > 0 ? "are in one place" : "have no mass"));
  return {first, second, distance,
          physics::pair_binding_energy(r, v, particles.mass[i], particles.mass[j], gravitational_constant),
          physics::orbit_elements(r, v, mu)};
}

// A sweep along x that ends early: a pair more tightly bound than `least` is closer than G m₁ m₂ / least. `least` rises
// as harder pairs are found; some more than `most` are kept, because a particle may be in several.
std::vector<Pair> hardest_pairs(const Particles& particles, double gravitational_constant, double least,
                                std::size_t most, double farthest) {
  const double heaviest = particles.size() > 0 ? *std::max_element(particles.mass.begin(), particles.mass.end()) : 0.0;
  std::vector<std::size_t> order(particles.id.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return particles.x[a] != particles.x[b] ? particles.x[a] < particles.x[b] : particles.id[a] < particles.id[b];
  });
  struct Found {
    std::size_t first, second;
    double energy;
  };
  std::vector<Found> found;  // the hardest first
  const std::size_t candidates = most > 1 ? 4 * most : most;
  for (std::size_t a = 0; a < order.size(); ++a) {
    const std::size_t i = order[a];
    const double reach = gravitational_constant * particles.mass[i] * heaviest;
    for (std::size_t b = a + 1; b < order.size(); ++b) {
      const std::size_t j = order[b];
      const double along_x = particles.x[j] - particles.x[i];
      if (along_x * least > reach || along_x > farthest) break;
      const auto [r, v] = relative_state(particles, i, j);
      if (!(dot(r, r) > 0) || dot(r, r) > farthest * farthest || particles.mass[i] * particles.mass[j] == 0) continue;
      const double energy =
          physics::pair_binding_energy(r, v, particles.mass[i], particles.mass[j], gravitational_constant);
      if (energy <= least) continue;
      const auto place =
          std::find_if(found.begin(), found.end(), [&](const Found& one) { return one.energy < energy; });
      found.insert(place, {i, j, energy});
      if (found.size() > candidates) found.pop_back();
      if (found.size() == candidates) least = found.back().energy;
    }
  }
  std::vector<Pair> pairs;
  for (const Found& one : found) {
    const auto first = static_cast<std::int64_t>(one.first), second = static_cast<std::int64_t>(one.second);
    const auto shares = [&](const Pair& pair) {
      return pair.first == first || pair.second == first || pair.first == second || pair.second == second;
    };
    if (pairs.size() < most && std::none_of(pairs.begin(), pairs.end(), shares))
      pairs.push_back(pair_orbit(particles, first, second, gravitational_constant));
  }
  return pairs;
}

std::optional<Pair> most_bound_pair(const Particles& particles, double gravitational_constant) {
  const auto pairs = hardest_pairs(particles, gravitational_constant, 0, 1);
  return pairs.empty() ? std::nullopt : std::optional(pairs[0]);
}

namespace {

constexpr std::size_t no_body = std::numeric_limits<std::size_t>::max();
constexpr double unbound = std::numeric_limits<double>::infinity();

/// A particle, or a pair that has been joined. level: 0 for a particle, else one more than that of its parts.
struct Body {
  std::string name;
  std::uint64_t lowest_id = 0;
  int level = 0;
  double mass = 0;
  Vec3<double> x, v;
  std::size_t partner = no_body;  // with the smallest semi-major axis
  double axis = unbound;
};

/// Joins bodies to pairs, the tightest first, until no pair is bound.
class Hierarchy {
 public:
  Hierarchy(const Particles& p, double g, bool crowded) : g_(g), crowded_(crowded) {
    for (std::size_t i = 0; i < p.id.size(); ++i)
      bodies_.push_back(
          {std::to_string(p.id[i]), p.id[i], 0, p.mass[i], {p.x[i], p.y[i], p.z[i]}, {p.vx[i], p.vy[i], p.vz[i]}});
    std::sort(bodies_.begin(), bodies_.end(), [](const Body& a, const Body& b) { return a.lowest_id < b.lowest_id; });
    for (std::size_t i = 0; i < bodies_.size(); ++i) find_partner(i);
  }

  std::vector<BoundPair> pairs() {
    std::vector<BoundPair> found;
    for (;;) {
      std::size_t best = no_body;
      for (std::size_t i = 0; i < bodies_.size(); ++i)
        if (is_pair(i) && (best == no_body || bodies_[i].axis < bodies_[best].axis)) best = i;
      if (best == no_body) return found;
      found.push_back(join(best, bodies_[best].partner));
    }
  }

 private:
  /// The semi-major axis; infinite if the two are not bound.
  double axis_of(const Body& a, const Body& b) const {
    const double mu = g_ * (a.mass + b.mass);
    const Vec3<double> r = b.x - a.x, v = b.v - a.v;
    const double r2 = dot(r, r);
    if (!(mu > 0) || !(r2 > 0)) return unbound;
    const double inverse = 2 / std::sqrt(r2) - dot(v, v) / mu;  // vis-viva
    return inverse > 0 ? 1 / inverse : unbound;
  }

  void find_partner(std::size_t i) {
    Body& body = bodies_[i];
    body.partner = no_body, body.axis = unbound;
    for (std::size_t j = 0; j < bodies_.size(); ++j) {
      if (j == i) continue;
      const double axis = axis_of(body, bodies_[j]);
      if (axis < body.axis) body.axis = axis, body.partner = j;
    }
  }

  /// Each is the other's partner; in a crowd no third body is near.
  bool is_pair(std::size_t i) const {
    const std::size_t j = bodies_[i].partner;
    if (j == no_body || j < i || bodies_[j].partner != i) return false;
    return !crowded_ || are_alone(i, j);
  }

  /// No third body within the apocentre of the pair.
  bool are_alone(std::size_t i, std::size_t j) const {
    const Body &a = bodies_[i], &b = bodies_[j];
    const double mass = a.mass + b.mass;
    const auto orbit = physics::orbit_elements(b.x - a.x, b.v - a.v, g_ * mass);
    const double reach = orbit.semi_major_axis * (1 + orbit.eccentricity);
    const Vec3<double> center = (1 / mass) * (a.mass * a.x + b.mass * b.x);
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      const Vec3<double> d = bodies_[k].x - center;
      if (k != i && k != j && dot(d, d) < reach * reach) return false;
    }
    return true;
  }

  /// The heavier body is the first. The pair takes the place of the body with the lower id.
  BoundPair join(std::size_t i, std::size_t j) {
    if (bodies_[j].mass > bodies_[i].mass) std::swap(i, j);  // of equal ones i has the lower id
    const Body a = bodies_[i], b = bodies_[j];
    const Vec3<double> r = b.x - a.x, v = b.v - a.v;
    const double mass = a.mass + b.mass, mu = g_ * mass;
    BoundPair pair{a.name,
                   b.name,
                   1 + std::max(a.level, b.level),
                   a.mass,
                   b.mass,
                   std::sqrt(dot(r, r)),
                   physics::pair_binding_energy(r, v, a.mass, b.mass, g_),
                   physics::orbit_elements(r, v, mu),
                   physics::orbit_angles(r, v, mu)};
    const std::size_t keep = std::min(i, j), drop = std::max(i, j);
    bodies_[keep] = {
        fmt::format("({}+{})", a.name, b.name),     std::min(a.lowest_id, b.lowest_id),        pair.level, mass,
        (1 / mass) * (a.mass * a.x + b.mass * b.x), (1 / mass) * (a.mass * a.v + b.mass * b.v)};
    bodies_.erase(bodies_.begin() + static_cast<std::ptrdiff_t>(drop));
    renew(keep, drop);
    return pair;
  }

  /// After a join: bodies that lost their partner search again, and all compare with the new body.
  void renew(std::size_t keep, std::size_t drop) {
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      Body& body = bodies_[i];
      if (i == keep || body.partner == keep || body.partner == drop) {
        find_partner(i);
        continue;
      }
      if (body.partner != no_body && body.partner > drop) --body.partner;
      if (const double axis = axis_of(body, bodies_[keep]); axis < body.axis) body.axis = axis, body.partner = keep;
    }
  }

  double g_;
  bool crowded_;
  std::vector<Body> bodies_;  // by lowest id
};

}  // namespace

std::vector<BoundPair> bound_hierarchy(const Particles& particles, double gravitational_constant, std::int64_t few) {
  return Hierarchy(particles, gravitational_constant, particles.size() > few).pairs();
}

namespace {

constexpr std::int64_t most_bodies = 50000;

/// One row per bound pair.
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

AnalysisResult analyze_orbits(const AnalysisFiles& files, const AnalysisOptions& options, const Device&) {
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
          .analyze = analyze_orbits};
}

}  // namespace pergola

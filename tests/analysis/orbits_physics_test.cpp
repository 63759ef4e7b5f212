#include "analysis/orbits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "analysis/escapers.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "models/model.hpp"

namespace pergola {
namespace {

/// Two bodies at the pericentre of an orbit with the given elements, with a common motion.
Particles at_pericenter(double a, double e, double m1, double m2, double g) {
  Particles p;
  p.resize(2);
  p.mass = {m1, m2};
  p.x = {7, 7 + a * (1 - e)};
  const double v = std::sqrt(g * (m1 + m2) / a * (1 + e) / (1 - e));
  p.vy = {-2, -2 + v * 0.6};
  p.vz = {5, 5 + v * 0.8};
  return p;
}

// Reference: Kepler's third law and the pericentre speed √(µ/a · (1+e)/(1−e)).
TEST(Orbit, ElementsAreThoseItWasBuiltFrom) {
  for (const double e : {0.0, 0.5, 0.9, 0.999}) {
    const double a = 2.5, m1 = 0.3, m2 = 1.7, g = 4.0;
    const auto pair = pair_orbit(at_pericenter(a, e, m1, m2, g), 0, 1, g);
    // Positions near 7 are rounded to 1e-15 of which the pericentre a (1 − e) is a small part.
    const double rounding = 1e-14 / ((1 - e) * (1 - e));
    EXPECT_NEAR(pair.orbit.semi_major_axis, a, rounding) << e;
    EXPECT_NEAR(pair.orbit.eccentricity, e, rounding) << e;
    EXPECT_NEAR(pair.orbit.period, 2 * std::numbers::pi * std::sqrt(a * a * a / (g * (m1 + m2))), 5 * rounding) << e;
    EXPECT_NEAR(pair.binding_energy, g * m1 * m2 / (2 * a), rounding) << e;
    EXPECT_NEAR(pair.distance, a * (1 - e), 2e-15) << e;
  }
}

// Reference: energy and eccentricity of a parabola's and a hyperbola's pericentre, v² = µ (1 + e)/q.
TEST(Orbit, UnboundPairsHaveANegativeAxisAndNoPeriod) {
  auto p = at_pericenter(1, 0, 0.5, 0.5, 1);
  const double faster = std::sqrt(3.0);  // of the circular speed: e = 2, a = −q
  p.vy[1] = p.vy[0] + (p.vy[1] - p.vy[0]) * faster;
  p.vz[1] = p.vz[0] + (p.vz[1] - p.vz[0]) * faster;
  const auto pair = pair_orbit(p, 0, 1);
  EXPECT_NEAR(pair.orbit.eccentricity, 2, 1e-12);
  EXPECT_NEAR(pair.orbit.semi_major_axis, -1, 1e-12);
  EXPECT_TRUE(std::isinf(pair.orbit.period));
  EXPECT_LT(pair.binding_energy, 0);
  EXPECT_FALSE(most_bound_pair(p));
}

TEST(Orbit, RefusesWhatIsNoPair) {
  Particles p;
  p.resize(3);
  p.mass = {1, 1, 0};
  p.x = {0, 0, 1};
  EXPECT_THROW(pair_orbit(p, 0, 1), Error);
  EXPECT_THROW(pair_orbit(p, 0, 0), Error);
  EXPECT_THROW(pair_orbit(p, 0, 3), Error);
  EXPECT_FALSE(most_bound_pair(Particles{}));
  EXPECT_FALSE(most_bound_pair(p));
}

// Reference: the same energies over all pairs, without the search's shortcut.
Particles random_cube() {
  Particles p;
  p.resize(300);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(5, 0, i);
    p.mass[i] = 0.01 + random.uniform();
    for (auto* values : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) (*values)[i] = random.uniform() - 0.5;
  }
  return p;
}

TEST(MostBoundPair, IsTheBestOfAllPairs) {
  const Particles p = random_cube();
  Pair best;
  for (std::int64_t i = 0; i < p.size(); ++i)
    for (std::int64_t j = 0; j < i; ++j)
      if (const auto pair = pair_orbit(p, i, j, 0.05); pair.binding_energy > best.binding_energy) best = pair;
  const auto found = most_bound_pair(p, 0.05);
  ASSERT_TRUE(found);
  EXPECT_EQ(std::minmax(found->first, found->second), std::minmax(best.first, best.second));
  EXPECT_NEAR(found->binding_energy, best.binding_energy, 1e-15);
}

// Reference: all pairs in the order of their energies; each takes its two particles out.
TEST(HardestPairs, AreTheBestOfAllThatShareNoParticle) {
  const Particles p = random_cube();
  std::vector<Pair> all;
  for (std::int64_t i = 0; i < p.size(); ++i)
    for (std::int64_t j = 0; j < i; ++j) all.push_back(pair_orbit(p, i, j, 0.05));
  std::sort(all.begin(), all.end(), [](const Pair& a, const Pair& b) { return a.binding_energy > b.binding_energy; });
  std::vector<bool> taken(p.id.size());
  const auto found = hardest_pairs(p, 0.05, all[400].binding_energy, 5);
  ASSERT_EQ(found.size(), 5u);
  auto next = found.begin();
  for (const Pair& pair : all) {
    const auto i = static_cast<std::size_t>(pair.first), j = static_cast<std::size_t>(pair.second);
    if (taken[i] || taken[j] || next == found.end()) continue;
    taken[i] = taken[j] = true;
    EXPECT_EQ(std::minmax(next->first, next->second), std::minmax(pair.first, pair.second));
    ++next;
  }
  EXPECT_TRUE(hardest_pairs(p, 0.05, all[0].binding_energy, 5).empty());
}

/// Adds a body.
void add(Particles& p, double mass, Vec3<double> x, Vec3<double> v) {
  p.resize(p.size() + 1);
  p.mass.back() = mass;
  p.x.back() = x.x, p.y.back() = x.y, p.z.back() = x.z;
  p.vx.back() = v.x, p.vy.back() = v.y, p.vz.back() = v.z;
}

/// A place on an orbit from its elements, by three turns of the plane: Murray & Dermott 1999, eqs. 2.119–2.122.
struct State {
  Vec3<double> x, v;
};
State from_elements(double mu, double a, double e, double i, double node, double peri, double anomaly) {
  const double r = a * (1 - e * e) / (1 + e * std::cos(anomaly)), h = std::sqrt(mu / (a * (1 - e * e)));
  const double px = r * std::cos(anomaly), py = r * std::sin(anomaly);
  const double vx = -h * std::sin(anomaly), vy = h * (e + std::cos(anomaly));
  const auto turn = [&](double x, double y) {
    const double u = x * std::cos(peri) - y * std::sin(peri), w = x * std::sin(peri) + y * std::cos(peri);
    const double wc = w * std::cos(i), z = w * std::sin(i);
    return Vec3<double>{u * std::cos(node) - wc * std::sin(node), u * std::sin(node) + wc * std::cos(node), z};
  };
  return {turn(px, py), turn(vx, vy)};
}

// Reference: the elements that the orbit was made from.
TEST(Hierarchy, GivesBackTheElementsOfABinary) {
  const double g = 2, mu = g * 4;
  const State state = from_elements(mu, 1.5, 0.4, 0.7, 2.0, 5.0, 1.1);
  Particles p;
  add(p, 3, {10, 0, 0}, {1, 1, 1});
  add(p, 1, Vec3<double>{10, 0, 0} + state.x, Vec3<double>{1, 1, 1} + state.v);
  const auto pairs = bound_hierarchy(p, g);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].first, "1");
  EXPECT_NEAR(pairs[0].orbit.semi_major_axis, 1.5, 1e-12);
  EXPECT_NEAR(pairs[0].orbit.eccentricity, 0.4, 1e-12);
  EXPECT_NEAR(pairs[0].angles.inclination, 0.7, 1e-12);
  EXPECT_NEAR(pairs[0].angles.node, 2.0, 1e-12);
  EXPECT_NEAR(pairs[0].angles.pericentre, 5.0, 1e-12);
  EXPECT_NEAR(pairs[0].angles.true_anomaly, 1.1, 1e-12);
  EXPECT_NEAR(pairs[0].orbit.period, 2 * std::numbers::pi * std::sqrt(1.5 * 1.5 * 1.5 / mu), 1e-12);
  EXPECT_NEAR(pairs[0].binding_energy, g * 3 * 1 / (2 * 1.5), 1e-12);
}

// Reference: by hand: two close binaries that go about each other, and one that passes by.
TEST(Hierarchy, FindsPairsOfPairsAndLeavesPassersByAlone) {
  Particles p;
  const double inner = std::sqrt(2.0 / 0.1), outer = std::sqrt(4.0 / 10);
  add(p, 1, {-5 - 0.05, 0, 0}, {0, -outer / 2 - inner / 2, 0});
  add(p, 1, {5 - 0.05, 0, 0}, {0, outer / 2 - inner / 2, 0});
  add(p, 1, {-5 + 0.05, 0, 0}, {0, -outer / 2 + inner / 2, 0});
  add(p, 1, {5 + 0.05, 0, 0}, {0, outer / 2 + inner / 2, 0});
  add(p, 1, {0, 40, 0}, {30, 0, 0});
  const auto pairs = bound_hierarchy(p, 1);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].first + pairs[0].second, "13");
  EXPECT_EQ(pairs[1].first + pairs[1].second, "24");
  EXPECT_EQ(pairs[2].level, 2);
  EXPECT_EQ(pairs[2].first, "(1+3)");
  EXPECT_NEAR(pairs[2].orbit.semi_major_axis, 10, 1e-9);
  EXPECT_NEAR(pairs[2].orbit.eccentricity, 0, 1e-9);
  EXPECT_NEAR(pairs[0].orbit.semi_major_axis, 0.1, 1e-9);
}

// Reference: a cluster without binaries has none, and one that is put in is found, whatever the order.
TEST(Hierarchy, InAClusterOnlyPairsByThemselvesCount) {
  ModelOptions options;
  options.n = 300;
  Particles p = make_model("plummer", options);
  const std::size_t before = bound_hierarchy(p, 1).size();
  const double speed = std::sqrt(2 * p.mass[0] / 1e-4);
  add(p, p.mass[0], {2, 2, 2}, {0, 0, 0});
  add(p, p.mass[0], {2 + 1e-4, 2, 2}, {0, speed, 0});
  const auto pairs = bound_hierarchy(p, 1);
  EXPECT_EQ(pairs[0].first + "," + pairs[0].second, "301,302");
  EXPECT_NEAR(pairs[0].orbit.semi_major_axis, 1e-4, 1e-10);
  EXPECT_LE(pairs.size(), before + 2);
  EXPECT_LT(before, 30u);
}

// Reference: by hand. Nobody leaves a Plummer model, whose speeds end at that of escape; five that are thrown out do,
// also where all move along together.
TEST(Escapers, AreThoseThatWereThrownOut) {
  ModelOptions options;
  options.n = 500;
  AnalysisSnapshot snapshot;
  snapshot.particles = make_model("plummer", options);
  Particles& p = snapshot.particles;
  const auto potentials = [&p] {
    std::vector<double> sum(p.id.size());
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t j = 0; j < sum.size(); ++j)
        if (i != j) sum[i] -= p.mass[j] / std::hypot(p.x[i] - p.x[j], p.y[i] - p.y[j], p.z[i] - p.z[j]);
    return sum;
  };
  const auto few = find_escapers(snapshot, potentials()).count;
  EXPECT_LE(few, 2);  // graininess
  for (int k = 0; k < 5; ++k) add(p, p.mass[0], {50.0 + k, 0, 0}, {10, 0, 0});
  for (auto& v : p.vy) v += 7;
  const Escapers found = find_escapers(snapshot, potentials());
  EXPECT_EQ(found.count, few + 5);
  EXPECT_TRUE(found.escapes[504]);
  EXPECT_NEAR(found.velocity.y, 7, 0.05);
  EXPECT_NEAR(found.fastest, 10, 0.1);
}

// Reference: by hand. At a = 1/2 a pair that is 2 apart in comoving lengths is 1 apart, and its expansion takes it
// apart with H; of equal masses 1/2 with G = 1 each has the potential −1/2 and leaves with more than 1 relative to the
// middle.
TEST(Escapers, OfAnExpandingUniverseAreFoundInProperLengths) {
  AnalysisSnapshot snapshot;
  snapshot.universe.emplace();
  snapshot.universe->cosmology.omega_matter = 1, snapshot.universe->cosmology.omega_lambda = 0;
  snapshot.universe->scale_factor = 0.5;
  snapshot.universe->hubble = 0.1;  // H = 0.1 · 2^{3/2}
  const double flow = 0.1 * std::pow(2.0, 1.5) / 2;
  for (const double speed : {0.98, 1.02}) {
    snapshot.particles = {};
    add(snapshot.particles, 0.5, {9, 0, 0}, {speed - flow, 3, 0});
    add(snapshot.particles, 0.5, {7, 0, 0}, {flow - speed, 3, 0});
    snapshot.particles.id = {1, 2};
    snapshot.particles.potential = {-0.25, -0.25};
    const AnalysisSnapshot proper = in_proper_lengths(snapshot);
    EXPECT_NEAR(proper.particles.x[0] - proper.particles.x[1], 1, 1e-12);
    EXPECT_EQ(find_escapers(proper, proper.particles.potential).count, speed > 1 ? 2 : 0);
  }
}

/// A cluster that is one body of mass m, and test particles about it; potentials without the field.
struct OneBodyCluster {
  AnalysisSnapshot snapshot;
  std::vector<double> own{-1e9};
  OneBodyCluster(double m, Vec3<double> x, Vec3<double> v) { add(snapshot.particles, m, x, v); }
  void test_particle(Vec3<double> place, Vec3<double> velocity) {
    Particles& p = snapshot.particles;
    own.push_back(-p.mass[0] / std::sqrt(dot(place, place)));
    add(p, 0, Vec3<double>{p.x[0], p.y[0], p.z[0]} + place, Vec3<double>{p.vx[0], p.vy[0], p.vz[0]} + velocity);
  }
  Escapers escapers() const { return find_escapers(snapshot, own); }
};

// Reference: by hand. On a circular orbit of radius R and speed v in a flat rotation curve Ω² − d²Φ/dR² = 2 v²/R², and
// about a point 3 G M/R³ (King 1962). Along the orbit and across it tide and turning leave v'²/2 − G m/r of Jacobi's
// energy to the second order in r/R (along) or add Ω² z²/2 (across); the Lagrange points have −3 G m/2 r_J.
TEST(Escapers, InATideAreAboveTheEnergyOfTheLagrangePoints) {
  const double m = 1e-4, distance = 100, speed = 1, rate = speed / distance, r = 0.3;
  const double tidal = std::cbrt(m / (2 * rate * rate));
  for (const double factor : {0.97, 1.03}) {
    OneBodyCluster cluster(m, {distance, 0, 0}, {0, speed, 0});
    ExternalPotential halo;
    halo.kind = physics::ExternalKind::logarithmic;
    halo.speed = speed, halo.radius = 1e-3;
    cluster.snapshot.field = {halo};
    const double along = factor * std::sqrt(2 * m / r - 3 * m / tidal),
                 across = factor * std::sqrt(2 * m / r - 3 * m / tidal - rate * rate * r * r);
    cluster.test_particle({0, r, 0}, {-rate * r + along, 0, 0});
    cluster.test_particle({0, 0, r}, {0, across, 0});
    cluster.test_particle({factor * tidal, 0, 0}, {0, rate * factor * tidal, 0});  // at rest in the turning frame
    const Escapers found = cluster.escapers();
    EXPECT_EQ(found.count, factor > 1 ? 3 : 0) << factor;
    EXPECT_EQ(found.criterion, "jacobi");
    EXPECT_NEAR(found.tidal_radius, tidal, 1e-6 * tidal);
  }
  const double galaxy = 5;
  OneBodyCluster about_a_point(m, {0, distance, 0}, {std::sqrt(galaxy / distance), 0, 0});
  ExternalPotential point;
  point.mass = galaxy;
  about_a_point.snapshot.field = {point};
  EXPECT_NEAR(about_a_point.escapers().tidal_radius, distance * std::cbrt(m / (3 * galaxy)), 1e-6);
}

// Reference: by hand: the escape speed of Hernquist's sphere, √(2 G M/(r + a)); from a flat rotation curve nobody comes
// to infinity, and the energy of the particles alone decides.
TEST(Escapers, InTheMiddleOfAFieldNeedTheEnergyToLeaveIt) {
  const double m = 1e-3, r = 1, mass = 10, radius = 2;
  for (const double factor : {0.99, 1.01}) {
    OneBodyCluster disc(m, {0, 0, 0}, {0, 0, 0});
    ExternalPotential halo;
    halo.kind = physics::ExternalKind::hernquist;
    halo.mass = mass, halo.radius = radius;
    disc.snapshot.field = {halo};
    disc.test_particle({r, 0, 0}, {0, factor * std::sqrt(2 * m / r + 2 * mass / (r + radius)), 0});
    EXPECT_EQ(disc.escapers().count, factor > 1 ? 1 : 0);
    EXPECT_EQ(disc.escapers().criterion, "energy in the field");
    halo.kind = physics::ExternalKind::logarithmic, halo.speed = 1;
    disc.snapshot.field = {halo};
    disc.snapshot.particles.vy[1] = factor * std::sqrt(2 * m / r);
    EXPECT_EQ(disc.escapers().count, factor > 1 ? 1 : 0);
    EXPECT_EQ(disc.escapers().criterion, "energy");
  }
}

}  // namespace
}  // namespace pergola

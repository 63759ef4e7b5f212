#include "analysis/orbits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/philox.hpp"

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
TEST(MostBoundPair, IsTheBestOfAllPairs) {
  Particles p;
  p.resize(300);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(5, 0, i);
    p.mass[i] = 0.01 + random.uniform();
    for (auto* values : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) (*values)[i] = random.uniform() - 0.5;
  }
  Pair best;
  for (std::int64_t i = 0; i < p.size(); ++i)
    for (std::int64_t j = 0; j < i; ++j)
      if (const auto pair = pair_orbit(p, i, j, 0.05); pair.binding_energy > best.binding_energy) best = pair;
  const auto found = most_bound_pair(p, 0.05);
  ASSERT_TRUE(found);
  EXPECT_EQ(std::minmax(found->first, found->second), std::minmax(best.first, best.second));
  EXPECT_NEAR(found->binding_energy, best.binding_energy, 1e-15);
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/groups.hpp"
#include "analysis/sampled_halo.hpp"
#include "base/philox.hpp"
#include "physics/halos.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

using Halo = SampledHalo;

class HalosOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, HalosOn, OnEachDevice(), device_test_name);

GroupProperties largest_group(const AnalysisSnapshot& snapshot, const Device& device = Device::open("cpu", 1)) {
  const auto friends = friends_of_friends(snapshot.particles, snapshot.box, 0.08, 100, device);
  return group_properties(snapshot, snapshot, friends.groups, device).front();
}

// Reference: the closed formulas of SampledHalo. M200c is 4000 by construction but for the lattice in the sphere
// (density 14 in 0.3), M200m where halo and lattice together fall to 200 times the mean.
TEST(Halos, HaveTheMassAndRadiusOfTheHaloThatTheyAreMadeOf) {
  const GroupProperties group = largest_group(Halo::make({4, 5, 6}, 0, {7, 0, -1}));
  const double unit = Halo::sphere(1), mean = 200 * Halo::mean(), critical = mean / Halo::matter_part;
  const double rc = Halo::radius_of(critical), rm = Halo::radius_of(mean);
  EXPECT_NEAR(rc / Halo::r200c(), 1, 2e-3);
  EXPECT_NEAR(group.r200c / rc, 1, 2e-3);
  EXPECT_NEAR(group.m200c / (critical * unit * rc * rc * rc), 1, 4e-3);
  EXPECT_NEAR(group.r200m / rm, 1, 2e-3);
  EXPECT_NEAR(group.m200m / (mean * unit * rm * rm * rm), 1, 4e-3);
  const Vec3<double> away{group.center.x - 4, group.center.y - 5, group.center.z - 6};
  EXPECT_LT(std::sqrt(dot(away, away)), 0.02 * rc);
  EXPECT_NEAR(group.velocity.x, 7, 0.02);  // a particle of the lattice may be a friend
  EXPECT_NEAR(group.velocity.z, -1, 0.02);
}

// Reference: the concentration of SampledHalo, and by hand V² = m(x)/x · M/(m(c) r_s), G = 1, at x = 2.1626, over a for
// proper lengths.
TEST(Halos, HaveTheConcentrationAndThePeakOfTheCircularSpeed) {
  auto snapshot = Halo::make({5, 5, 5}, 0, {0, 0, 0});
  const double peak = std::sqrt(Halo::within(2.1626 * Halo::scale()) / (2.1626 * Halo::scale()));
  const GroupProperties group = largest_group(snapshot);
  EXPECT_NEAR(group.concentration, Halo::concentration, 0.25);
  EXPECT_NEAR(group.peak_speed / peak, 1, 0.01);
  snapshot.universe.emplace();
  snapshot.universe->scale_factor = 0.25;
  const GroupProperties early = largest_group(snapshot);
  EXPECT_NEAR(early.peak_speed / (2 * peak), 1, 0.01);
  EXPECT_DOUBLE_EQ(early.concentration, group.concentration);
}

// Reference: solid rotation w of a sphere has J = 2/3 w M <r²>, and for the profile <r²> = r_s² (c²/2 − 2 c + 3 ln(1 +
// c) + 1/(1 + c) − 1)/m(c). Bullock's spin is a J/(√2 M V a R), V² = G M/(a R), with comoving r and peculiar
// velocities.
TEST(Halos, HaveTheSpinOfSolidRotation) {
  const double turn = 30, c = Halo::concentration, r = Halo::r200c(), a = 0.25;
  const double square = std::pow(Halo::scale(), 2) * (c * c / 2 - 2 * c + 3 * std::log1p(c) + 1 / (1 + c) - 1);
  const double momentum = 2.0 / 3 * turn * Halo::mass * square / Halo::m(c);
  const double spin = momentum / (std::sqrt(2.0) * Halo::mass * std::sqrt(Halo::mass / r) * r);
  auto snapshot = Halo::make({5, 5, 5}, turn, {100, 0, 0});
  // The lattice does not move; let it, so that the sphere is as one body.
  for (double& v : snapshot.particles.vx) v = v == 0 ? 100 : v;
  EXPECT_NEAR(largest_group(snapshot).spin / spin, 1, 0.01);
  snapshot.universe.emplace();
  snapshot.universe->scale_factor = a;
  EXPECT_NEAR(largest_group(snapshot).spin / (spin * std::sqrt(a)), 1, 0.01);
}

// Reference: Prada et al. 2012, eqs. 8 to 10, by their rounded factor: c = 5 has V_max/V_200 = (0.216 · 5/0.9584)^½.
TEST(Halos, ConcentrationIsFoundFromThePeakOfTheSpeed) {
  EXPECT_NEAR(physics::nfw_peak_speed2(5), 0.216 * 5 / (std::log(6.0) - 5.0 / 6), 2e-3);
  for (const double c : {2.5, 5.0, 20.0, 300.0})
    EXPECT_NEAR(physics::nfw_concentration(physics::nfw_peak_speed2(c)) / c, 1, 1e-6);
  EXPECT_TRUE(std::isnan(physics::nfw_concentration(0.99)));
  EXPECT_TRUE(std::isnan(physics::nfw_concentration(1e6)));
}

/// Clumps of unlike masses and sizes at random in the box, also across its faces.
AnalysisSnapshot clumps() {
  AnalysisSnapshot snapshot;
  snapshot.box = {{0, 0, 0}, {10, 10, 10}, Boundary::periodic};
  snapshot.matter_part = 0.4;
  Particles& p = snapshot.particles;
  p.resize(3000);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(9, 0, i), where(10, 0, i % 15);
    const double size = 0.02 + 0.15 * where.uniform();
    const auto coordinate = [&] {
      const double middle = 10 * where.uniform();
      const double x = i < 600 ? 10 * random.uniform()
                               : middle + size * (random.uniform() + random.uniform() + random.uniform() - 1.5);
      return x - 10 * std::floor(x / 10);
    };
    p.x[i] = coordinate(), p.y[i] = coordinate(), p.z[i] = coordinate();
    p.vx[i] = random.uniform(), p.vy[i] = random.uniform(), p.vz[i] = random.uniform();
    p.mass[i] = 0.5 + random.uniform();
  }
  return snapshot;
}

/// Every particle, nearest first, until the mean density is too low; the first nine do not decide.
double mass_by_force(const AnalysisSnapshot& s, const Vec3<double>& center, double density) {
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = 0; i < s.particles.id.size(); ++i) {
    const double x = std::remainder(s.particles.x[i] - center.x, 10),
                 y = std::remainder(s.particles.y[i] - center.y, 10),
                 z = std::remainder(s.particles.z[i] - center.z, 10);
    all.emplace_back(std::sqrt(x * x + y * y + z * z), s.particles.mass[i]);
  }
  std::sort(all.begin(), all.end());
  double sum = 0, found = 0;
  for (std::size_t k = 0; k < all.size() && all[k].first <= 5; ++k) {
    sum += all[k].second;
    const bool dense = sum >= density * 4 * std::numbers::pi / 3 * std::pow(all[k].first, 3);
    if (dense) found = sum;
    if (!dense && k >= 9) break;
  }
  return found;
}

TEST_P(HalosOn, MassesOfSpheresAreThoseOfAllParticlesOneByOne) {
  const AnalysisSnapshot snapshot = clumps();
  const double total = std::accumulate(snapshot.particles.mass.begin(), snapshot.particles.mass.end(), 0.0);
  const auto friends = friends_of_friends(snapshot.particles, snapshot.box, 0.1, 20, device(1));
  const auto groups = group_properties(snapshot, snapshot, friends.groups, device(1));
  ASSERT_GT(groups.size(), 8u);
  for (const GroupProperties& group : groups) {
    EXPECT_NEAR(group.m200m, mass_by_force(snapshot, group.center, 0.2 * total), 1e-9);
    EXPECT_NEAR(group.m200c, mass_by_force(snapshot, group.center, 0.2 * total / 0.4), 1e-9);
  }
}

void expect_same(const GroupProperties& a, const GroupProperties& b) {
  EXPECT_EQ(a.particles, b.particles);
  const auto numbers = [](const GroupProperties& g) {
    return std::vector<double>{g.mass,       g.center.x,   g.center.y,   g.center.z, g.velocity.x,
                               g.velocity.y, g.velocity.z, g.dispersion, g.m200m,    g.r200m,
                               g.m200c,      g.r200c,      g.peak_speed, g.spin};
  };
  EXPECT_EQ(numbers(a), numbers(b));
  EXPECT_TRUE(a.concentration == b.concentration || (std::isnan(a.concentration) && std::isnan(b.concentration)));
}

/// In another order: ids do not rise.
AnalysisSnapshot turned(AnalysisSnapshot snapshot) {
  Particles& p = snapshot.particles;
  for (auto* list : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz})
    std::rotate(list->begin(), list->begin() + 1234, list->end());
  std::rotate(p.id.begin(), p.id.begin() + 1234, p.id.end());
  std::rotate(p.species.begin(), p.species.begin() + 1234, p.species.end());
  return snapshot;
}

/// Groups of the species, measured as an analysis does.
std::vector<GroupProperties> measured(const AnalysisSnapshot& snapshot, double length, const Device& device,
                                      const std::string& species = "all") {
  AnalysisOptions options;
  options.linking_length = length, options.least = 20, options.species = species;
  const ChosenParticles particles(snapshot, options);
  const FoundGroups found(particles.chosen(), options, device);
  const auto groups = found.properties(particles.all(), 0, found.count());
  const auto masses = found.masses();
  for (std::size_t k = 0; k < groups.size(); ++k) EXPECT_EQ(groups[k].mass, masses.at(k));
  if (groups.size() > 2) expect_same(found.properties(particles.all(), 1, 2).at(1), groups[2]);
  return groups;
}

void expect_same(const std::vector<GroupProperties>& here, const std::vector<GroupProperties>& expected) {
  ASSERT_EQ(here.size(), expected.size());
  for (std::size_t k = 0; k < here.size(); ++k) expect_same(here[k], expected[k]);
}

// Reference: the CPU, whose bits all have. About the halo, whose centre is on a lattice, many are at one distance.
TEST_P(HalosOn, AreTheSameForAnyOrderOnAnyDeviceWithAnyNumberOfThreads) {
  const AnalysisSnapshot snapshot = clumps();
  const auto expected = measured(snapshot, 0.1, Device::open("cpu", 1));
  ASSERT_GT(expected.size(), 8u);
  for (const int threads : {1, 3}) expect_same(measured(snapshot, 0.1, device(threads)), expected);
  expect_same(measured(turned(snapshot), 0.1, device(2)), expected);
  AnalysisSnapshot halo = Halo::make({5, 5, 5}, 30, {1, 2, 3});
  for (std::size_t i = 0; i < halo.particles.id.size(); i += 3) halo.particles.species[i] = 0;
  for (const char* species : {"all", "halo"}) {
    const auto one = measured(halo, 0.08, Device::open("cpu", 2), species);
    ASSERT_FALSE(one.empty());
    expect_same(measured(halo, 0.08, device(2), species), one);
    expect_same(measured(turned(halo), 0.08, device(2), species), one);
  }
}

/// The member whose potential in the field of the others is lowest, by all pairs, in a box of side 10.
Vec3<double> deepest_by_force(const Particles& p, const std::vector<std::size_t>& group) {
  const auto apart = [&](std::size_t i, std::size_t j) {
    const double x = std::remainder(p.x[i] - p.x[j], 10), y = std::remainder(p.y[i] - p.y[j], 10),
                 z = std::remainder(p.z[i] - p.z[j], 10);
    return x * x + y * y + z * z;
  };
  double size2 = 0, lowest = 0;
  for (const std::size_t i : group) size2 = std::max(size2, apart(i, group[0]));
  std::size_t best = group[0];
  for (const std::size_t i : group) {
    double potential = 0;
    for (const std::size_t j : group)
      if (i != j) potential -= p.mass[j] / std::sqrt(apart(i, j) + 1e-4 * size2);
    if (potential < lowest) lowest = potential, best = i;
  }
  return {p.x[best], p.y[best], p.z[best]};
}

// Reference: all pairs, in groups of some hundred and of six thousand, which the CPU gives to its tree.
TEST_P(HalosOn, CentresAreTheMembersWithTheLowestPotential) {
  const AnalysisSnapshot several = clumps(), one = Halo::make({4, 5, 6}, 0, {0, 0, 0});
  for (const auto& [snapshot, length] : {std::pair(&several, 0.1), std::pair(&one, 0.08)}) {
    const auto friends = friends_of_friends(snapshot->particles, snapshot->box, length, 20, device(2));
    const auto groups = group_properties(*snapshot, *snapshot, friends.groups, device(2));
    ASSERT_FALSE(groups.empty());
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const Vec3<double> expected = deepest_by_force(snapshot->particles, friends.groups[k]);
      EXPECT_NEAR(groups[k].center.x, expected.x, 1e-12) << k;
      EXPECT_NEAR(groups[k].center.y, expected.y, 1e-12) << k;
      EXPECT_NEAR(groups[k].center.z, expected.z, 1e-12) << k;
    }
  }
}

// Reference: the same halo in the middle of the box. Both centres are on the lattice.
TEST(Halos, AcrossACornerOfTheBoxAreThoseOfTheMiddle) {
  const GroupProperties middle = largest_group(Halo::make({5, 5, 5}, 30, {1, 2, 3}));
  const GroupProperties corner = largest_group(Halo::make({0, 0, 0}, 30, {1, 2, 3}));
  EXPECT_EQ(corner.particles, middle.particles);
  EXPECT_NEAR(corner.m200m / middle.m200m, 1, 1e-9);
  EXPECT_NEAR(corner.m200c / middle.m200c, 1, 1e-9);
  EXPECT_NEAR(corner.spin / middle.spin, 1, 1e-6);
  EXPECT_NEAR(corner.concentration / middle.concentration, 1, 1e-6);
  EXPECT_NEAR(corner.dispersion / middle.dispersion, 1, 1e-9);
  EXPECT_LT(std::abs(std::remainder(corner.center.x - middle.center.x - 5, 10)), 1e-9);
}

// Species that are not chosen make no groups, but their mass is in the spheres and in the mean density.
TEST_P(HalosOn, SpheresHoldAllSpecies) {
  AnalysisSnapshot snapshot = Halo::make({5, 5, 5}, 0, {0, 0, 0});
  for (std::size_t i = 0; i < snapshot.particles.id.size(); i += 2) snapshot.particles.species[i] = 0;
  const GroupProperties whole = largest_group(snapshot, device(1));
  AnalysisOptions options;
  options.species = "halo";
  const ChosenParticles particles(snapshot, options);
  const auto friends = friends_of_friends(particles.chosen().particles, snapshot.box, 0.1, 100, Device::open("cpu", 1));
  const auto group = group_properties(particles.chosen(), particles.all(), friends.groups, device(1)).front();
  EXPECT_LT(group.mass, 0.6 * whole.mass);
  EXPECT_NEAR(group.m200c / whole.m200c, 1, 0.01);
}

}  // namespace
}  // namespace pergola

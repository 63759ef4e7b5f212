#include "analysis/analysis.hpp"
#include "analysis/groups.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "physics/cosmology.hpp"
#include "physics/halos.hpp"
#include "physics/power_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace pergola {
namespace {

/// A box of side 10 with a lattice of 1000 particles and a dense ball of `members` about `center`, which moves.
AnalysisSnapshot box_with_ball(std::int64_t members, const Vec3<double>& center) {
  AnalysisSnapshot snapshot;
  snapshot.name = "box";
  snapshot.box = {{0, 0, 0}, {10, 10, 10}, Boundary::periodic};
  Particles& p = snapshot.particles;
  p.resize(1000 + members);
  p.mass.assign(p.id.size(), 1.0);
  for (std::size_t i = 0; i < 1000; ++i)
    p.x[i] = 0.5 + static_cast<double>(i % 10), p.y[i] = 0.5 + static_cast<double>(i / 10 % 10),
    p.z[i] = 0.5 + static_cast<double>(i / 100);
  for (std::size_t i = 1000; i < p.id.size(); ++i) {
    Philox random(4, 0, i);
    const double r = 0.1 * std::cbrt(random.uniform()), c = 2 * random.uniform() - 1, s = std::sqrt(1 - c * c);
    const double phi = 2 * std::numbers::pi * random.uniform();
    p.x[i] = std::fmod(center.x + r * s * std::cos(phi) + 10, 10.0);
    p.y[i] = center.y + r * s * std::sin(phi), p.z[i] = center.z + r * c;
    p.vx[i] = 3, p.vy[i] = i % 2 == 0 ? 1 : -1;
  }
  return snapshot;
}

// Reference: by hand. All mass of the ball is within the sphere of 200 times the mean density 1.5, whose radius is
// (M/(300 · 4π/3))^(1/3); of the critical density, four times as high, (M/(1200 · 4π/3))^(1/3). The lattice adds at
// most a few particles. The ball lies across a face of the box.
TEST(Groups, HaveTheMassesCentresAndVelocitiesOfTheBallTheyAreMadeOf) {
  auto snapshot = box_with_ball(500, {0.02, 5, 5});
  snapshot.matter_part = 0.25;
  const Device device = Device::open("cpu", 1);
  const auto friends = friends_of_friends(snapshot.particles, snapshot.box, 0.1, 20, Device::open("cpu", 1));
  ASSERT_EQ(friends.groups.size(), 1u);
  const auto group = group_properties(snapshot, snapshot, friends.groups, device).front();
  EXPECT_EQ(group.particles, 500);
  EXPECT_EQ(group.mass, 500);
  EXPECT_LT(std::abs(std::remainder(group.center.x - 0.02, 10.0)), 0.05);
  EXPECT_NEAR(group.center.y, 5, 0.05);
  EXPECT_NEAR(group.velocity.x, 3, 1e-12);
  EXPECT_NEAR(group.velocity.y, 0, 1e-12);
  EXPECT_NEAR(group.dispersion, 1 / std::sqrt(3.0), 1e-9);
  const double unit = 4 * std::numbers::pi / 3;
  EXPECT_NEAR(group.m200m, 500, 6);
  EXPECT_NEAR(group.r200m, std::cbrt(500 / (300 * unit)), 0.01);
  EXPECT_NEAR(group.m200c, 500, 3);
  EXPECT_NEAR(group.r200c, std::cbrt(500 / (1200 * unit)), 0.005);
}

TEST(Groups, OfASystemInOpenSpaceHaveNoOverdensities) {
  auto snapshot = box_with_ball(100, {5, 5, 5});
  snapshot.box = {};
  const auto friends = friends_of_friends(snapshot.particles, snapshot.box, 0.1, 20, Device::open("cpu", 1));
  const auto group = group_properties(snapshot, snapshot, friends.groups, Device::open("cpu", 1)).front();
  EXPECT_EQ(group.mass, 100);
  EXPECT_TRUE(std::isnan(group.m200m));
}

AnalysisFiles one_file(const AnalysisSnapshot& snapshot) {
  AnalysisFiles files;
  files.names = {snapshot.name};
  files.snapshot = [snapshot](std::size_t) { return snapshot; };
  return files;
}

// Reference: by hand: one group of 300 in a volume of 1000.
TEST(MassFunction, CountsTheGroups) {
  AnalysisOptions options;
  options.linking = 0.1;  // of the mean spacing (1000/1300)^(1/3)
  options.bins = 4;
  const auto result =
      mass_function_entry().analyze(one_file(box_with_ball(300, {5, 5, 5})), options, Device::open("cpu", 1));
  double sum = 0;
  for (const double count : result.table.numbers("groups")) sum += count;
  EXPECT_EQ(sum, 1);
  EXPECT_DOUBLE_EQ(result.table.numbers("n_above").front(), 1e-3);
  options.least = 1000;
  EXPECT_THROW(mass_function_entry().analyze(one_file(box_with_ball(300, {5, 5, 5})), options, Device::open("cpu", 1)),
               Error);
}

// Reference: physics/halos.hpp, which has tests of its own, at the radius that the mass has at the mean
// density.
TEST(MassFunction, StandsBesideWhatTheoryExpects) {
  auto snapshot = box_with_ball(300, {5, 5, 5});
  snapshot.universe.emplace();
  snapshot.universe->length_mpc_h = 2, snapshot.universe->scale_factor = 0.5;
  AnalysisOptions options;
  options.linking = 0.1;
  options.bins = 1;
  const Device device = Device::open("cpu", 1);
  const auto table = [&] { return mass_function_entry().analyze(one_file(snapshot), options, device).table; };
  EXPECT_EQ(table().columns.back().name, "n_above");  // sigma8 is not known
  options.sigma8 = 0.9;
  const Table with_theory = table();
  const physics::EisensteinHu fit(0.3, 0.045, 0.7);
  const physics::LinearPower power([&](double k) { return fit.transfer(k); }, 0.96, 0.9);
  const double growth = physics::growth_at(physics::Cosmology().background(1), 0.5).d1;
  const double mass = std::sqrt(with_theory.numbers("mass_low")[0] * with_theory.numbers("mass_high")[0]);
  const double radius = 2 * std::cbrt(mass / 1.3 * 3 / (4 * std::numbers::pi));  // 1300 in a volume of 1000
  EXPECT_NEAR(with_theory.numbers("sheth_tormen")[0] /
                  (8 * physics::halos_per_log_mass(power, radius, growth, physics::sheth_tormen_multiplicity)),
              1, 1e-9);
  EXPECT_NEAR(with_theory.numbers("tinker")[0] /
                  (8 * physics::halos_per_log_mass(
                           power, radius, growth, [](double sigma) { return physics::tinker_multiplicity(sigma, 1); })),
              1, 1e-9);
  snapshot.universe.reset();
  EXPECT_THROW(table(), Error);
}

TEST(GroupsEntry, NeedsALengthOutsidePeriodicBoxes) {
  auto snapshot = box_with_ball(50, {5, 5, 5});
  snapshot.box = {};
  AnalysisOptions options;
  const Device device = Device::open("cpu", 1);
  EXPECT_THROW(groups_entry().analyze(one_file(snapshot), options, device), Error);
  options.linking_length = 0.1;
  EXPECT_EQ(groups_entry().analyze(one_file(snapshot), options, device).table.rows(), 1u);
  EXPECT_THROW(power_entry().analyze(one_file(snapshot), options, device), Error);
}

}  // namespace
}  // namespace pergola

// Hard pairs are found, named where the steps cannot follow them, and watched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/model.hpp"
#include "sim/gravity_system.hpp"
#include "sim/hard_pairs.hpp"

namespace pergola {
namespace {

RunConfig config_with(const std::string& end, const std::string& more = "") {
  return parse_config("[run]\ndevice = \"cpu\"\nthreads = 1\nprecision = \"double\"\nend_time = " + end +
                          "\n[gravity]\nsolver = \"direct\"\nsoftening = 0\n" + more,
                      "test");
}

/// A Plummer sphere of total mass 1 with two more stars at apocentre of an orbit; ids 1000001 and 1000002.
Particles with_pair(std::int64_t n, double axis, double eccentricity, double away = 0.3) {
  ModelOptions options;
  options.n = n;
  Particles all = make_model("plummer", options), two;
  const double m = all.mass[0], reach = axis * (1 + eccentricity) / 2;
  const double speed = std::sqrt(2 * m / axis * (1 - eccentricity) / (1 + eccentricity)) / 2;
  two.resize(2);
  two.id = {1000001, 1000002}, two.mass = {m, m};
  two.x = {away + reach, away - reach}, two.vy = {speed, -speed};
  all.append(two);
  return all;
}

TEST(HardPairs, AreFoundWithTheirOrbits) {
  const auto pairs = find_hard_pairs(config_with("1"), with_pair(400, 1e-4, 0.3));
  ASSERT_FALSE(pairs.empty());
  EXPECT_EQ(std::min(pairs[0].first, pairs[0].second), 1000001u);
  EXPECT_EQ(std::max(pairs[0].first, pairs[0].second), 1000002u);
  const double m = 1.0 / 400;
  EXPECT_NEAR(pairs[0].semi_major_axis, 1e-4, 1e-12);
  EXPECT_NEAR(pairs[0].eccentricity, 0.3, 1e-6);
  EXPECT_NEAR(pairs[0].period, 2 * M_PI * std::sqrt(1e-12 / (2 * m)), 1e-12);
  EXPECT_NEAR(pairs[0].binding_energy, m * m / 2e-4, 1e-9);
}

std::vector<std::string> warnings(const RunConfig& config, const Particles& particles) {
  std::vector<std::string> found;
  for (const Remark& remark : hard_pair_remarks(config, 0, find_hard_pairs(config, particles)))
    if (remark.level == LogLevel::warning) found.push_back(remark.text);
  return found;
}

// Of these orbits, with a period of 8.9e-5, the iterated corrector loses about 3e-7/(1 − e) each time.
TEST(HardPairs, AreNamedIfTheStepsCannotFollowThem) {
  EXPECT_TRUE(warnings(config_with("1"), with_pair(400, 1e-4, 0.5)).empty());
  const auto long_run = warnings(config_with("100"), with_pair(400, 1e-4, 0.5));
  ASSERT_EQ(long_run.size(), 1u);
  EXPECT_NE(long_run[0].find("1000001"), std::string::npos) << long_run[0];
  EXPECT_NE(long_run[0].find("time.eta = 0."), std::string::npos) << long_run[0];
  EXPECT_TRUE(warnings(config_with("100", "[time]\neta = 0.001\n"), with_pair(400, 1e-4, 0.5)).empty());
  const auto far = warnings(config_with("0.01"), with_pair(400, 1e-4, 0.5, 1e9));
  ASSERT_EQ(far.size(), 1u);
  EXPECT_NE(far[0].find("precision"), std::string::npos) << far[0];
  const auto coarse =
      warnings(config_with("0.01", "[time]\nintegrator = \"leapfrog\"\nstep = 1e-5\n"), with_pair(400, 1e-4, 0.5));
  ASSERT_EQ(coarse.size(), 1u);
  EXPECT_NE(coarse[0].find("time.step"), std::string::npos) << coarse[0];
}

// At an axis of half the softening length a circular orbit's energy is positive: 1/(2 · 0.5) > 1/√(1 + 0.25).
TEST(HardPairs, AreNamedIfSofteningIsTooLongForThem) {
  RunConfig config = config_with("1");
  const Particles particles = with_pair(400, 1e-4, 0.3);
  EXPECT_EQ(softened_pairs_remark(config, particles), "");
  config.gravity.softening = Softening::same(2e-4);
  config.gravity.solver = "tree";
  const std::string said = softened_pairs_remark(config, particles);
  EXPECT_NE(said.find("1000001"), std::string::npos) << said;
  EXPECT_NE(said.find("gravity.softening = 0.0002"), std::string::npos) << said;
  config.gravity.softening = Softening::same(3e-5);
  EXPECT_EQ(softened_pairs_remark(config, particles), "");
  config.gravity.softening = Softening::same(4e-5);
  EXPECT_NE(softened_pairs_remark(config, particles), "");
  ModelOptions alone;
  alone.n = 400;
  EXPECT_EQ(softened_pairs_remark(config, make_model("plummer", alone)), "");
  // Neighbours at a cold start are bound, but no binaries.
  alone = {};
  alone.n = 1000;
  config.gravity.softening = Softening::same(0.05);
  EXPECT_EQ(softened_pairs_remark(config, make_model("cube", alone)), "");
  config.gravity.softening = Softening::same(4e-5);
  // A run says it.
  config.gravity.solver = "direct";
  GravitySystem run(config, particles);
  const auto remarks = run.remarks();
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), [](const Remark& remark) {
    return remark.text.find("particles 1000001 and 1000002") != std::string::npos ||
           remark.text.find("particles 1000002 and 1000001") != std::string::npos;
  }));
}

TEST(HardPairs, AreNotWatchedWithSofteningOrAMesh) {
  EXPECT_TRUE(watches_pairs(config_with("1"), 100));
  RunConfig soft = config_with("1");
  soft.gravity.softening = Softening::same(0.01);
  EXPECT_FALSE(watches_pairs(soft, 100));
  RunConfig tree = config_with("1");
  tree.gravity.solver = "tree";
  EXPECT_FALSE(watches_pairs(tree, 100));
}

// A pair that hardens by 4 % at no one's cost is wrong; if others have lost that energy it is physics.
TEST(HardPairs, LoseTheCheckOnlyIfTheTotalEnergyHasChangedToo) {
  const RunConfig config = config_with("1");
  const auto pairs = find_hard_pairs(config, with_pair(400, 1e-4, 0.3));
  const Particles harder = with_pair(400, 1e-4 / 1.04, 0.3);
  const double energy = 1.0 / 400 / 400 / 2e-4;
  const Check drift = pair_energy_check(config, {pairs[0]}, harder, -0.04 * energy);
  EXPECT_FALSE(drift.passed);
  EXPECT_NEAR(drift.measured, 0.04, 1e-6);
  EXPECT_TRUE(pair_energy_check(config, {pairs[0]}, harder, 1e-4 * energy).passed);
}

// The leapfrog with 20 steps a period (and 1.6 at the pericentre) tears an orbit of e = 0.8 apart; Hermite keeps it.
TEST(HardPairs, StandOnTheReportCardAlsoOfAResumedRun) {
  const auto check_of = [](const std::string& time, bool resumed) {
    const RunConfig config = config_with("62.8", "[particles]\nmodel = \"kepler\"\neccentricity = 0.8\n" + time);
    GravitySystem whole(config);
    const Energies start = whole.energies();
    if (resumed) {
      whole.run_until(10);
      whole = GravitySystem(config, whole.save());
    }
    whole.finish();
    for (const Check& check : whole.checks(start, whole.energies(), [](const std::string&) {}))
      if (check.name == "pair_energy_error") return check;
    return Check{};
  };
  for (const bool resumed : {false, true}) {
    EXPECT_TRUE(check_of("", resumed).passed);
    const Check coarse = check_of("[time]\nintegrator = \"leapfrog\"\nstep = 0.3\n", resumed);
    EXPECT_EQ(coarse.name, "pair_energy_error");
    EXPECT_FALSE(coarse.passed) << coarse.measured;
  }
}

}  // namespace
}  // namespace pergola

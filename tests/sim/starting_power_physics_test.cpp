// The largest waves of a universe at its end against those of its own start.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "comm/communicator.hpp"
#include "sim/gravity_system.hpp"

namespace pergola {
namespace {

/// From redshift 9 on, Lambda of no account.
RunConfig universe(const std::string& particles, const std::vector<std::string>& sets = {}) {
  return parse_config(
      "[run]\ndevice = \"cpu\"\nthreads = 2\nend_redshift = 4\n" + particles +
          "[gravity]\nsolver = \"mesh\"\n[gravity.mesh]\ncells = 64\nassignment = \"tsc\"\nbox = 200\n"
          "boundary = \"periodic\"\n[time]\nstep_max = 0.0625\n[units]\nsystem = \"cosmology\"\n[cosmology]\n"
          "omega_matter = 0.3\n",
      "test", sets);
}
const std::string model = "[particles]\nmodel = \"cosmology\"\nn = \"32^3\"\nbox = 200\nredshift = 9\nseed = 4\n";

struct Card {
  std::map<std::string, Check> checks;
  std::string said;
};

Card card_of(GravitySystem& system, const Energies& start) {
  system.finish();
  const Energies end = system.measure().energies;
  Card card;
  for (const Check& check : system.checks(start, end, [&](const std::string& part) { card.said += part + "\n"; }))
    card.checks[check.name] = check;
  return card;
}

TEST(StartingPower, WavesThatGrowAsTheyShouldPassWhateverTheyAre) {
  GravitySystem system(universe(model));
  const Energies start = system.measure().energies;
  GravitySystem same(universe(model));
  same.measure();
  same.run_until(0.15);
  const StateBlocks state = same.save();
  const Card card = card_of(system, start);
  const Check& own = card.checks.at("power_over_start");
  EXPECT_TRUE(own.passed) << own.measured;
  EXPECT_LT(own.tolerance, 0.1);
  // The 18 waves of the first shell are what they are: √(2/18), and a hundredth.
  const Check& theory = card.checks.at("power_over_linear");
  EXPECT_NEAR(theory.scatter, std::sqrt(2.0 / 18 + 1e-4), 1e-12);
  EXPECT_GT(theory.tolerance, 3 * theory.scatter);

  // On two ranks, each with its own particles, and resumed: the same bits.
  double on_ranks = 0;
  run_on_thread_ranks(2, [&](Communicator& communicator) {
    GravitySystem spread(universe(model), std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    const Card of_rank = card_of(spread, spread.measure().energies);
    if (communicator.is_root()) on_ranks = of_rank.checks.at("power_over_start").measured;
  });
  EXPECT_EQ(on_ranks, own.measured);
  GravitySystem resumed(universe(model), state);
  const Card again = card_of(resumed, start);
  ASSERT_EQ(again.checks.size(), card.checks.size());
  EXPECT_EQ(again.checks.at("power_over_start").measured, own.measured);
  EXPECT_EQ(again.checks.at("power_over_start").tolerance, own.tolerance);
}

/// Reference: waves at rest in a universe of matter grow as (3 x + 2 x^(−3/2))/5 with x = a/a₀ (Peebles 1980, section
/// 11), which is 1.341 for x = 2 in the place of 2.
TEST(StartingPower, WavesThatBeganAtRestFail) {
  Particles at_rest = GravitySystem(universe(model)).particles();
  for (auto* v : {&at_rest.vx, &at_rest.vy, &at_rest.vz}) std::fill(v->begin(), v->end(), 0.0);
  GravitySystem system(universe(""), at_rest, 0.1);
  const Card card = card_of(system, system.measure().energies);
  const Check& own = card.checks.at("power_over_start");
  EXPECT_FALSE(own.passed) << own.measured;
  EXPECT_NEAR(own.measured, std::pow((3 * 2 + 2 * std::pow(2, -1.5)) / 5 / 2, 2), 0.02);
}

TEST(StartingPower, WhyItIsLeftOutIsSaid) {
  const std::vector<std::string> small{"particles.box=8", "gravity.mesh.box=8", "run.end_redshift=0.95",
                                       "particles.redshift=1"};
  GravitySystem system(universe(model, small));
  const Card nonlinear = card_of(system, system.measure().energies);
  EXPECT_EQ(nonlinear.checks.count("power_over_start"), 0u);
  EXPECT_NE(nonlinear.said.find("power_over_start is left out: the largest waves of the box are not linear"),
            std::string::npos)
      << nonlinear.said;
}

}  // namespace
}  // namespace pergola

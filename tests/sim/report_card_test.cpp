#include "sim/report_card.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "models/model.hpp"
#include "outputs/schedule.hpp"
#include "particles/particle_source.hpp"
#include "sim/gravity_system.hpp"

namespace pergola {
namespace {

TEST(ReportCard, MeasuresWhatIsExpected) {
  RunEnds ends;
  ends.start.kinetic = 1, ends.start.potential = -3;
  ends.end.kinetic = 1.5, ends.end.potential = -3.25;
  ends.end.momentum = {0.3, 0.4, 0};
  ends.watched = [](const std::string& name) { return name == "return_distance" ? 4.0 : NAN; };
  const auto checks = report_card({{"energy_error", 0, 0.2},
                                   {"energy", -1.75, 1e-12},
                                   {"virial_ratio", 1.5 / 3.25, 1e-12},
                                   {"momentum", 0, 0.4},
                                   {"return_distance", 4, 1e-12}},
                                  ends);
  ASSERT_EQ(checks.size(), 5u);
  EXPECT_NEAR(checks[0].measured, 0.125, 1e-15);
  EXPECT_NEAR(checks[3].measured, 0.5, 1e-15);
  for (const auto& check : checks) EXPECT_EQ(check.passed, check.name != "momentum") << check.name << check.measured;
}

TEST(ReportCard, WhatIsNotANumberFails) {
  RunEnds ends;  // no potential energy: the virial ratio is 0/0
  const auto checks = report_card({{"virial_ratio", 0.5, 100}}, ends);
  EXPECT_FALSE(checks[0].passed);
}

// A cluster of mass 1 on a circle about a mass of 10⁶, with steps that are too long for it: of the total, nearly all of
// which is the orbit's, the error is nothing.
TEST(ReportCard, InAnExternalFieldTheEnergyErrorIsJudgedByTheInternalEnergyToo) {
  const RunConfig config = parse_config(
      "[run]\ndevice = \"cpu\"\nthreads = 1\nend_time = 4\n[gravity]\nsoftening = 0.02\n"
      "[[gravity.external]]\nkind = \"point\"\nmass = 1e6\n[time]\nintegrator = \"leapfrog\"\nstep = 0.0625\n",
      "test");
  ModelOptions options;
  options.n = 64;
  Particles cluster = make_model("plummer", options);
  double alone = 0;  // of the cluster at rest, by hand
  for (std::size_t i = 0; i < cluster.id.size(); ++i) {
    alone += cluster.mass[i] / 2 *
             (cluster.vx[i] * cluster.vx[i] + cluster.vy[i] * cluster.vy[i] + cluster.vz[i] * cluster.vz[i]);
    for (std::size_t j = 0; j < i; ++j) {
      const double dx = cluster.x[i] - cluster.x[j], dy = cluster.y[i] - cluster.y[j], dz = cluster.z[i] - cluster.z[j];
      alone -= cluster.mass[i] * cluster.mass[j] / std::sqrt(dx * dx + dy * dy + dz * dz + 0.02 * 0.02);
    }
  }
  for (double& x : cluster.x) x += 1000;
  for (double& v : cluster.vy) v += std::sqrt(1e6 / 1000);
  GravitySystem system(config, cluster);
  const Energies start = system.energies();
  system.finish();
  const Energies end = system.energies();
  const auto card = system.checks(start, end, [](const std::string&) {});
  const auto line = [&](const std::string& name) {
    return *std::find_if(card.begin(), card.end(), [&](const Check& check) { return check.name == name; });
  };
  ASSERT_EQ(card.size(), 2u);
  EXPECT_TRUE(line("energy_error").passed) << line("energy_error").measured;
  EXPECT_FALSE(line("internal_energy_error").passed) << line("internal_energy_error").measured;
  EXPECT_NEAR(line("internal_energy_error").measured, (end.total() - start.total()) / std::abs(alone), 1e-6);
}

// Two that have changed places are 4 from where they were, a third has not moved.
TEST(ReturnDistance, IsTheRootOfTheMeanSquareOnAnyNumberOfRanks) {
  Particles before;
  before.resize(3);
  before.x = {-3, 1, 7}, before.y = {2, 2, 2}, before.z = {1, 1, 5};
  Particles after = before;
  std::swap(after.x[0], after.x[1]);
  for (const int ranks : {1, 2, 4})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Shares shares{3, ranks};
      const auto own = [&](const Particles& all) {
        Particles some;
        HostParticles(all).read(shares.first(communicator.rank()), shares.count(communicator.rank()), some);
        return some;
      };
      EXPECT_EQ(return_distance(starting_places(own(before)), own(after), communicator), std::sqrt(32.0 / 3));
      auto others = own(after);
      for (auto& id : others.id) id += id == 3 ? 1 : 0;
      EXPECT_THROW(return_distance(starting_places(own(before)), others, communicator), Error);
    });
}

TEST(OutputClock, TicksAtMultiplesBeforeTheEnd) {
  OutputClock clock(1, 0.1, 1.3);
  EXPECT_DOUBLE_EQ(clock.next(), 1.1);
  clock.skip_to(clock.next());
  EXPECT_DOUBLE_EQ(clock.next(), 1.2);
  clock.skip_to(clock.next());
  EXPECT_TRUE(std::isinf(clock.next())) << "1.3 is the end, whatever 1 + 3 * 0.1 rounds to";
  EXPECT_TRUE(std::isinf(OutputClock(0, 0, 1).next())) << "0: never";
}

TEST(OutputClock, GoesOnAfterATimeWithAnotherInterval) {
  OutputClock clock(0, 0.25, 10);
  clock.skip_to(0.6);
  EXPECT_EQ(clock.next(), 0.75);
  clock.skip_to(0.75);
  EXPECT_EQ(clock.next(), 1.0);
}

}  // namespace
}  // namespace pergola

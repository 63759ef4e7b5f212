#include "sim/report_card.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "outputs/schedule.hpp"
#include "particles/particle_source.hpp"

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

#include "sim/report_card.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "outputs/schedule.hpp"

namespace pergola {
namespace {

Particles two_bodies() {
  Particles p;
  p.resize(2);
  p.mass = {1, 3};
  p.x = {-3, 1};
  return p;
}

TEST(ReportCard, MeasuresWhatIsExpected) {
  RunEnds ends;
  ends.start.kinetic = 1, ends.start.potential = -3;
  ends.end.kinetic = 1.5, ends.end.potential = -3.25;
  ends.end.momentum = {0.3, 0.4, 0};
  const auto before = two_bodies();
  auto after = before;
  std::swap(after.id[0], after.id[1]);  // each stands where the other was: 4 apart
  ends.particles = &after;
  ends.starting_particles = &before;
  const auto checks = report_card({{"energy_error", 0, 0.2},
                                   {"energy", -1.75, 1e-12},
                                   {"virial_ratio", 1.5 / 3.25, 1e-12},
                                   {"momentum", 0, 0.4},
                                   {"return_distance", 4, 1e-12},
                                   {"half_mass_radius", 1, 1e-12}},
                                  ends);
  ASSERT_EQ(checks.size(), 6u);
  EXPECT_NEAR(checks[0].measured, 0.125, 1e-15);
  EXPECT_NEAR(checks[3].measured, 0.5, 1e-15);
  for (const auto& check : checks) EXPECT_EQ(check.passed, check.name != "momentum") << check.name << check.measured;
}

TEST(ReportCard, WhatIsNotANumberFails) {
  RunEnds ends;  // no potential energy: the virial ratio is 0/0
  const auto checks = report_card({{"virial_ratio", 0.5, 100}}, ends);
  EXPECT_FALSE(checks[0].passed);
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

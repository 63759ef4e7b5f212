#include "particles/shown_particles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/gravity_system.hpp"

namespace pergola {
namespace {

RunConfig leapfrog(const std::string& solver) {
  RunConfig config;
  config.run.end_time = 10;
  config.run.device = "cpu";
  config.run.threads = 2;
  config.run.precision = "double";
  config.gravity.solver = solver;
  config.gravity.softening = Softening::same(0.02);
  config.time.integrator = "leapfrog";
  config.time.step = 0.0625;
  return config;
}

Particles plummer(std::int64_t n) {
  ModelOptions options;
  options.n = n;
  return make_model("plummer", options);
}

TEST(BorrowedParticles, AreThoseThatAreShown) {
  for (const char* solver : {"direct", "tree"}) {
    GravitySystem simulation(leapfrog(solver), plummer(300));
    simulation.run_until(0.25);
    const Particles shown = simulation.particles();
    const BorrowedParticles borrowed = simulation.lend();
    ASSERT_EQ(borrowed.count, 300);
    EXPECT_EQ(borrowed.time, 0.25);
    ASSERT_FALSE(borrowed.single);
    for (std::int64_t i = 0; i < borrowed.count; ++i) {
      const auto at =
          static_cast<std::size_t>(std::find(shown.id.begin(), shown.id.end(), borrowed.id[i]) - shown.id.begin());
      ASSERT_LT(at, shown.id.size());
      EXPECT_EQ(static_cast<const double*>(borrowed.x)[i], shown.x[at]);
      EXPECT_EQ(static_cast<const double*>(borrowed.vz)[i], shown.vz[at]);
      EXPECT_EQ(static_cast<const double*>(borrowed.mass)[i], shown.mass[at]);
    }
  }
}

TEST(BorrowedParticles, LendingChangesNoBitAndCopiesNothing) {
  GravitySystem lending(leapfrog("direct"), plummer(100)), other(leapfrog("direct"), plummer(100));
  const void* place = lending.lend().x;
  for (int k = 1; k <= 4; ++k) {
    lending.run_until(0.125 * k), other.run_until(0.125 * k);
    EXPECT_EQ(lending.lend().x, place);
  }
  EXPECT_EQ(lending.particles().x, other.particles().x);
  EXPECT_EQ(lending.particles().vx, other.particles().vx);
}

/// A system that is moved as a whole moves on as before.
TEST(BorrowedParticles, WhatIsChangedIsTakenUp) {
  GravitySystem simulation(leapfrog("direct"), plummer(100));
  const double x = simulation.particles().x[0];
  const BorrowedParticles borrowed = simulation.lend();
  for (std::int64_t i = 0; i < borrowed.count; ++i) {
    static_cast<double*>(borrowed.x)[i] += 10;
    static_cast<double*>(borrowed.vx)[i] = static_cast<double*>(borrowed.vy)[i] = static_cast<double*>(borrowed.vz)[i] =
        0;
  }
  simulation.take_back();
  EXPECT_EQ(simulation.particles().x[0], x + 10);
  EXPECT_EQ(simulation.energies().kinetic, 0);
  simulation.run_until(0.125);
  EXPECT_GT(simulation.energies().kinetic, 0);  // it falls
  Energies after = simulation.energies();
  EXPECT_NEAR(after.momentum.x, 0, 1e-12);  // under forces of the new places, which add up to nothing
}

TEST(BorrowedParticles, AChangeThatIsNoNumberNamesTheParticle) {
  GravitySystem simulation(leapfrog("direct"), plummer(10));
  const BorrowedParticles borrowed = simulation.lend();
  static_cast<double*>(borrowed.y)[3] = std::numeric_limits<double>::quiet_NaN();
  try {
    simulation.take_back();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerics);
  }
}

TEST(BorrowedParticles, WhatSomebodyStillUsesIsHisOwn) {
  GravitySystem simulation(leapfrog("direct"), plummer(50));
  const BorrowedParticles borrowed = simulation.lend();
  auto* x = static_cast<double*>(borrowed.x);
  const double before = x[0];
  const auto kept = simulation.leave_borrowed();
  ASSERT_TRUE(kept);
  EXPECT_NE(simulation.lend().x, borrowed.x);
  EXPECT_EQ(simulation.particles().x[0], before);
  x[0] = 100;
  simulation.run_until(0.25);
  EXPECT_EQ(x[0], 100);
  EXPECT_LT(std::abs(simulation.particles().x[0] - before), 10);
}

TEST(BorrowedParticles, AreRefusedWhereParticlesHaveTimesOfTheirOwn) {
  RunConfig config = leapfrog("direct");
  config.time.integrator = "hermite";
  config.time.step = 0;
  GravitySystem simulation(config, plummer(10));
  EXPECT_THROW(simulation.lend(), Error);
}

TEST(SetParticles, TheSimulationGoesOnWithOthersAtItsTime) {
  GravitySystem simulation(leapfrog("direct"), plummer(50));
  simulation.run_until(0.5);
  Particles more = simulation.particles();
  Particles one;
  one.resize(1);
  one.id[0] = 1000, one.x[0] = 5;
  more.append(one);
  simulation.set_particles(more);
  EXPECT_EQ(simulation.size(), 51);
  EXPECT_EQ(simulation.time(), 0.5);
  EXPECT_EQ(simulation.start_time(), 0);
  simulation.run_until(1);
  EXPECT_EQ(simulation.counts().steps, 16);
  EXPECT_LT(simulation.particles().x[50], 5);  // it falls towards the others
}

TEST(SetParticles, TheReportCardComparesWithWhereTheOthersBegan) {
  RunConfig config = leapfrog("direct");
  config.expect = {{"return_distance", 0, 1}};
  GravitySystem simulation(config, plummer(50));
  const auto distance = [&] {
    for (const Check& check : simulation.checks({}, {}, [](const std::string&) {}))
      if (check.name == "return_distance") return check.measured;
    return std::nan("");
  };
  simulation.run_until(1);
  EXPECT_GT(distance(), 0);
  simulation.set_particles(plummer(70));
  EXPECT_EQ(distance(), 0);
}

}  // namespace
}  // namespace pergola

// What a plan makes of a trial: numbers with a known answer.
#include "run/work_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pergola {
namespace {

/// Work that grows with the square of the time.
WorkCurve quadratic(double until, double factor, double steps_factor) {
  WorkCurve curve;
  for (int k = 1; k <= 100; ++k) {
    const double t = until * k / 100;
    curve.add({t, steps_factor * t * t, factor * t * t});
  }
  return curve;
}

TEST(WorkCurve, LiesOnItsPointsAndGoesOnAsInTheLastHalf) {
  const WorkCurve curve = quadratic(2, 1, 3);
  EXPECT_NEAR(curve.at(1).particle_steps, 1, 1e-12);
  EXPECT_NEAR(curve.at(1).steps, 3, 1e-12);
  EXPECT_NEAR(curve.at(3).particle_steps, 4 + (4 - 1), 1e-12);  // three from 1 to 2, so three from 2 to 3
  EXPECT_EQ(curve.at(0).steps, 0);
}

TEST(WorkCurve, KeepsFewPointsOfManySteps) {
  WorkCurve curve;
  for (int k = 1; k <= 100000; ++k) curve.add({k * 1e-3, double(k), 2.0 * k});
  EXPECT_NEAR(curve.at(50).particle_steps, 1e5, 1e-6);
  EXPECT_NEAR(curve.length(), 100, 1e-9);
}

TEST(StepFit, TellsTheCostOfAStepFromThatOfItsParticles) {
  StepFit fit;
  for (const double particles : {1.0, 10.0, 1000.0, 3.0}) fit.add(1, particles, 2e-3 + 5e-6 * particles);
  EXPECT_NEAR(fit.parts().per_step, 2e-3, 1e-12);
  EXPECT_NEAR(fit.parts().per_particle_step, 5e-6, 1e-15);
}

TEST(StepFit, CountsParticlesOnlyWhereAllStepsAreAlike) {
  StepFit fit;
  for (int k = 0; k < 5; ++k) fit.add(1, 100, 0.5);
  EXPECT_EQ(fit.parts().per_step, 0);
  EXPECT_NEAR(fit.parts().per_particle_step, 0.005, 1e-15);
}

/// Steps that take as long as they have particles, and those after time 1 three times as long.
TEST(CostGrowth, IsThatOfTheWholeOverThatOfItsBeginning) {
  WorkCurve curve;
  for (int k = 1; k <= 40; ++k) {
    const double t = 0.1 * k;
    curve.add({t, 10 * t, 100 * t, t <= 1 ? t : 1 + 3 * (t - 1)});
  }
  const StepFit::Parts each{0, 1e-4};
  EXPECT_NEAR(cost_growth(curve, each, 50, 1, 2), (1 + 3) / 2.0, 1e-12);
  EXPECT_NEAR(cost_growth(curve, each, 50, 1, 4), (1 + 9) / 4.0, 1e-12);
  EXPECT_EQ(cost_growth(curve, each, 50, 1, 1), 1);
  EXPECT_EQ(cost_growth(curve, each, 50, 0.01, 4), 1);  // too short to be measured
}

TEST(ForetoldWork, IsThatOfTheSampleTimesWhatTheTrialMeasuredBesideIt) {
  // The run does three times the steps of its sample at any time; the growth that is assumed, none, is wrong.
  const WorkPoint work = foretell_work(quadratic(1, 30, 60), 1000, quadratic(4, 10, 20), 100, {}, 4);
  EXPECT_NEAR(work.particle_steps, 30 * 16, 1e-9);
  EXPECT_NEAR(work.steps, 60 * 16, 1e-9);
}

TEST(ForetoldWork, TrustsTheGrowthWhereTheTrialHasSeenFewSteps) {
  const WorkPoint work = foretell_work(quadratic(0.01, 30, 60), 1600, quadratic(4, 10, 20), 100,
                                       {.particle_steps = 0.25, .steps = 0.5}, 4);
  EXPECT_NEAR(work.particle_steps, 10 * 16 * 2, 1);
  EXPECT_NEAR(work.steps, 20 * 16 * 4, 2);
}

TEST(ForetoldWork, OfAUniverseGrowsMoreAfterTheTrialThanThatOfItsSample) {
  const WorkPoint work = foretell_work(quadratic(1, 10, 20), 1000, quadratic(4, 10, 20), 100, {}, 4, 2, 3);
  EXPECT_NEAR(work.particle_steps, 10 * (1 + 15 * 2), 1e-9);
  EXPECT_NEAR(work.steps, 20 * (1 + 15 * 3), 1e-9);
}

TEST(ForetoldWork, GoesOnWithTheTrialWhereTheSampleDidNotComeFurther) {
  const WorkPoint work = foretell_work(quadratic(2, 1, 1), 1000, quadratic(1, 10, 10), 100, {}, 3);
  EXPECT_NEAR(work.particle_steps, 7, 1e-12);
}

}  // namespace
}  // namespace pergola

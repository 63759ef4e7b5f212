// The fixed step of a leapfrog: chosen where it is not given, and a word where it is too long.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "marks.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr double softening = 0.02;

class LeapfrogStep : public DeviceTest {
 protected:
  static Particles stars() {
    ModelOptions options;
    options.n = 300;
    return make_model("plummer", options);
  }
  static SolverOptions gravity(double epsilon = softening) {
    SolverOptions options;
    options.softening = Softening::same(epsilon);
    return options;
  }
  static TimeOptions leapfrog(double step) {
    TimeOptions time;
    time.integrator = "leapfrog";
    time.step = step;
    return time;
  }
  std::unique_ptr<Integrator> make(const TimeOptions& time, const SolverOptions& options) const {
    return make_integrator(time, options, {device(1), serial_communicator(), nullptr});
  }
};

// Reference: Springel 2005, eq. 34, from the accelerations of a force evaluation.
TEST_P(LeapfrogStep, IsTheLongestPowerOfTwoWithinTheStepThatTheParticlesWant) {
  const auto p = stars();
  const Device d = device(1);  // one device: two have streams of their own
  const auto forces = evaluate_forces(*make_solver(gravity(), d), d, p, want_acceleration);
  double wanted = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < p.x.size(); ++k) {
    const double a = std::hypot(forces.ax[k], forces.ay[k], forces.az[k]);
    wanted = std::min(wanted, std::sqrt(2 * 0.02 * softening / a));
  }
  const double step = std::exp2(std::floor(std::log2(wanted)));
  const auto system = make(leapfrog(0), gravity());
  system->start(p, 0);
  ASSERT_EQ(system->choices().size(), 1u);
  EXPECT_NE(system->choices()[0].find("was chosen from the softening"), std::string::npos) << system->choices()[0];
  EXPECT_EQ(system->remark(), "");  // a choice is no warning
  system->advance(16 * step, nullptr);
  EXPECT_EQ(system->counts().steps, 16);
  EXPECT_EQ(system->time(), 16 * step);
}

TEST_P(LeapfrogStep, IsTheSameAfterAResume) {
  const auto whole = make(leapfrog(0), gravity()), first = make(leapfrog(0), gravity()),
             second = make(leapfrog(0), gravity());
  whole->start(stars(), 0);
  whole->finish(0.25);
  first->start(stars(), 0);
  first->advance(0.1, nullptr);
  second->restore(first->save());
  second->finish(0.25);
  EXPECT_EQ(second->counts().steps, whole->counts().steps);
  EXPECT_EQ(second->state_at(0.25).x, whole->state_at(0.25).x);
}

// Bodies of 1e-30 that hardly pull: the step that suits them is 1e13 times the run, which they fly through freely.
TEST_P(LeapfrogStep, MayBeLongerThanTheRunByAnyFactor) {
  auto p = stars();
  for (double& mass : p.mass) mass = 1e-30;
  const auto system = make(leapfrog(0), gravity());
  system->start(p, 0);
  system->finish(0.25);
  EXPECT_EQ(system->counts().steps, 1);
  EXPECT_DOUBLE_EQ(system->state_at(0.25).x[7], p.x[7] + 0.25 * p.vx[7]);
}

// With zero softening the step comes from acceleration and jerk.
TEST_P(LeapfrogStep, NeedsNoSoftening) {
  const auto system = make(leapfrog(0), gravity(0));
  system->start(stars(), 0);
  ASSERT_EQ(system->choices().size(), 1u);
  EXPECT_NE(system->choices()[0].find("was chosen from the jerks"), std::string::npos) << system->choices()[0];
}

TEST_P(LeapfrogStep, IsSaidToBeTooLongWhereItIs) {
  for (const double step : {1.0, 0.001}) {
    const auto system = make(leapfrog(step), gravity());
    system->start(stars(), 0);
    const bool said = system->remark().find("is too long for these particles") != std::string::npos;
    EXPECT_EQ(said, step == 1.0) << system->remark();
    EXPECT_TRUE(system->choices().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LeapfrogStep, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

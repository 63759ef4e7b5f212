#include "time/block_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "marks.hpp"
#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class StepClassesOn : public DeviceTest {
 protected:
  std::unique_ptr<Integrator> started(const TimeOptions& time) const {
    SolverOptions gravity;
    gravity.softening = Softening::same(0.01);
    auto system = make_integrator(time, gravity, {device(1), serial_communicator(), nullptr});
    ModelOptions options;
    options.n = 200;
    system->start(make_model("plummer", options), 0);
    return system;
  }
};

std::map<double, std::int64_t> by_length(const std::vector<StepClass>& classes) {
  std::map<double, std::int64_t> found;
  for (const StepClass& one : classes) found[one.length] += one.particles;
  EXPECT_EQ(found.size(), classes.size());
  EXPECT_TRUE(std::is_sorted(classes.begin(), classes.end(),
                             [](const StepClass& a, const StepClass& b) { return a.length > b.length; }));
  return found;
}

// Reference: the levels in the checkpoint, each particle's step being step_max / 2^level.
TEST_P(StepClassesOn, ADeviceCountTheParticlesOfEachBlockStep) {
  TimeOptions blocks = leapfrog(1);
  blocks.steps = "block";
  for (TimeOptions time : {blocks, hermite(0.02)}) {
    time.step_max = 0.0625;
    const auto system = started(time);
    for (const double at : {0.0, 0.3}) {
      system->advance(at, nullptr);
      std::map<double, std::int64_t> expected;
      for (const std::int8_t level : system->save().get<std::int8_t>("level", 200))
        ++expected[0.0625 / std::pow(2.0, level)];
      EXPECT_GT(expected.size(), 2u);
      EXPECT_EQ(by_length(system->step_classes()), expected) << time.integrator << " at " << at;
    }
  }
}

TEST_P(StepClassesOn, ADeviceAreOneWhereTheStepIsShared) {
  const std::map<double, std::int64_t> fixed{{1.0 / 64, 200}};
  EXPECT_EQ(by_length(started(leapfrog(1.0 / 64))->step_classes()), fixed);

  // Reference: how far the next step goes.
  TimeOptions adaptive = leapfrog(0);
  adaptive.adaptive = true;
  const auto system = started(adaptive);
  const auto next = system->step_classes();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].particles, 200);
  system->pause_every(1);
  system->advance(1, [] { return true; });
  EXPECT_EQ(system->time(), next[0].length);
}

INSTANTIATE_TEST_SUITE_P(Devices, StepClassesOn, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

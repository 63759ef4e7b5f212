#include <gtest/gtest.h>

#include "marks.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class Collision : public DeviceTest {
 protected:
  /// What a run of these bodies, whose ids are 107, 106, …, says when it stops.
  std::string message(Particles p, const TimeOptions& time, const std::string& solver = "direct",
                      double epsilon = 0) const {
    for (std::size_t i = 0; i < p.id.size(); ++i) p.id[i] = 107 - i;
    SolverOptions gravity;
    gravity.solver = solver;
    gravity.precision = Precision::single;
    gravity.softening = Softening::same(epsilon);
    const auto system = make_integrator(time, gravity, {device(1), serial_communicator(), nullptr});
    try {
      system->start(p, 0);
      system->finish(1);
    } catch (const CoincidentParticles& found) {
      return found.what();
    }
    return "no collision";
  }
};

TimeOptions block_leapfrog(double longest) {
  TimeOptions time;
  time.integrator = "leapfrog";
  time.steps = "block";
  time.step_max = longest;
  return time;
}

/// Places 1 and 3 are one at the start.
Particles together() {
  return bodies({{1, {5, 0, 0}, {}}, {1, {0, 1, 0}, {}}, {1, {0, 0, -5}, {}}, {1, {0, 1, 0}, {}}});
}

/// Without mass and so without forces: places 1 and 3 meet at time 1/2, in whole numbers of 1/16.
Particles meeting() {
  return bodies({{0, {5, 0, 0}, {}}, {0, {0.5, 1, 0}, {-1, 0, 0}}, {0, {0, 0, -5}, {}}, {0, {-0.5, 1, 0}, {1, 0, 0}}});
}

bool names(const std::string& message, const std::string& one, const std::string& other) {
  return message.find("ids " + one + " and " + other + " ") != std::string::npos ||
         message.find("ids " + other + " and " + one + " ") != std::string::npos;
}

TEST_P(Collision, AtTheStartIsNamedByIds) {
  for (const TimeOptions& time : {leapfrog(1.0 / 16), hermite(0.01)})
    EXPECT_TRUE(names(message(together(), time), "106", "104")) << message(together(), time);
  const auto tree = message(together(), leapfrog(1.0 / 16), "tree");
  EXPECT_TRUE(names(tree, "106", "104")) << tree;
}

// Block steps want a softening length: one whose square is below all floats.
TEST_P(Collision, InABlockStepIsNamedByIds) {
  const auto found = message(together(), block_leapfrog(1.0 / 16), "direct", 1e-30);
  EXPECT_TRUE(names(found, "106", "104")) << found;
}

TEST_P(Collision, DuringTheRunIsNamedByIdsAndTime) {
  const auto found = message(meeting(), leapfrog(1.0 / 16));
  EXPECT_TRUE(names(found, "106", "104")) << found;
  EXPECT_NE(found.find("at time 0.5 "), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(Devices, Collision, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

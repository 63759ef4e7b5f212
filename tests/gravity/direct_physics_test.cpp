#include <gtest/gtest.h>

#include <cmath>

#include "gravity/solver.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class DirectSolver : public DeviceTest {};

// Reference: Newton's law for two bodies, by hand.
TEST_P(DirectSolver, TwoBodiesAttractWithTheInverseSquare) {
  Particles p;
  p.resize(2);
  p.mass = {3.0, 5.0};
  p.x = {0.0, 2.0};
  SolverOptions options;
  options.precision = Precision::full;
  const auto d = device();
  const auto solver = make_solver(options, d);
  const auto f = evaluate_forces(*solver, d, options.precision, p, want_acceleration | want_potential);
  EXPECT_NEAR(f.ax[0], 5.0 / 4.0, 1e-15);
  EXPECT_NEAR(f.ax[1], -3.0 / 4.0, 1e-15);
  EXPECT_NEAR(f.potential[0], -5.0 / 2.0, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(Devices, DirectSolver, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

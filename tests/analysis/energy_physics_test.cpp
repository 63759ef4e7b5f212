#include <gtest/gtest.h>

#include <cmath>

#include "analysis/energy.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class EnergyUnderTheTree : public DeviceTest {};

// Reference: the sum over all pairs. So many particles are summed by a tree, whose error is some 1e-6.
TEST_P(EnergyUnderTheTree, IsThatOfAllPairs) {
  ModelOptions options;
  options.n = 33000;
  const auto p = make_model("plummer", options);
  SolverOptions gravity;
  gravity.softening = Softening::same(0.01);
  const double pairs = measure_energies(p, device(), gravity).potential;
  gravity.solver = "tree";
  gravity.precision = Precision::single;
  const double tree = measure_energies(p, device(), gravity).potential;
  EXPECT_NEAR(tree, pairs, 1e-5 * std::abs(pairs));
  EXPECT_NE(tree, pairs);
}

INSTANTIATE_TEST_SUITE_P(Devices, EnergyUnderTheTree, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

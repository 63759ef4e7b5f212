#include <gtest/gtest.h>

#include <cmath>

#include "analysis/energy.hpp"
#include "analysis/radii.hpp"
#include "marks.hpp"
#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
PERGOLA_MARK(slow, "*");

namespace {

class TreeEquilibrium : public DeviceTest {};

// Reference: a Plummer model is an equilibrium and its energy is conserved. Twenty crossing times of 2√2 with N = 10⁵:
// the relaxation time is a thousand times longer.
TEST_P(TreeEquilibrium, PlummerModelKeepsItsEnergyForTwentyCrossingTimes) {
  ModelOptions model;
  model.n = 100000;
  const auto before = make_model("plummer", model);
  SolverOptions gravity;
  gravity.solver = "tree";
  gravity.softening = Softening::same(0.05);
  gravity.precision = Precision::single;
  gravity.tree.accuracy = 1e-2;
  const auto d = device();
  const auto system = make_integrator(leapfrog(1.0 / 16), gravity, {d, serial_communicator(), nullptr});
  system->start(before, 0);
  const double end = 20 * 2 * std::sqrt(2.0);
  system->finish(end);
  const auto after = system->state_at(end);
  const double start_energy = measure_energies(before, d, gravity).total();
  const auto end_energies = measure_energies(after, d, gravity);
  EXPECT_LT(std::abs(end_energies.total() / start_energy - 1), 1e-3);
  EXPECT_NEAR(end_energies.virial_ratio(), 0.5, 0.02);
  EXPECT_NEAR(half_mass_radius(after) / half_mass_radius(before), 1, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Devices, TreeEquilibrium, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include "analysis/energy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "marks.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class EnergyOf : public DeviceTest {};

// Reference: two bodies by hand.
TEST_P(EnergyOf, TwoBodiesIsThatOfTheTextbook) {
  Particles p;
  p.resize(2);
  p.mass = {2, 3};
  p.x = {0, 3};
  p.y = {0, 4};
  p.vx = {1, 0};
  p.vy = {0, 2};
  SolverOptions gravity;
  gravity.gravitational_constant = 10;
  const auto e = measure_energies(p, device(), gravity);
  EXPECT_DOUBLE_EQ(e.kinetic, 0.5 * 2 * 1 + 0.5 * 3 * 4);
  EXPECT_DOUBLE_EQ(e.potential, -10.0 * 2 * 3 / 5);
  EXPECT_DOUBLE_EQ(e.virial_ratio(), 7.0 / 12);
  EXPECT_DOUBLE_EQ(e.momentum.x, 2);
  EXPECT_DOUBLE_EQ(e.momentum.y, 6);
  EXPECT_DOUBLE_EQ(e.angular_momentum.z, 3 * 3 * 2);
}

// Reference: two bodies and two potentials by hand: a pair counts once, an external potential in full.
TEST_P(EnergyOf, TwoBodiesInExternalPotentialsCountsThoseInFull) {
  Particles p;
  p.resize(2);
  p.mass = {2, 3};
  p.x = {0, 3};
  p.y = {0, 4};
  SolverOptions gravity;
  gravity.gravitational_constant = 10;
  gravity.external.resize(2);
  gravity.external[0].mass = 7;
  gravity.external[0].softening = 12;
  gravity.external[1].kind = physics::ExternalKind::logarithmic;
  gravity.external[1].speed = 2, gravity.external[1].radius = 5;
  const double point = -10.0 * 7 * (2.0 / 12 + 3.0 / 13), halo = 3 * 0.5 * 4 * std::log(2.0);
  EXPECT_DOUBLE_EQ(measure_energies(p, device(), gravity).potential, -10.0 * 2 * 3 / 5 + point + halo);
}

// Reference: µ v²/2 − G m₁ m₂/r of the two, by hand, whatever moves them together and pulls from outside.
TEST_P(EnergyOf, WhatIsInternalKnowsNeitherTheFieldNorTheOrbitInIt) {
  Particles p;
  p.resize(2);
  p.mass = {2, 3};
  p.x = {100, 103}, p.y = {0, 4};
  p.vx = {50, 50}, p.vy = {20, 21};
  SolverOptions gravity;
  gravity.gravitational_constant = 10;
  gravity.external.resize(1);
  gravity.external[0].mass = 1e6;
  EXPECT_NEAR(measure_energies(p, device(), gravity).internal, -(1.2 * 1 / 2 - 10.0 * 2 * 3 / 5), 1e-10);
  p.vy[1] = 24.5;  // T + W nearly vanishes: then half of |W| counts
  EXPECT_NEAR(measure_energies(p, device(), gravity).internal, 10.0 * 2 * 3 / 5 / 2, 1e-10);
}

// Reference: the same sums in another order of threads: the chunks are fixed.
TEST_P(EnergyOf, ManyBodiesHasTheSameBitsForAnyThreadCount) {
  ModelOptions options;
  options.n = 5000;
  const auto p = make_model("plummer", options);
  const auto one = measure_energies(p, device(1), {}), seven = measure_energies(p, device(7), {});
  EXPECT_EQ(one.kinetic, seven.kinetic);
  EXPECT_EQ(one.potential, seven.potential);
  EXPECT_EQ(one.angular_momentum.x, seven.angular_momentum.x);
}

INSTANTIATE_TEST_SUITE_P(Devices, EnergyOf, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

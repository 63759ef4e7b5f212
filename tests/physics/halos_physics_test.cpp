#include "physics/halos.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace pergola {
namespace {

// Reference: ellipsoidal collapse puts all mass into halos; Sheth & Tormen's constant is chosen for that,
// 1/A = 1 + 2^(−p) Γ(1/2 − p)/√π.
TEST(HaloMassFunction, ShethAndTormenCountAllMass) {
  double sum = 0;
  const double step = 0.01;
  for (double log_nu = -60; log_nu < 4; log_nu += step)
    sum += step * physics::sheth_tormen_multiplicity(physics::collapse_contrast / std::exp(log_nu));
  EXPECT_NEAR(sum, 1, 2e-4);
}

// Reference: worked out by hand from the papers' tables.
TEST(HaloMassFunction, MultiplicitiesAreThoseOfThePapers) {
  EXPECT_NEAR(physics::sheth_tormen_multiplicity(1), 0.2416, 2e-4);
  EXPECT_NEAR(physics::tinker_multiplicity(1, 0), 0.2832, 2e-4);
  // z = 1: A = 0.1688, a = 1.4101, log α = −(0.75/log(200/75))^1.2 = −1.9716, b = 2.57 · 2^(−0.01068) = 2.5511.
  EXPECT_NEAR(physics::tinker_multiplicity(0.8, 1), 0.1688 * (5.1306 + 1) * 0.15577, 1e-4);
}

// Reference: for P ∝ kⁿ σ falls as R^(−(n+3)/2), so that d ln σ⁻¹/d ln M = (n+3)/6.
TEST(HaloMassFunction, CountsHalosBySlopeAndVolume) {
  const physics::LinearPower power([](double) { return 1.0; }, -1.5, 0.8);
  const double radius = 5, volume = 4 * std::numbers::pi / 3 * 125;
  EXPECT_NEAR(physics::halos_per_log_mass(power, radius, 1, [](double) { return 1.0; }) * volume, 0.25, 1e-3);
  double seen = 0;
  physics::halos_per_log_mass(power, 8, 0.5, [&](double sigma) { return seen = sigma; });
  EXPECT_NEAR(seen, 0.4, 1e-12);
}

}  // namespace
}  // namespace pergola

#include "sim/plasma_wave_theory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace pergola {
namespace {

PlasmaOptions long_box() {
  PlasmaOptions options;
  options.cells = {256, 4, 1};
  return options;
}

/// Two equal streams against each other, with k v = √(3/8) for the second mode.
std::vector<PlasmaKind> two_streams(double thermal_speed) {
  const double drift = std::sqrt(3.0 / 8) * 256 / (4 * std::numbers::pi);
  const Vec3<double> thermal{thermal_speed, thermal_speed, 0};
  return {{0.5, thermal, {drift, 0, 0}}, {0.5, thermal, {-drift, 0, 0}}};
}

// Reference: Birdsall & Langdon 1985, section 5-6: the fastest wave of two cold equal streams grows with ω_p/√8. The
// cloud of the particles takes 0.1 % here.
TEST(WaveTheory, ColdStreamsGrowWithThePublishedRate) {
  EXPECT_NEAR(wave_theory(long_box(), two_streams(0), {2, 0, 0}).imag(), 1 / std::sqrt(8.0), 1e-3);
  EXPECT_NEAR(wave_theory(long_box(), two_streams(0), {2, 0, 0}).real(), 0, 1e-9);
}

TEST(WaveTheory, WarmthSlowsTheGrowth) {
  const double cold = wave_theory(long_box(), two_streams(0), {2, 0, 0}).imag();
  const double warm = wave_theory(long_box(), two_streams(0.6), {2, 0, 0}).imag();
  EXPECT_LT(warm, cold);
  EXPECT_GT(warm, 0.95 * cold);
}

// Reference: Landau damping at k λ_D = 0.5: ω = 1.4156, γ = −0.1533 (Canosa 1973).
TEST(WaveTheory, APlasmaAtRestHasTheLangmuirWave) {
  const double k = 2 * std::numbers::pi / 256;
  const auto root = wave_theory(long_box(), {{1, {0.5 / k, 0.5 / k, 0}, {}}}, {1, 0, 0});
  EXPECT_NEAR(root.real(), 1.4156, 2e-3);
  EXPECT_NEAR(root.imag(), -0.1533, 2e-3);
}

TEST(WaveTheory, WhatItDoesNotKnowIsNotANumber) {
  PlasmaOptions turned = long_box();
  turned.magnetic_field = {0, 0, 1};
  EXPECT_TRUE(std::isnan(wave_theory(turned, two_streams(0), {2, 0, 0}).imag()));
  EXPECT_TRUE(std::isnan(wave_theory(long_box(), {}, {2, 0, 0}).imag()));
  EXPECT_TRUE(std::isnan(wave_theory(long_box(), two_streams(0), {0, 0, 0}).imag()));
  EXPECT_TRUE(std::isnan(wave_theory(long_box(), two_streams(0), {40, 0, 0}).imag()));  // too short to grow
}

}  // namespace
}  // namespace pergola

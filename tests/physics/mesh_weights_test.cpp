#include "physics/mesh_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "physics/mesh_stencils.hpp"

namespace pergola::physics {

namespace {

template <int order>
void expect_moments(double variance) {
  for (double u = -1; u < 3; u += 0.01) {
    const auto cloud = axis_weights<order>(u);
    double sum = 0, mean = 0, square = 0;
    for (int k = 0; k < order; ++k) {
      const double centre = cloud.first + k + 0.5;
      EXPECT_GE(cloud.weight[k], 0);
      sum += cloud.weight[k];
      mean += cloud.weight[k] * centre;
      square += cloud.weight[k] * (centre - u) * (centre - u);
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_NEAR(mean, u, order > 1 ? 1e-14 : 0.5);
    EXPECT_NEAR(square, variance, order > 2 ? 1e-14 : 0.25 + 1e-14);
  }
}

// A cloud's mass and centre are the particle's; the triangular cloud has the same spread everywhere, 1/4, and so has
// the cubic spline, 1/3: those of three and four boxes of one cell, one after the other, 1/12 each.
TEST(MeshWeights, CloudsKeepMassCentreAndSpread) {
  expect_moments<1>(0);
  expect_moments<2>(0);
  expect_moments<3>(0.25);
  expect_moments<4>(1.0 / 3);
}

TEST(MeshWeights, QuantumKeepsTheSumsWithinTheirBits) {
  for (const double total : {1e-3, 1.0, 1e12}) {
    for (const double part : {1.0, 1e-3, 1e-9}) {
      const double quantum = mass_quantum(total, total * part);
      EXPECT_LE(total / quantum, most_in_all);
      EXPECT_LE(total * part / quantum, most_quanta);
      EXPECT_GT(std::max(total / most_in_all, total * part / most_quanta), quantum / 2 * (1 - 1e-12));
    }
  }
  EXPECT_GT(mass_quantum(0, 0), 0);
}

template <bool four_point>
void expect_slope(bool wraps) {
  const double values[8] = {1, 3, 5, 7, 9, 11, 13, 15};
  for (int i = wraps ? 2 : 0; i < (wraps ? 6 : 8); ++i)
    EXPECT_NEAR((axis_force<four_point, double>([&](int j) { return values[j]; }, i, 8, wraps, 2.0)), -4, 1e-14);
}

TEST(MeshGradient, ConstantSlopeIsExactUpToTheFaces) {
  expect_slope<false>(false);
  expect_slope<true>(false);
  expect_slope<false>(true);
  expect_slope<true>(true);
}

TEST(MeshGradient, PotentialThatWrapsIsReadFromTheOtherSide) {
  const double values[8] = {0, 1, 0, 0, 0, 0, 0, 0};
  const auto read = [&](int j) { return values[j]; };
  EXPECT_NEAR((axis_force<false, double>(read, 0, 8, true, 1.0)), -0.5, 1e-15);
  EXPECT_NEAR((axis_force<true, double>(read, 7, 8, true, 1.0)), 1.0 / 12, 1e-15);
}

}  // namespace

}  // namespace pergola::physics

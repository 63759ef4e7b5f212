#include <gtest/gtest.h>

#include <cmath>

#include "physics/green.hpp"
#include "physics/split.hpp"

namespace pergola::physics {
namespace {

constexpr double four_pi = 4 * 3.14159265358979323846;

// Reference: Boys' function F_0, by which the split law is known to the tree: erf(α r)/r = 2α/√π F_0(α² r²).
TEST(OpenSpaceCloudGreen, IsTheLongRangeOfTheSplitLawFromTheCentreOn) {
  const double split = 0.7, alpha = 1 / (2 * split), volume = 0.3;
  for (const double r : {0.0, 1e-9, 1e-5, 1e-4, 2e-4, 0.1, 1.0, 6.0}) {
    const double expected = -volume / four_pi * 2 * alpha / std::sqrt(four_pi / 4) * boys(0, alpha * alpha * r * r);
    EXPECT_NEAR(open_space_cloud_green(0.6 * r, 0, -0.8 * r, volume, split_smoothing(split)), expected,
                1e-12 * std::abs(expected))
        << r;
  }
}

// Reference: what it stands for. A function of it is even about n, and smooth there: its highest waves on the 2n points
// are small, where those of the plain distance, with its corner, are not.
TEST(RoundedDistance, IsTheDistanceOfPairsAndHasNoCorner) {
  for (const int n : {16, 40}) {
    double plain = 0, rounded = 0;  // the wave that changes its sign from point to point, over all 2n
    for (int d = 0; d <= n; ++d) {
      if (d <= n - 2 * rounded_margin) {
        EXPECT_NEAR(rounded_distance(d, n), d, 2e-7);
      }
      const double weight = (d % 2 ? -1.0 : 1.0) * (d == 0 || d == n ? 1 : 2);
      // Apart from the corner at d = 0, which a law that is smooth there does not have.
      plain += weight * d * d, rounded += weight * rounded_distance(d, n) * rounded_distance(d, n);
    }
    EXPECT_GT(std::abs(plain), 0.9 * n);
    EXPECT_LT(std::abs(rounded), 1e-4 * n);
    EXPECT_GT(rounded_distance(n, n), n - rounded_margin);
  }
}

}  // namespace
}  // namespace pergola::physics

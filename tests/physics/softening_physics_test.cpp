#include <gtest/gtest.h>

#include <cmath>

#include "physics/pair.hpp"

namespace pergola::physics {
namespace {

constexpr double epsilon = 0.37, h = 2.8 * epsilon;

/// Acceleration towards a unit mass at distance r, and −its potential.
struct Law {
  double a, p;
};
template <class R = double>
Law law(double r) {
  PairSum<R> sum{};
  const Vec3<R> d{static_cast<R>(r), 0, 0};
  const auto number = static_cast<R>(softening_number(SofteningKernel::spline, epsilon * epsilon));
  add_spline_pair<false, true, R>(d, d, R(1), d.x * d.x, number, sum);
  return {sum.ax, -sum.pot};
}

// Reference: Newton's law.
TEST(SplineSoftening, IsNewtonsLawBeyondTheSpline) {
  for (double r = h; r < 20 * h; r *= 1.07) {
    EXPECT_NEAR(law(r).a * r * r, 1, 1e-15);
    EXPECT_NEAR(law(r).p * r, 1, 1e-15);
    EXPECT_NEAR(law<float>(r).a * r * r, 1, 4e-7);
  }
}

// Reference: 1/ε, the potential of a Plummer sphere at its centre.
TEST(SplineSoftening, HasThePotentialOfPlummerAtTheCentre) {
  EXPECT_NEAR(law(0).p * epsilon, 1, 1e-15);
  EXPECT_EQ(law(0).a, 0);
  EXPECT_NEAR(law<float>(0).p * epsilon, 1, 1e-7);
}

// Reference: the potential, differentiated numerically (fourth order).
TEST(SplineSoftening, ForceIsMinusTheGradientOfThePotential) {
  const double step = 1e-3 * h;
  for (double u = 0.013; u < 1.3; u += 0.00917) {
    const double r = u * h;
    const double slope =
        (8 * (law(r + step).p - law(r - step).p) - (law(r + 2 * step).p - law(r - 2 * step).p)) / (12 * step);
    EXPECT_NEAR(law(r).a * h * h, -slope * h * h, 1e-8) << u;
  }
}

// Both sides are evaluated within a rounding error of the seam.
TEST(SplineSoftening, IsContinuousWhereThePiecesMeet) {
  for (double u : {0.5, 1.0}) {
    const double below = u * h * (1 - 1e-15), above = u * h * (1 + 1e-15);
    EXPECT_NEAR(law(below).a / law(above).a, 1, 1e-14);
    EXPECT_NEAR(law(below).p / law(above).p, 1, 1e-14);
  }
}

// Reference: the acceleration of a moving source, differentiated numerically by time.
TEST(SplineSoftening, JerkIsTheDerivativeOfTheAcceleration) {
  const double number = softening_number(SofteningKernel::spline, epsilon * epsilon);
  const Vec3<double> w{0.3, -0.7, 0.2};
  for (double u : {0.1, 0.45, 0.55, 0.9, 1.2}) {
    const Vec3<double> d{0.6 * u * h, 0.8 * u * h, 0};
    const auto at = [&](double t) {
      PairSum<double> sum{};
      const Vec3<double> x = d + t * w;
      add_spline_pair<true, false>(x, w, 1.0, dot(x, x), number, sum);
      return sum;
    };
    const double step = 1e-4;
    EXPECT_NEAR(at(0).jx, (at(step).ax - at(-step).ax) / (2 * step), 1e-5) << u;
    EXPECT_NEAR(at(0).jy, (at(step).ay - at(-step).ay) / (2 * step), 1e-5) << u;
    EXPECT_NEAR(at(0).jz, (at(step).az - at(-step).az) / (2 * step), 1e-5) << u;
  }
}

}  // namespace
}  // namespace pergola::physics

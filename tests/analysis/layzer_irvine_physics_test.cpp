#include "analysis/layzer_irvine.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pergola {
namespace {

/// Energies for which the equation holds exactly, T first growing as a and then falling as a⁻³: ∫ T da is closed.
constexpr double bend = 0.3;
double kinetic(double a) {
  const double b = a / bend, c = 1 + b * b;
  return b / (c * c);
}
double kinetic_integral(double from, double to) {
  const auto up_to = [](double a) { return -bend / (2 * (1 + a * a / (bend * bend))); };
  return up_to(to) - up_to(from);
}

/// What the equation misses at the end of so many lines, evenly spaced in ln a.
double residual(int lines, double begin = 0.02, double end = 1) {
  LayzerIrvine equation;
  double last = 0;
  for (int k = 0; k < lines; ++k) {
    const double a = begin * std::pow(end / begin, k / (lines - 1.0)), t = kinetic(a);
    const double w = (-1 - a * t - kinetic_integral(begin, a)) / a;
    last = equation.add(a, t, w);
  }
  return std::abs(last);
}

// Reference: the integral in closed form. The error of a cubic falls with the fourth power of the spacing.
TEST(LayzerIrvine, FewLinesAreEnough) {
  EXPECT_LT(residual(11), 2e-4);
  EXPECT_LT(residual(21), 2e-5);
  EXPECT_GT(residual(21) / residual(41), 10);
}

/// Two lines know a power only; a third at the same time as the second, as at the end of a run, adds nothing.
TEST(LayzerIrvine, ALineTwiceIsOneLine) {
  LayzerIrvine once, twice;
  for (const double a : {0.1, 0.2, 0.4, 0.4}) twice.add(a, kinetic(a), -1 / a);
  for (const double a : {0.1, 0.2, 0.4}) once.add(a, kinetic(a), -1 / a);
  EXPECT_EQ(once.integral(), twice.integral());
  LayzerIrvine power;
  power.add(0.1, 0.01, -1);
  power.add(0.2, 0.04, -1);  // T = a²
  EXPECT_NEAR(power.integral(), (0.008 - 0.001) / 3, 1e-12);
}

/// Matter at rest at first.
TEST(LayzerIrvine, NoMotionIsNoError) {
  LayzerIrvine equation;
  EXPECT_EQ(equation.add(0.1, 0, -1), 0);
  EXPECT_TRUE(std::isfinite(equation.add(0.2, 0, -0.5)));
  EXPECT_TRUE(std::isfinite(equation.add(0.4, 0.1, -0.4)));
  EXPECT_TRUE(std::isfinite(equation.add(0.5, 0.2, -0.5)));
  EXPECT_GT(equation.integral(), 0);
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "physics/ewald.hpp"
#include "physics/green.hpp"
#include "physics/numerics.hpp"
#include "physics/pair.hpp"
#include "physics/split.hpp"

namespace pergola::physics {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double split = 0.4, alpha = 1 / (2 * split), cut_off = 7 * split;
constexpr int order = 5;

/// Reference: the integral over all waves, ∫ 4π/k² e^{−k²r_s²} sin(kr)/(kr) 4πk² dk / (2π)³, must be erf(αr)/r.
TEST(Split, GreenFactorIsThatOfTheLongRangeLaw) {
  for (const double r : {0.1, 0.5, 1.0, 2.5}) {
    double sum = 0;
    const double dk = 1e-3;
    for (double k = 0.5 * dk; k < 20; k += dk) {
      EXPECT_NEAR(split_window(k, split), gaussian_window(k, split_smoothing(split)), 1e-14);
      sum += 2 / pi * split_window(k, split) * std::sin(k * r) / (k * r) * dk;
    }
    EXPECT_NEAR(sum, std::erf(alpha * r) / r, 1e-6);
    EXPECT_NEAR(sum, 2 * alpha / std::sqrt(pi) * boys(0, alpha * alpha * r * r), 1e-6);
  }
  EXPECT_NEAR(split_self_potential(split), std::erf(alpha * 1e-6) / 1e-6, 1e-9);
}

/// Reference: the same integral with the factor for Plummer's softening must be erf(αs)/s, s² = r² + ε²; the factor
/// itself by quadrature.
TEST(Split, GreenFactorOfASoftenedLongRange) {
  for (const double epsilon : {0.05, 0.1, 0.2}) {
    const double q = std::pow(epsilon / (2 * split), 2), limit = 1e-4 * std::pow(epsilon / 0.2, 2);
    for (const double x : {1e-4, 0.01, 0.3, 1.0, 4.0, 12.0}) {
      const auto wave = [&](double y) { return std::exp(-x * (1 / y - 1) - q * y) / (y * y); };  // y = 1/v
      EXPECT_NEAR(softened_split_factor(x, q), x * integrate(wave, 1e-12, 1.0, 1e-11, 40), limit) << x;
      EXPECT_NEAR(softened_split_factor(static_cast<float>(x), static_cast<float>(q)), softened_split_factor(x, q),
                  1e-6);
    }
    for (const double r : {0.1, 0.5, 1.0, 2.5}) {
      double sum = 0;
      const double dk = 1e-3, s = std::sqrt(r * r + epsilon * epsilon);
      for (double k = 0.5 * dk; k < 20; k += dk)
        sum += 2 / pi * split_window(k, split) * softened_split_factor(k * k * split * split, q) * std::sin(k * r) /
               (k * r) * dk;
      EXPECT_NEAR(sum, std::erf(alpha * s) / s, limit) << r;
    }
    EXPECT_NEAR(split_self_potential(split, epsilon), std::erf(alpha * epsilon) / epsilon, 1e-12);
  }
}

/// Reference: a sum over points of a box of sides 3, 4 and 5.
TEST(Split, MeanPotentialOfASoftenedLongRange) {
  const double epsilon = 0.2, h = 0.05;
  double sum = 0;
  for (double x = h / 2; x < 1.5; x += h)
    for (double y = h / 2; y < 2; y += h)
      for (double z = h / 2; z < 2.5; z += h) {
        const double r = std::sqrt(x * x + y * y + z * z), s = std::sqrt(r * r + epsilon * epsilon);
        sum += 8 * h * h * h * (std::erf(alpha * r) / r - std::erf(alpha * s) / s);
      }
  EXPECT_NEAR(softened_mean_potential(split, epsilon, {3, 4, 5}), sum / 60, 1e-4 * sum / 60);
  EXPECT_EQ(softened_mean_potential(split, 0, {3, 4, 5}), 0);
}

/// Reference: ∫ erfc(αr)/r 4πr² dr over all space.
TEST(Split, MeanPotentialOfTheShortRange) {
  double sum = 0;
  for (double r = 5e-5; r < 8; r += 1e-4) sum += std::erfc(alpha * r) * 4 * pi * r * 1e-4;
  EXPECT_NEAR(split_mean_potential(split, 3.0), sum / 3, 1e-6);
}

/// The pair law with a softening number, acceleration along x and potential.
template <class Law, class T>
void expect_short_range(double r, double number, double softened_force, double softened_potential, double tolerance) {
  const auto law = make_split_law<T>(split, cut_off, order);
  const Vec3<T> d{static_cast<T>(r), 0, 0};
  PairSum<T> sum{};
  const T square = softened_square(d, T(0));
  add_short_range_pair<Law, true, split_terms<T>>(law, d, T(2), square, Law::start(d, static_cast<T>(number)),
                                                  static_cast<T>(number), sum);
  // Ewald's short-range part is Newton's law less the long range.
  const double long_force = 1 / (r * r) - ewald_short_range(alpha, {r, 0, 0}).x;
  const double long_potential = std::erf(alpha * r) / r;
  EXPECT_NEAR(sum.ax, 2 * (softened_force - long_force), tolerance * 2 * softened_force) << r;
  EXPECT_NEAR(sum.pot, -2 * (softened_potential - long_potential), tolerance * 2 * softened_potential) << r;
  EXPECT_EQ(sum.ay, T(0));
}

TEST(Split, PairLawIsTheSoftenedLawLessTheLongRange) {
  for (const double r : {0.03, 0.2, 0.8, 1.7, 2.7}) {
    for (const double epsilon : {0.0, 0.05, 0.3}) {
      const double s = std::sqrt(r * r + epsilon * epsilon);
      expect_short_range<PlummerLaw, double>(r, epsilon * epsilon, r / (s * s * s), 1 / s, 1e-12);
      expect_short_range<PlummerLaw, float>(r, epsilon * epsilon, r / (s * s * s), 1 / s, 2e-6);
    }
    const double number = softening_number(SofteningKernel::spline, 0.01);
    PairSum<double> spline{};
    SplineLaw::add<false, true>({r, 0, 0}, {r, 0, 0}, 1.0, r * r, number, spline);
    expect_short_range<SplineLaw, double>(r, number, spline.ax, -spline.pot, 1e-12);
    expect_short_range<SplineLaw, float>(r, number, spline.ax, -spline.pot, 2e-6);
  }
}

/// Reference: Ewald's short-range part. Few terms are to err by less than the cut-off leaves out.
template <int terms>
void expect_terms_do(double reach) {
  const auto law = make_split_law<float>(split, reach * split, order);
  ASSERT_EQ(law.terms, terms);
  const double last = reach * split, left_out = ewald_short_range(alpha, {last, 0, 0}).x * last * last;
  for (double r = 0.02; r < 0.999 * last; r += 0.01) {
    const Vec3<float> d{static_cast<float>(r), 0, 0};
    const double exact = d.x;
    PairSum<float> sum{};
    add_short_range_pair<PlummerLaw, true, terms>(law, d, 1.0f, softened_square(d, 0.0f), PlummerLaw::start(d, 0.0f),
                                                  0.0f, sum);
    const double newton = 1 / (exact * exact);
    EXPECT_NEAR(sum.ax, ewald_short_range(alpha, {exact, 0, 0}).x, newton * std::min(3e-5, 0.2 * left_out)) << r;
    EXPECT_NEAR(sum.pot, -std::erfc(alpha * exact) / exact, 5e-6 / exact) << r;
  }
}
TEST(Split, FewTermsDoWhereTheCutOffIsNear) {
  for (const double reach : {4.6, 5.0, 5.3}) expect_terms_do<fewest_split_terms<float>>(reach);
  for (const double reach : {5.4, 5.8, 6.4}) expect_terms_do<few_split_terms<float>>(reach);
  EXPECT_EQ(make_split_law<float>(split, 7 * split, order).terms, split_terms<float>);
}

TEST(Split, NothingActsBeyondTheCutOff) {
  const auto law = make_split_law<float>(split, cut_off, order);
  for (const float r : {1.001f * static_cast<float>(cut_off), 1e3f, 1e15f}) {
    const Vec3<float> d{r, 0, 0};
    PairSum<float> sum{};
    add_short_range_pair<PlummerLaw, true, split_terms<float>>(law, d, 1.0f, r * r, PlummerLaw::start(d, 0.0f), 0.0f,
                                                               sum);
    EXPECT_EQ(sum.ax, 0.0f) << r;
    EXPECT_EQ(sum.pot, 0.0f) << r;
  }
}

/// Reference: the recursion of Ewald sums of multipoles (Smith 1982), B_0 = erfc(αr)/r, B_l = ((2l − 1) B_{l−1} +
/// (2α²)^l e^{−α²r²} / (α√π)) / r², g_l = (−1)^l B_l, and what softening changes beside it.
template <class T>
void expect_derivatives(double r, double epsilon, double tolerance) {
  const auto law = make_split_law<T>(split, cut_off, order);
  const double s = std::sqrt(r * r + epsilon * epsilon);
  T g[order + 1];
  short_range_radial_derivatives<order>(law, static_cast<T>(r * r), static_cast<T>(s * s), static_cast<T>(1 / s), g);
  double b = std::erfc(alpha * r) / r, newton = 1;
  for (int l = 0; l <= order; ++l) {
    if (l > 0) {
      b = ((2 * l - 1) * b +
           std::pow(2 * alpha * alpha, l) * std::exp(-alpha * alpha * r * r) / (alpha * std::sqrt(pi))) /
          (r * r);
      newton *= 2 * l - 1;
    }
    const double softened = newton / std::pow(s, 2 * l + 1) - newton / std::pow(r, 2 * l + 1) + b;
    const double expected = (l % 2 ? -1 : 1) * softened * std::pow(s, 2 * l + 1);
    EXPECT_NEAR(g[l], expected, tolerance * newton) << "l = " << l << ", r = " << r;
  }
}

/// A cell is taken as a whole where its far side is beyond the cut-off radius; forms change at α r = 1.
TEST(Split, RadialDerivativesHoldBeyondTheCutOffAndWhereTheirFormChanges) {
  for (const double r : {0.05, 0.799, 0.801, 1.01 * cut_off, 1.49 * cut_off})
    for (const double epsilon : {0.0, 0.01}) {
      expect_derivatives<double>(r, epsilon, 1e-9);
      expect_derivatives<float>(r, epsilon, 1e-5);
    }
}

/// With the softening of the pair in the long range too both are those of Newton's law at √(r² + ε²), and no softening
/// is left beyond the cut-off radius.
TEST(Split, ASoftenedShortRangeEndsAsWithoutSoftening) {
  const double epsilon = 0.2;
  const auto plain = make_split_law<double>(split, 1.1 * cut_off, order);
  const auto softened = make_split_law<double>(split, cut_off, order, epsilon);
  for (const double r : {0.05, 0.3, 0.78, 0.9, 1.7, 0.99 * cut_off, 1.49 * cut_off}) {
    const double square = r * r, s2 = square + epsilon * epsilon, s = std::sqrt(s2);
    double g[order + 1], expected[order + 1];
    short_range_radial_derivatives<order>(softened, square, s2, 1 / s, g);
    short_range_radial_derivatives<order>(plain, s2, s2, 1 / s, expected);
    for (int l = 0; l <= order; ++l) EXPECT_NEAR(g[l], expected[l], 1e-8) << r;
    if (r > cut_off) continue;
    PairSum<double> sum{};
    const Vec3<double> d{r, 0, 0};
    add_short_range_pair<PlummerLaw, true, split_terms<double>>(
        softened, d, 1.0, square, PlummerLaw::start(d, epsilon * epsilon), epsilon * epsilon, sum);
    EXPECT_NEAR(sum.ax, r / s * ewald_short_range(alpha, {s, 0, 0}).x, 1e-10) << r;
    EXPECT_NEAR(sum.pot, -std::erfc(alpha * s) / s, 1e-10) << r;
  }
}

TEST(Split, RadialDerivativesAreThoseOfEwaldSums) {
  for (const double r : {0.3, 0.8, 1.7, 2.7})
    for (const double epsilon : {0.0, 0.2}) {
      expect_derivatives<double>(r, epsilon, 1e-8);
      expect_derivatives<float>(r, epsilon, 3e-4);
    }
}

}  // namespace
}  // namespace pergola::physics

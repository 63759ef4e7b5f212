#include "physics/cosmology.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "physics/power_spectrum.hpp"

namespace pergola::physics {

namespace {

const Background einstein_de_sitter{.omega_matter = 1, .omega_lambda = 0};
const Background lambda_cdm{.omega_matter = 0.3, .omega_lambda = 0.7};
const Background open_universe{.omega_matter = 0.3, .omega_lambda = 0};
const Background evolving{.omega_matter = 0.28, .omega_lambda = 0.71, .omega_radiation = 9e-5, .w0 = -0.9, .wa = 0.3};

/// The trapezium rule in a, made better by Richardson's extrapolation (Romberg): neither the points nor the variable of
/// the code under test.
template <class F>
double romberg(const F& f, double a, double b) {
  std::vector<double> row{(b - a) / 2 * (f(a) + f(b))};
  for (int level = 1; level < 16; ++level) {
    const int points = 1 << (level - 1);
    const double h = (b - a) / points;
    double sum = 0;
    for (int k = 0; k < points; ++k) sum += f(a + (k + 0.5) * h);
    std::vector<double> next{(row[0] + h * sum) / 2};
    double power = 4;
    for (const double coarser : row) next.push_back(next.back() + (next.back() - coarser) / (power - 1)), power *= 4;
    row = next;
  }
  return row.back();
}

// Against direct integration over a of dt/a² = da/(a³ H) and dt/a = da/(a² H).
TEST(Cosmology, DriftAndKickFactorsAreTheIntegralsOfTheBackground) {
  for (const Background& universe : {einstein_de_sitter, lambda_cdm, open_universe, evolving}) {
    for (const auto& [from, to] : std::vector<std::array<double, 2>>{{0.02, 0.021}, {0.02, 1}, {0.5, 0.9}}) {
      const double drift = romberg([&](double a) { return 1 / (a * a * a * universe.rate(a)); }, from, to);
      const double kick = romberg([&](double a) { return 1 / (a * a * universe.rate(a)); }, from, to);
      EXPECT_NEAR(drift_factor(universe, std::log(from), std::log(to)), drift, 1e-10 * drift);
      EXPECT_NEAR(kick_factor(universe, std::log(from), std::log(to)), kick, 1e-10 * kick);
    }
  }
}

// H = a^(−3/2): ∫ da a^(−3/2) = 2 (a₀^(−1/2) − a₁^(−1/2)), ∫ da a^(−1/2) = 2 (√a₁ − √a₀).
TEST(Cosmology, FactorsOfEinsteinAndDeSitterAreTheClosedForms) {
  const double from = 0.1, to = 0.7;
  EXPECT_NEAR(drift_factor(einstein_de_sitter, std::log(from), std::log(to)),
              2 * (1 / std::sqrt(from) - 1 / std::sqrt(to)), 1e-12);
  EXPECT_NEAR(kick_factor(einstein_de_sitter, std::log(from), std::log(to)), 2 * (std::sqrt(to) - std::sqrt(from)),
              1e-12);
}

TEST(Cosmology, TheSlopeOfTheRateIsItsDerivative) {
  for (const Background& universe : {lambda_cdm, open_universe, evolving})
    for (const double a : {0.01, 0.3, 1.0}) {
      const double h = 1e-5;
      const double slope = std::log(universe.rate(a * std::exp(h)) / universe.rate(a * std::exp(-h))) / (2 * h);
      EXPECT_NEAR(universe.rate_slope(a), slope, 1e-8);
    }
}

// Closed forms: a; Peebles 1980, eq. 11.16, for an open universe; Heath 1977, 5/2 Ω_m E ∫ da/(a E)³, for one with a
// cosmological constant. All over today's value.
TEST(Growth, FirstOrderIsTheClosedForm) {
  const auto open = [](double a) {
    const double x = 0.7 / 0.3 * a;
    return 1 + 3 / x + 3 * std::sqrt(1 + x) / std::pow(x, 1.5) * std::log(std::sqrt(1 + x) - std::sqrt(x));
  };
  const auto heath = [](const Background& universe, double a) {
    const auto inner = [&](double s) {  // a = s²: smooth at 0
      const double b = s * s;
      return b > 0 ? 2 * s / std::pow(b * std::sqrt(universe.expansion2(b)), 3) : 0.0;
    };
    return std::sqrt(universe.expansion2(a)) * romberg(inner, 0, std::sqrt(a));
  };
  const Background curved{.omega_matter = 0.3, .omega_lambda = 0.5};
  for (const double a : {0.02, 0.1, 0.5, 1.0, 1.5}) {
    EXPECT_NEAR(growth_at(einstein_de_sitter, a).d1, a, 1e-10 * a);
    if (a >= 0.1) {
      EXPECT_NEAR(growth_at(open_universe, a).d1, open(a) / open(1), 2e-10);  // the closed form cancels for small a
    }
    EXPECT_NEAR(growth_at(lambda_cdm, a).d1, heath(lambda_cdm, a) / heath(lambda_cdm, 1), 1e-10 * a);
    EXPECT_NEAR(growth_at(curved, a).d1, heath(curved, a) / heath(curved, 1), 1e-10 * a);
  }
  EXPECT_NEAR(growth_at(open_universe, 0.5).f1,
              std::log(open(0.5 * std::exp(1e-4)) / open(0.5 * std::exp(-1e-4))) / 2e-4, 1e-6);
}

// Bouchet et al. 1995: −3/7, −1/3, 10/21 and −1/7 of the powers of D1, with rates 2 and 3.
TEST(Growth, HigherOrdersOfEinsteinAndDeSitter) {
  const Growth g = growth_at(einstein_de_sitter, 0.3);
  EXPECT_NEAR(g.d2, -3.0 / 7 * 0.09, 1e-11);
  EXPECT_NEAR(g.d3a, -0.027 / 3, 1e-11);
  EXPECT_NEAR(g.d3b, 10.0 / 21 * 0.027, 1e-11);
  EXPECT_NEAR(g.d3c, -0.027 / 7, 1e-11);
  EXPECT_NEAR(g.f1, 1, 1e-10);
  EXPECT_NEAR(g.f2, 2, 1e-10);
  EXPECT_NEAR(g.f3a, 3, 1e-10);
  EXPECT_NEAR(g.f3b, 3, 1e-10);
  EXPECT_NEAR(g.f3c, 3, 1e-10);
}

/// Direct integration in the scale factor a, not its logarithm, with the momentum a³ H dD/da: d/da (a³ H dD/da) =
/// 3/2 Ω_m H₀²/(a² H) × source, by the midpoint rule extrapolated in the step (Bulirsch & Stoer 1966).
class DirectGrowth {
 public:
  explicit DirectGrowth(const Background& universe) : universe_(universe) {}

  std::array<double, 5> at(double a) const {
    const double start = universe_.omega_radiation > 0 ? 1e-8 : 1e-6;
    auto y = growth_equations::early(universe_, start);
    for (std::size_t k = 5; k < 10; ++k) y[k] *= start * start * universe_.rate(start);  // a³ H dD/da = a² H D′
    const int pieces = 400;
    for (int piece = 0; piece < pieces; ++piece) {
      const double from = start * std::pow(a / start, piece / double(pieces));
      extrapolate(from, start * std::pow(a / start, (piece + 1) / double(pieces)), y);
    }
    return {y[0], y[1], y[2], y[3], y[4]};
  }

 private:
  using State = growth_equations::State;

  State slopes(double a, const State& y) const {
    const double h = universe_.rate(a), pull = 1.5 * universe_.omega_matter / (a * a * h);
    const double d2 = y[1] - y[0] * y[0], cube = y[0] * y[0] * y[0];
    const double source[5] = {y[0], d2, y[2] - 2 * cube, y[3] - 2 * y[0] * d2, -cube};
    State slope;
    for (std::size_t k = 0; k < 5; ++k) slope[k] = y[k + 5] / (a * a * a * h), slope[k + 5] = pull * source[k];
    return slope;
  }

  State midpoint(double from, double to, int steps, const State& y) const {
    const double h = (to - from) / steps;
    State before = y, now = y;
    const auto add = [&](const State& base, double by, const State& slope) {
      State result = base;
      for (std::size_t k = 0; k < 10; ++k) result[k] += by * slope[k];
      return result;
    };
    now = add(y, h, slopes(from, y));
    for (int step = 1; step < steps; ++step) {
      const State next = add(before, 2 * h, slopes(from + step * h, now));
      before = now, now = next;
    }
    const State last = add(before, h, slopes(to, now));
    for (std::size_t k = 0; k < 10; ++k) now[k] = (now[k] + last[k]) / 2;
    return now;
  }

  void extrapolate(double from, double to, State& y) const {
    const std::array<int, 5> counts{2, 4, 8, 16, 32};
    std::array<State, 5> row;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      row[j] = midpoint(from, to, counts[j], y);
      for (std::size_t i = j; i-- > 0;)
        for (std::size_t k = 0; k < 10; ++k) {
          const double ratio = double(counts[j]) / counts[i];
          row[i][k] = row[i + 1][k] + (row[i + 1][k] - row[i][k]) / (ratio * ratio - 1);
        }
    }
    y = row[0];
  }

  Background universe_;
};

TEST(Growth, AllOrdersAgreeWithDirectIntegration) {
  const Background flat_evolving{.omega_matter = 0.3, .omega_lambda = 0.7, .w0 = -0.9, .wa = 0.3};
  for (const Background& universe : {lambda_cdm, open_universe, flat_evolving, evolving}) {
    const DirectGrowth direct(universe);
    const double today = direct.at(1)[0], s2 = today * today;
    for (const double a : {0.02, 0.4}) {
      const auto d = direct.at(a);
      const Growth g = growth_at(universe, a);
      const double relative = 1e-10;
      EXPECT_NEAR(g.d1, d[0] / today, relative * std::abs(g.d1));
      EXPECT_NEAR(g.d2, d[1] / s2, relative * std::abs(g.d2));
      EXPECT_NEAR(g.d3a, d[2] / (s2 * today), relative * std::abs(g.d3a));
      EXPECT_NEAR(g.d3b, d[3] / (s2 * today), relative * std::abs(g.d3b));
      EXPECT_NEAR(g.d3c, d[4] / (s2 * today), relative * std::abs(g.d3c));
    }
  }
}

// Ω_m = 0.3, a baryon part of 0.15, h = 0.7, 2.728 K: what the authors' own program tf_fit.c gives, which writes e as
// 2.718282.
TEST(EisensteinHu, AgreesWithTheAuthorsProgram) {
  const EisensteinHu fit(0.3, 0.045, 0.7, 2.728);
  EXPECT_NEAR(fit.sound_horizon(), 149.9349, 1e-4);
  const std::vector<std::array<double, 2>> published{{0.01, 0.7798786}, {0.05, 0.2741773}, {0.1, 0.1322772},
                                                     {0.3, 0.03093251}, {1, 0.004764265},  {10, 9.141775e-05}};
  for (const auto& [k, transfer] : published) EXPECT_NEAR(fit.transfer(k), transfer, 1e-6 * transfer) << k;
}

// Section 3.1 and 4.2 of the paper: the smooth shape follows the whole one without its waves, and both fits of the
// sound horizon agree to about 2 %.
TEST(EisensteinHu, SmoothShapeRunsThroughTheWaves) {
  const EisensteinHu fit(0.3, 0.045, 0.7);
  EXPECT_NEAR(fit.smooth_sound_horizon() / fit.sound_horizon(), 1, 0.02);
  EXPECT_NEAR(fit.smooth(1e-4), 1, 1e-3);
  EXPECT_NEAR(fit.transfer(1e-4), 1, 1e-3);
  double sum = 0;
  int count = 0;
  for (double k = 0.05; k < 0.5; k *= 1.02, ++count) sum += std::log(fit.smooth(k) / fit.transfer(k));
  EXPECT_NEAR(sum / count, 0, 0.03);
  for (const double k : {0.01, 1.0, 10.0}) EXPECT_NEAR(fit.smooth(k) / fit.transfer(k), 1, 0.05) << k;
  const EisensteinHu dark(0.3, 0, 0.7);
  EXPECT_EQ(dark.transfer(0.1), dark.smooth(0.1));
}

// For P ∝ k^n without a transfer function σ(R) falls as R^(−(3+n)/2).
TEST(LinearPower, HasTheSpreadItWasGivenAndScales) {
  const EisensteinHu fit(0.3, 0.045, 0.7);
  const LinearPower power([&](double k) { return fit.transfer(k); }, 0.96, 0.81);
  EXPECT_NEAR(power.sigma(8), 0.81, 1e-12);
  const LinearPower scale_free([](double) { return 1; }, -1.5, 0.9, 1e-12);
  EXPECT_NEAR(scale_free.sigma(16) / scale_free.sigma(8), std::pow(2, -0.75), 2e-4);
}

}  // namespace

}  // namespace pergola::physics

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numbers>

#include "models/model.hpp"

namespace pergola {
namespace {

using State = std::vector<double>;  // x y z vx vy vz of each body

State state_of(const Particles& p) {
  State s;
  for (std::size_t i = 0; i < p.x.size(); ++i) s.insert(s.end(), {p.x[i], p.y[i], p.z[i], p.vx[i], p.vy[i], p.vz[i]});
  return s;
}

/// Newton's law written out, independent of the solvers.
State derivative(const State& s, const std::vector<double>& mass, double g) {
  State d(s.size());
  for (std::size_t i = 0; i < mass.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      d[6 * i + c] = s[6 * i + 3 + c];
      for (std::size_t j = 0; j < mass.size(); ++j) {
        if (j == i) continue;
        const double r = std::hypot(s[6 * j] - s[6 * i], s[6 * j + 1] - s[6 * i + 1], s[6 * j + 2] - s[6 * i + 2]);
        d[6 * i + 3 + c] += g * mass[j] * (s[6 * j + c] - s[6 * i + c]) / (r * r * r);
      }
    }
  return d;
}

/// The classical fourth-order Runge-Kutta method.
State runge_kutta(State s, const std::vector<double>& mass, double g, double time, int steps) {
  const double h = time / steps;
  const auto add = [](State a, double f, const State& b) {
    for (std::size_t k = 0; k < a.size(); ++k) a[k] += f * b[k];
    return a;
  };
  for (int step = 0; step < steps; ++step) {
    const State k1 = derivative(s, mass, g), k2 = derivative(add(s, h / 2, k1), mass, g);
    const State k3 = derivative(add(s, h / 2, k2), mass, g), k4 = derivative(add(s, h, k3), mass, g);
    s = add(add(add(add(s, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
  }
  return s;
}

double energy(const Particles& p, double g = 1) {
  double sum = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    sum += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
    for (std::size_t j = 0; j < i; ++j)
      sum -= g * p.mass[i] * p.mass[j] / std::hypot(p.x[i] - p.x[j], p.y[i] - p.y[j], p.z[i] - p.z[j]);
  }
  return sum;
}

// Reference: Chenciner & Montgomery 2000: after a third of the period each body is where another one was. The period
// and the energy are those of Simó's initial conditions.
TEST(FigureEight, BodiesChangePlacesAfterAThirdOfThePeriod) {
  ModelOptions options;
  options.gravitational_constant = 4;
  const Particles p = make_model("figure-eight", options);
  EXPECT_NEAR(energy(p, 4), 4 * -1.287141995631855, 1e-13);
  const State start = state_of(p), end = runge_kutta(start, p.mass, 4, 6.32591398292622855 / 2 / 3, 4000);
  const std::size_t successor[] = {2, 0, 1};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(end[6 * i + c], start[6 * successor[i] + c], 1e-11);
}

// Reference: Burrau 1913: each mass is opposite the side of its length; at rest; E = −769/60.
TEST(Pythagorean, IsBurraus) {
  const Particles p = make_model("pythagorean", {});
  const auto side = [&](std::size_t i, std::size_t j) { return std::hypot(p.x[i] - p.x[j], p.y[i] - p.y[j]); };
  EXPECT_EQ(side(1, 2), p.mass[0]);
  EXPECT_EQ(side(0, 2), p.mass[1]);
  EXPECT_EQ(side(0, 1), p.mass[2]);
  EXPECT_NEAR(energy(p), -769.0 / 60, 1e-14);
  EXPECT_EQ(p.mass[0] * p.x[0] + p.mass[1] * p.x[1] + p.mass[2] * p.x[2], 0);
  EXPECT_EQ(p.mass[0] * p.y[0] + p.mass[1] * p.y[1] + p.mass[2] * p.y[2], 0);
}

// Reference: Lagrange's solution: the triangle turns rigidly with period 2π √(side³/(G M)), for any masses.
TEST(LagrangeTriangle, TurnsRigidly) {
  ModelOptions options;
  options.gravitational_constant = 2;
  options.values = {{"side", 3.0}, {"mass_1", 5.0}, {"mass_2", 1.0}, {"mass_3", 0.25}};
  const Particles p = make_model("lagrange-triangle", options);
  const double third = 2 * std::numbers::pi * std::sqrt(27 / (2 * 6.25)) / 3;
  const State start = state_of(p), end = runge_kutta(start, p.mass, 2, third, 2000);
  const double c = -0.5, s = std::sqrt(3.0) / 2;
  for (std::size_t i = 0; i < 3; ++i)
    for (const std::size_t at : {6 * i, 6 * i + 3}) {
      EXPECT_NEAR(end[at], c * start[at] - s * start[at + 1], 1e-10);
      EXPECT_NEAR(end[at + 1], s * start[at] + c * start[at + 1], 1e-10);
    }
  EXPECT_NEAR(energy(p, 2), model_expectations("lagrange-triangle", options)[0].expected, 1e-13);
}

// Reference: Bertinelli, section 4: the ranges of masses, places and velocities.
TEST(SixBody, LiesInThePapersRanges) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    ModelOptions options;
    options.seed = seed;
    const Particles p = make_model("six-body", options);
    ASSERT_EQ(p.size(), 6);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(p.mass[i] > 1 && p.mass[i] < 10);
      for (const auto* values : {&p.x, &p.y, &p.z}) EXPECT_LT(std::abs((*values)[i]), 5);
      for (const auto* values : {&p.vx, &p.vy, &p.vz}) EXPECT_LT(std::abs((*values)[i]), 1);
    }
  }
}

// Reference: the analytic energies of the other tests, at any value of Newton's constant.
TEST(FewBody, ExpectedEnergiesAreThoseOfTheModels) {
  ModelOptions options;
  options.gravitational_constant = 3;
  for (const std::string name : {"kepler", "figure-eight", "pythagorean", "lagrange-triangle"}) {
    const auto expectation = model_expectations(name, options).at(0);
    EXPECT_EQ(expectation.name, "energy");
    EXPECT_NEAR(energy(make_model(name, options), 3), expectation.expected, 1e-12) << name;
  }
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gravity/solver.hpp"
#include "models/model.hpp"

namespace pergola {
namespace {

ModelOptions with(std::int64_t n, std::map<std::string, ModelValue> values) {
  ModelOptions options;
  options.n = n;
  options.values = std::move(values);
  return options;
}

double kinetic(const Particles& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    sum += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
  return sum;
}

double potential(const Particles& p, double g) {
  Sources<double> s;
  s.count = p.size();
  s.x = p.x.data(), s.y = p.y.data(), s.z = p.z.data(), s.mass = p.mass.data();
  SolverOptions options;
  options.gravitational_constant = g;
  return potential_energy(Device::open("cpu", 2), s, options);
}

// Reference: M(r) ∝ r³; the 1 % bound of Kolmogorov's statistic.
TEST(Sphere, DensityIsEven) {
  const Particles p = make_model("sphere", with(20000, {{"radius", 2.0}}));
  std::vector<double> r;
  for (std::size_t i = 0; i < p.x.size(); ++i) r.push_back(std::hypot(p.x[i], p.y[i], p.z[i]) / 2);
  std::sort(r.begin(), r.end());
  double worst = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    worst = std::max(worst, std::abs(r[i] * r[i] * r[i] - static_cast<double>(i) / 20000));
  EXPECT_LT(worst, 1.63 / std::sqrt(20000.0) + 0.01);  // centring moves stars near the edge by up to 0.005 radii
}

// Reference: W = −(3/5) G M²/R for even density; the virial ratio is K/|W|.
TEST(Sphere, HasTheVirialRatioAskedFor) {
  for (const double ratio : {0.0, 0.1, 0.5, 2.0}) {
    ModelOptions options = with(6000, {{"virial_ratio", ratio}, {"radius", 2.0}, {"mass", 3.0}});
    options.gravitational_constant = 4;
    const Particles p = make_model("sphere", options);
    const double w = potential(p, 4);
    EXPECT_NEAR(w, -0.6 * 4 * 9 / 2, 0.02 * 10.8);
    EXPECT_NEAR(kinetic(p) / -w, ratio, 0.03 * ratio);
  }
}

TEST(Sphere, ColdIsAtRest) { EXPECT_EQ(kinetic(make_model("sphere", with(100, {}))), 0); }

// Reference: mean 1/2 and variance 1/12 of the uniform distribution.
TEST(Cube, IsFilledEvenlyWithRandomVelocities) {
  const Particles p = make_model("cube", with(20000, {{"side", 3.0}, {"speed", 0.5}}));
  const auto moments = [](const std::vector<double>& values, double low, double high) {
    double mean = 0, square = 0;
    for (const double value : values) {
      EXPECT_TRUE(value > low && value < high);
      const double u = (value - low) / (high - low);
      mean += u / 20000, square += u * u / 20000;
    }
    EXPECT_NEAR(mean, 0.5, 0.008);
    EXPECT_NEAR(square - mean * mean, 1.0 / 12, 0.003);
  };
  for (const auto* values : {&p.x, &p.y, &p.z}) moments(*values, 0, 3);
  for (const auto* values : {&p.vx, &p.vy, &p.vz}) moments(*values, -0.5, 0.5);
}

}  // namespace
}  // namespace pergola

#include "physics/multipole.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace pergola::physics {
namespace {

struct PointMass {
  double mass, x, y, z;
};

std::vector<PointMass> cloud() {
  std::mt19937_64 random(3);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<PointMass> points;
  for (int k = 0; k < 40; ++k) points.push_back({0.1 + uniform(), 0.3 + uniform(), 2 * uniform() - 1, 0.5 * uniform()});
  return points;
}

Multipole expansion(const std::vector<PointMass>& points) {
  double moments[moment_count] = {}, central[moment_count] = {};
  Multipole result;
  const auto each = [](const auto& body) {
    for (int n = 0; n <= multipole_order; ++n) each_exponent(n, body);
  };
  each([&](int a, int b, int c) {
    for (const PointMass& p : points)
      moments[moment_index(a, b, c)] += p.mass * std::pow(p.x, a) * std::pow(p.y, b) * std::pow(p.z, c);
  });
  result.centre = Multipole::centre_of(moments);
  each([&](int a, int b, int c) { central[moment_index(a, b, c)] = central_moment(moments, result.centre, a, b, c); });
  each([&](int a, int b, int c) {
    result.coefficient[moment_index(a, b, c)] = multipole_coefficient(central, a, b, c);
  });
  return result;
}

TEST(Multipole, EveryMomentHasItsPlace) {
  std::vector<int> taken(moment_count);
  for (int n = 0; n <= multipole_order; ++n)
    each_exponent(n, [&](int a, int b, int c) { ++taken[static_cast<std::size_t>(moment_index(a, b, c))]; });
  for (const int count : taken) EXPECT_EQ(count, 1);
}

// Reference: the direct sum of the points' potentials. What is left out is the term of order 5, ∝ r^−6.
TEST(Multipole, ErrorFallsWithTheSixthPowerOfTheDistance) {
  const auto points = cloud();
  const Multipole far = expansion(points);
  double near_error = 0;
  for (const double r : {8.0, 16.0, 32.0}) {
    double error2 = 0;
    for (int k = 0; k < 50; ++k) {
      const double cosine = -1 + (k + 0.5) / 25, sine = std::sqrt(1 - cosine * cosine), angle = 2.4 * k;
      const double x = r * sine * std::cos(angle), y = r * sine * std::sin(angle), z = r * cosine;
      double direct = 0;
      for (const PointMass& p : points) direct += p.mass / std::hypot(x - p.x, y - p.y, z - p.z);
      error2 += std::pow(far(x, y, z) - direct, 2);
    }
    if (near_error > 0) {
      EXPECT_NEAR(std::log2(near_error / std::sqrt(error2)), 6.0, 0.5) << r;
    }
    near_error = std::sqrt(error2);
  }
}

}  // namespace
}  // namespace pergola::physics

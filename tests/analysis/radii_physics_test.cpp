#include "analysis/radii.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace pergola {
namespace {

/// Particles at the radii at which a Plummer model of scale radius 1 holds the mass fractions (i + ½)/n, in random
/// directions about `center`.
Particles quiet_plummer(std::int64_t n, Vec3<double> center) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(11, 0, i);
    p.mass[i] = 1.0 / static_cast<double>(n);
    const double fraction = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    const double r = 1 / std::sqrt(std::pow(fraction, -2.0 / 3.0) - 1);
    const double z = r * (2 * random.uniform() - 1), angle = 6.283185307179586 * random.uniform();
    p.x[i] = center.x + std::sqrt(r * r - z * z) * std::cos(angle);
    p.y[i] = center.y + std::sqrt(r * r - z * z) * std::sin(angle);
    p.z[i] = center.z + z;
  }
  return p;
}

// Reference: Plummer's cumulative mass r³/(1 + r²)^(3/2), so r(f) = (f^(−2/3) − 1)^(−1/2); half-mass radius 1.30477.
TEST(LagrangianRadii, OfAPlummerModelAreTheAnalyticOnes) {
  const auto p = quiet_plummer(20000, {3, -2, 1});
  const std::vector<double> fractions{0.01, 0.1, 0.5, 0.9};
  const auto radii = lagrangian_radii(p, {3, -2, 1}, fractions);
  for (std::size_t k = 0; k < fractions.size(); ++k)
    EXPECT_NEAR(radii[k], 1 / std::sqrt(std::pow(fractions[k], -2.0 / 3.0) - 1), 0.003 * radii[k]);
  EXPECT_NEAR(half_mass_radius(p), 1.30477, 0.02);
}

// Reference: by hand.
TEST(LagrangianRadii, AreWhereTheMassFirstReachesTheFraction) {
  Particles p;
  p.resize(4);
  p.mass = {1, 1, 1, 5};
  p.x = {1, 2, 3, 4};
  EXPECT_EQ(lagrangian_radii(p, {0, 0, 0}, {0.125, 0.126, 0.375, 0.5, 1}), (std::vector<double>{1, 2, 3, 4, 4}));
  p.mass = {0, 0, 0, 0};
  EXPECT_EQ(lagrangian_radii(p, {0, 0, 0}, {0.5}), (std::vector<double>{2}));
  EXPECT_THROW(lagrangian_radii(p, {0, 0, 0}, {0}), Error);
  EXPECT_THROW(lagrangian_radii(p, {0, 0, 0}, {1.5}), Error);
  EXPECT_THROW(lagrangian_radii(Particles{}, {0, 0, 0}, {0.5}), Error);
}

// Reference: the centre of mass by hand, and the centre the model was made with.
TEST(Centers, DensityCenterStaysWhereEscapersPullTheMassCenterAway) {
  auto p = quiet_plummer(2000, {3, -2, 1});
  for (std::size_t i = 0; i < 20; ++i) p.x[1999 - i] += 1000;
  EXPECT_GT(mass_center(p).x, 10);
  const auto c = density_center(p);
  EXPECT_NEAR(c.x, 3, 0.15);
  EXPECT_NEAR(c.y, -2, 0.15);
  EXPECT_NEAR(c.z, 1, 0.15);
}

// Reference: the sphere as it is described, which looks at every particle each time, bit for bit. It goes to the denser
// of two clumps, far from where it begins.
TEST(Centers, DensityCenterIsThatOfASphereThatLooksAtAll) {
  auto p = quiet_plummer(4000, {3, -2, 1});
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    if (i % 3 == 0) p.x[i] = 20 - 2 * p.x[i], p.y[i] *= 2, p.z[i] *= 2;
    p.mass[i] = 1 + Philox(12, 0, i).uniform();
  }
  const auto from = [&p](const Vec3<double>& center) {
    return [&p, center](std::size_t i) {
      const auto d = Vec3<double>{p.x[i], p.y[i], p.z[i]} - center;
      return dot(d, d);
    };
  };
  std::vector<std::size_t> members(p.id.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  Vec3<double> center;
  do {
    Vec3<double> sum{0, 0, 0};
    double mass = 0;
    for (const auto i : members) sum = sum + p.mass[i] * Vec3<double>{p.x[i], p.y[i], p.z[i]}, mass += p.mass[i];
    center = (1 / mass) * sum;
    double farthest2 = 0;
    for (const auto i : members) farthest2 = std::max(farthest2, from(center)(i));
    std::erase_if(members, [&](std::size_t i) { return from(center)(i) >= 0.975 * 0.975 * farthest2; });
  } while (members.size() >= 100);
  const auto found = density_center(p);
  EXPECT_EQ(found.x, center.x);
  EXPECT_EQ(found.y, center.y);
  EXPECT_EQ(found.z, center.z);
}

TEST(Centers, MassCenterWeighsByMass) {
  Particles p;
  p.resize(2);
  p.mass = {1, 3};
  p.x = {0, 4};
  EXPECT_DOUBLE_EQ(mass_center(p).x, 3);
  EXPECT_DOUBLE_EQ(density_center(p).x, 3);
  p.mass = {0, 0};
  EXPECT_DOUBLE_EQ(mass_center(p).x, 2);
  EXPECT_THROW(mass_center(Particles{}), Error);
}

}  // namespace
}  // namespace pergola

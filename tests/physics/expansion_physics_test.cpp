#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.hpp"
#include "physics/expansion.hpp"

namespace pergola::physics {
namespace {

/// Twenty unit masses about their centre of mass, within a quarter.
std::vector<Vec3<double>> points() {
  std::vector<Vec3<double>> all;
  Vec3<double> mean{0, 0, 0};
  for (std::uint32_t i = 0; i < 20; ++i) {
    std::uint32_t words[4];
    Philox(3, 0, i).block(0, words);
    const auto unit = [&](int k) { return 0.5 * words[k] / 4294967296.0 - 0.25; };
    all.push_back({unit(0), unit(1), unit(2)});
    mean = mean + all.back();
  }
  for (auto& point : all) point = point - (1.0 / 20) * mean;
  return all;
}

template <int order>
struct Moments {
  double value[expansion_terms(order)] = {};
  Moments(const Vec3<double>& centre, double scale) {
    for (const auto& p : points()) {
      const Monomials<order, double> t((-1 / scale) * (p - centre), 1.0);
      for (int k = 0; k < expansion_terms(order); ++k) value[k] += t.value[k];
    }
  }
};

constexpr double epsilon2 = 0.01;

/// Σ 1/√(|x − x_j|² + ε²) and its gradient, written out.
Field<double> exact(const Vec3<double>& x) {
  Field<double> field{0, {0, 0, 0}};
  for (const auto& p : points()) {
    const Vec3<double> d = p - x;
    const double r = std::sqrt(dot(d, d) + epsilon2);
    field.psi += 1 / r;
    field.gradient = field.gradient + (1 / (r * r * r)) * d;
  }
  return field;
}

constexpr double source_scale = 0.4, target_scale = 0.3;

template <int order>
void local_at(const Vec3<double>& centre, double (&local)[expansion_terms(order)]) {
  Moments<order> moments({0, 0, 0}, source_scale);
  double g[order + 1];
  plummer_radial_derivatives<order>(g);
  const double inverse = 1 / std::sqrt(dot(centre, centre) + epsilon2);
  for (double& value : local) value = 0;
  multipole_to_local<order>(inverse * centre, inverse, source_scale, target_scale, g, moments.value, local);
}

template <int order>
double local_error(double distance) {
  const Vec3<double> centre{distance * 0.6, distance * 0.64, distance * 0.48}, delta{0.1, -0.08, 0.12};
  double local[expansion_terms(order)];
  local_at<order>(centre, local);
  const auto found = local_field<order>(local, (1 / target_scale) * delta);
  const auto expected = exact(centre + delta);
  const Vec3<double> difference = (1 / target_scale) * found.gradient - expected.gradient;
  return std::sqrt(dot(difference, difference) / dot(expected.gradient, expected.gradient));
}

// Reference: the sum over the points. The relative error of the gradient of an expansion to order p falls as R^−p.
TEST(Expansion, ErrorFallsWithDistanceAtThePowerOfTheOrder) {
  const double ratios[] = {local_error<2>(2) / local_error<2>(8), local_error<3>(2) / local_error<3>(8),
                           local_error<4>(2) / local_error<4>(8), local_error<5>(2) / local_error<5>(8)};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(std::log(ratios[k]) / std::log(4.0), k + 2, 0.7) << "order " << k + 2;
  EXPECT_LT(local_error<5>(4), 1e-5);
}

// Reference: moments taken about the other centre.
TEST(Expansion, ShiftedMultipolesAreThoseAboutTheNewCentre) {
  const Vec3<double> centre{0.1, -0.05, 0.02};
  Moments<5> child({0, 0, 0}, source_scale);
  const Moments<5> expected(centre, 1.0);
  double parent[expansion_terms(5)] = {};
  shift_multipole<5>(centre, source_scale, child.value, parent);
  for (int k = 0; k < expansion_terms(5); ++k) EXPECT_NEAR(parent[k], expected.value[k], 1e-14);
}

// Reference: the same polynomial about the old centre.
TEST(Expansion, ShiftedLocalsAreTheSamePolynomial) {
  const Vec3<double> centre{2, 1, 0.5}, moved = centre + Vec3<double>{0.05, 0.02, -0.03}, delta{0.1, -0.08, 0.12};
  constexpr double child_scale = 0.2;
  double local[expansion_terms(4)], child[expansion_terms(4)];
  local_at<4>(centre, local);
  shift_local<4>((1 / target_scale) * (moved - centre), child_scale / target_scale, local, child);
  const auto before = local_field<4>(local, (1 / target_scale) * delta);
  const auto after = local_field<4>(child, (1 / child_scale) * (centre + delta - moved));
  EXPECT_NEAR(after.psi, before.psi, 1e-13);
  EXPECT_NEAR(after.gradient.x / child_scale, before.gradient.x / target_scale, 1e-12);
  EXPECT_NEAR(after.gradient.z / child_scale, before.gradient.z / target_scale, 1e-12);
}

// Reference: the sum over the points.
TEST(Expansion, FieldOfAMultipoleApproachesTheSum) {
  const Vec3<double> at{3, 2, -1.5};
  Moments<5> moments({0, 0, 0}, source_scale);
  double g[6], factor[6];
  plummer_radial_derivatives<5>(g);
  const double inverse = 1 / std::sqrt(dot(at, at) + epsilon2);
  powers<5>(1.0, source_scale * inverse, factor);
  scale_terms<5>(factor, moments.value);
  const auto found = multipole_field<5>(inverse * at, inverse, g, moments.value);
  const auto expected = exact(at);
  EXPECT_NEAR(found.psi, expected.psi, 1e-6 * expected.psi);
  EXPECT_NEAR(found.gradient.y, expected.gradient.y, 1e-5 * std::abs(expected.gradient.y));
}

}  // namespace
}  // namespace pergola::physics

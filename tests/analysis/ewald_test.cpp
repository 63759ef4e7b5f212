#include <gtest/gtest.h>

#include <cmath>

#include "analysis/ewald_sum.hpp"
#include "marks.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

Particles pair_of(Vec3<double> first, Vec3<double> second) {
  Particles p;
  p.resize(2);
  p.mass = {1.0, 2.0};
  p.x = {first.x, second.x}, p.y = {first.y, second.y}, p.z = {first.z, second.z};
  return p;
}

Box box_of(double x, double y, double z) { return {{0, 0, 0}, {x, y, z}, Boundary::periodic}; }

class EwaldSum : public DeviceTest {
 protected:
  Vec3<double> on_first(const Particles& p, const Box& box) const {
    const auto a = ewald_sum(p, {0}, box, Softening::same(0), 1, device(1));
    return {a.ax[0], a.ay[0], a.az[0]};
  }
};

// Reference: sums over cubic shells of images of the pair itself, with the uniform background's force 4πρ̄d/3 taken off;
// they converge as the shells grow and need no splitting of the force.
TEST_P(EwaldSum, AgreesWithTheSumOverCubesOfImages) {
  const Vec3<double> d{0.3, 0.12, -0.21};
  Vec3<double> expected{0, 0, 0};
  constexpr int shells = 40;
  for (int i = -shells; i <= shells; ++i)
    for (int j = -shells; j <= shells; ++j)
      for (int k = -shells; k <= shells; ++k) {
        const Vec3<double> r{d.x + i, d.y + j, d.z + k};
        const double r2 = dot(r, r);
        expected = expected + (2 / (r2 * std::sqrt(r2))) * r;
      }
  // A cube of images about the target's own cell, which the displacement d of the source moves off centre.
  constexpr double four_pi_over_three = 4.18879020478639;
  expected = expected - (2 * four_pi_over_three) * d;
  const auto found = on_first(pair_of({0.1, 0.5, 0.6}, {0.4, 0.62, 0.39}), box_of(1, 1, 1));
  EXPECT_NEAR(found.x, expected.x, 2e-4);
  EXPECT_NEAR(found.y, expected.y, 2e-4);
  EXPECT_NEAR(found.z, expected.z, 2e-4);
}

// Reference: symmetry. Half a box away along an axis, or in the corner of the cube, the images balance.
TEST_P(EwaldSum, VanishesWhereImagesBalance) {
  for (const Vec3<double> d : {Vec3<double>{0.5, 0, 0}, {0.5, 0.5, 0}, {0.5, 0.5, 0.5}}) {
    const auto a = on_first(pair_of({0.2, 0.2, 0.2}, Vec3<double>{0.2, 0.2, 0.2} + d), box_of(1, 1, 1));
    EXPECT_LT(std::sqrt(dot(a, a)), 1e-5);
  }
}

// Reference: a long box of particles is the same system twice: [1, 1, 1] with one pair and [2, 1, 1] with two.
TEST_P(EwaldSum, TwoBoxesAreOneOfTwiceTheLength) {
  const auto one = pair_of({0.1, 0.5, 0.6}, {0.4, 0.62, 0.39});
  Particles two = one;
  two.append(one);
  for (std::size_t k = 2; k < 4; ++k) two.x[k] += 1, two.id[k] = k;
  const auto a = on_first(one, box_of(1, 1, 1)), b = on_first(two, box_of(2, 1, 1));
  EXPECT_NEAR(a.x, b.x, 1e-5);
  EXPECT_NEAR(a.y, b.y, 1e-5);
  EXPECT_NEAR(a.z, b.z, 1e-5);
}

// The same of more particles than are read at a time.
TEST_P(EwaldSum, TwoBoxesOfManyParticlesAreOneOfTwiceTheLength) {
  ModelOptions options;
  options.n = 33000;
  const auto one = make_model("cube", options);
  Particles two = one;
  two.append(one);
  for (std::size_t k = 33000; k < two.id.size(); ++k) two.x[k] += 1, two.id[k] += 33000;
  const auto a = ewald_sum(one, {5, 32999}, box_of(1, 1, 1), Softening::same(0.01), 1, device(2));
  const auto b = ewald_sum(two, {5, 65999}, box_of(2, 1, 1), Softening::same(0.01), 1, device(2));
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(a.ax[k], b.ax[k], 1e-5);
    EXPECT_NEAR(a.ay[k], b.ay[k], 1e-5);
    EXPECT_NEAR(a.az[k], b.az[k], 1e-5);
  }
}

TEST_P(EwaldSum, IsTheSameForAnyThreads) {
  ModelOptions options;
  options.n = 3000;
  const auto particles = make_model("cube", options);
  const std::vector<std::int64_t> places{0, 7, 1500, 2999};
  const auto one = ewald_sum(particles, places, box_of(1, 1, 1), Softening::same(0.01), 1, device(1));
  const auto three = ewald_sum(particles, places, box_of(1, 1, 1), Softening::same(0.01), 1, device(3));
  EXPECT_EQ(one.ax, three.ax);
  EXPECT_EQ(one.az, three.az);
}

// Reference: the same sum of another device, with lengths of two species and each softening kernel. The sums differ in
// the order of their terms only.
TEST_P(EwaldSum, IsThatOfACpu) {
  ModelOptions options;
  options.n = 3000;
  auto particles = make_model("cube", options);
  for (std::size_t i = 0; i < 1000; ++i) particles.species[i] = 2, particles.mass[i] *= 3;
  const std::vector<std::int64_t> places{0, 7, 1500, 2999, 123};
  auto softening = Softening::same(0.02);
  softening.epsilon[2] = 0.1;
  for (const auto kernel : {SofteningKernel::plummer, SofteningKernel::spline}) {
    softening.kernel = kernel;
    const auto found = ewald_sum(particles, places, box_of(1, 1, 1), softening, 2, device(2));
    const auto expected = ewald_sum(particles, places, box_of(1, 1, 1), softening, 2, Device::open("cpu", 2));
    for (std::size_t k = 0; k < places.size(); ++k) {
      EXPECT_NEAR(found.ax[k], expected.ax[k], 1e-11);
      EXPECT_NEAR(found.ay[k], expected.ay[k], 1e-11);
      EXPECT_NEAR(found.az[k], expected.az[k], 1e-11);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EwaldSum, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

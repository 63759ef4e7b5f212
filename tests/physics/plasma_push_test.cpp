#include "physics/plasma_push.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

using physics::PlasmaCounts;

template <class Real>
class PlasmaPush : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PlasmaPush, Reals);

/// A place in cells as grains.
template <class Real>
typename PlasmaCounts<Real>::Place grains(double cells) {
  return static_cast<typename PlasmaCounts<Real>::Place>(cells * double(physics::place_grains<Real>));
}

// A linear function is interpolated exactly by both shapes: Σ w = 1, Σ w x_i = x.
template <int points, class Real>
void expect_moments(double x) {
  const auto cloud = physics::axis_cloud<points, Real>(grains<Real>(x));
  double sum = 0, moment = 0;
  for (int i = 0; i < points; ++i) {
    EXPECT_GE(cloud.weight[i], 0) << x;
    sum += double(cloud.weight[i]), moment += double(cloud.weight[i]) * i;
  }
  const double rounding = sizeof(Real) == 4 ? 2e-7 : 1e-11;  // of places in double: 2⁻³⁸
  EXPECT_NEAR(sum, 1, rounding);
  EXPECT_NEAR(cloud.first + moment, x, rounding);
}

TYPED_TEST(PlasmaPush, CloudsHaveTheChargeAndTheCentreOfTheParticle) {
  for (double x = 0; x < 16; x += 0.0371) expect_moments<2, TypeParam>(x), expect_moments<3, TypeParam>(x);
  EXPECT_EQ((physics::axis_cloud<2, TypeParam>(grains<TypeParam>(3.75)).first), 3);
  EXPECT_EQ((physics::axis_cloud<3, TypeParam>(grains<TypeParam>(3.75)).first), 3);
  EXPECT_EQ((physics::axis_cloud<3, TypeParam>(grains<TypeParam>(0.25)).first), -1);
  const auto middle = physics::axis_cloud<3, TypeParam>(grains<TypeParam>(5));  // 1/8, 3/4, 1/8
  EXPECT_EQ(middle.weight[0], TypeParam(0.125));
  EXPECT_EQ(middle.weight[1], TypeParam(0.75));
}

TYPED_TEST(PlasmaPush, SharesAreWholeAndRounded) {
  const auto unit = std::int64_t{1} << PlasmaCounts<TypeParam>::charge_bits;
  EXPECT_EQ(physics::charge_share(TypeParam(1)), unit);
  EXPECT_EQ(physics::charge_share(TypeParam(0)), 0);
  EXPECT_EQ(physics::charge_share(TypeParam(0.25)), unit / 4);
  EXPECT_EQ(physics::charge_share(TypeParam(0.75) / TypeParam(unit)), 1);
  EXPECT_EQ(physics::charge_share(TypeParam(0.25) / TypeParam(unit)), 0);
}

TYPED_TEST(PlasmaPush, PlacesSettleInTheTileThatHoldsThem) {
  const physics::TileAxis axis{40, 16};  // tiles of 16, 16 and 8 cells
  EXPECT_EQ(axis.tiles(), 3);
  EXPECT_EQ(axis.cells_of(2), 8);
  const auto settled = [&](int tile, double cells) {
    auto place = static_cast<std::int64_t>(cells * double(physics::place_grains<TypeParam>));
    physics::settle<TypeParam>(axis, tile, place);
    return std::pair(tile, double(place) / double(physics::place_grains<TypeParam>));
  };
  EXPECT_EQ(settled(0, 16), std::pair(1, 0.0));
  EXPECT_EQ(settled(1, -0.5), std::pair(0, 15.5));
  EXPECT_EQ(settled(2, 8), std::pair(0, 0.0));
  EXPECT_EQ(settled(0, -0.5), std::pair(2, 7.5));
  EXPECT_EQ(settled(1, 1000 * 40 + 3.25), std::pair(1, 3.25));
  EXPECT_EQ(settled(1, -1000 * 40 - 17.25), std::pair(2, 6.75));
  // One grain below zero is the last grain of the box, whatever the number type could resolve there.
  int tile = 0;
  std::int64_t place = -1;
  physics::settle<TypeParam>(axis, tile, place);
  EXPECT_EQ(tile, 2);
  EXPECT_EQ(place, (std::int64_t{8} << PlasmaCounts<TypeParam>::place_bits) - 1);
}

// d v/dt = (q/m) (E + v × B): E × B drift, and energy that a magnetic field alone does not change.
TYPED_TEST(PlasmaPush, BorisPushDriftsAcrossTheFieldsAndKeepsTheEnergy) {
  const auto factors = physics::boris_factors<TypeParam>(-2, {0, 0, 0.5}, 0.3);
  const Vec3<TypeParam> electric{0, TypeParam(0.125), 0}, drift{TypeParam(0.25), 0, 0};  // E × B / B²
  // Half a kick, the rotation by θ and half a kick lead back to the drift velocity times (θ/2) / tan(θ/2).
  const Vec3<TypeParam> fixed{static_cast<TypeParam>(drift.x * 0.15 / std::tan(0.15)), 0, 0};
  Vec3<TypeParam> v = fixed;
  for (int i = 0; i < 4; ++i) v = physics::UniformBoris::push<2, 2>(v, electric, factors);
  EXPECT_NEAR(double(v.x), double(fixed.x), 2e-7);
  EXPECT_NEAR(double(v.y), 0, 2e-7);
  const auto turn = physics::boris_factors<TypeParam>(1, {0.3, -0.2, 0.7}, 0.9);
  Vec3<TypeParam> w{1, 2, 3};
  for (int i = 0; i < 100; ++i) w = physics::UniformBoris::push<3, 3>(w, {0, 0, 0}, turn);
  EXPECT_NEAR(double(dot(w, w)), 14, 14 * (sizeof(TypeParam) == 4 ? 2e-5 : 1e-13));
}

TYPED_TEST(PlasmaPush, DisplacementIsTheNearestWholeNumber) {
  EXPECT_EQ(physics::displacement(TypeParam(3), TypeParam(0.5)), 2);
  EXPECT_EQ(physics::displacement(TypeParam(-1.25), TypeParam(2)), -2);
  EXPECT_EQ(physics::displacement(TypeParam(INFINITY), TypeParam(1)), 0);
  EXPECT_EQ(physics::displacement(TypeParam(NAN), TypeParam(1)), 0);
}

}  // namespace
}  // namespace pergola

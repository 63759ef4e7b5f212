#include <gtest/gtest.h>

#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class FewBodies : public DeviceTest {};

/// Chenciner & Montgomery 2000, with the initial values of Simó: three equal masses chase each other on one curve.
Particles figure_eight() {
  const Vec3<double> x{0.97000436, -0.24308753, 0}, v{-0.93240737, -0.86473146, 0};
  return bodies({{1, x, -0.5 * v}, {1, -1.0 * x, -0.5 * v}, {1, {}, v}});
}
constexpr double figure_eight_period = 6.32591398;

/// Burrau 1913: masses 3, 4, 5 at rest at the corners of a right triangle, each opposite the side of its length.
Particles pythagorean() { return bodies({{3, {1, 3, 0}, {}}, {4, {-2, -1, 0}, {}}, {5, {1, -1, 0}, {}}}); }

/// Three masses at the corners of an equilateral triangle with side 1 that turns about their centre of mass.
Particles lagrange_triangle(double m1, double m2, double m3) {
  const double mass = m1 + m2 + m3, rate = std::sqrt(mass);
  const double h = std::sqrt(3.0) / 2;
  std::vector<Body> list{{m1, {0, 0, 0}, {}}, {m2, {1, 0, 0}, {}}, {m3, {0.5, h, 0}, {}}};
  Vec3<double> centre{};
  for (const auto& body : list) centre = centre + (body.mass / mass) * body.x;
  for (auto& body : list) {
    body.x = body.x - centre;
    body.v = {-rate * body.x.y, rate * body.x.x, 0};
  }
  return bodies(list);
}

double largest_distance(const Particles& a, const Particles& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.id.size(); ++i) largest = std::max(largest, length(position(a, i) - position(b, i)));
  return largest;
}

// Reference: the periodic solution; its initial values are known to about 1e-8.
TEST_P(FewBodies, FigureEightReturnsAfterOnePeriod) {
  const auto before = figure_eight();
  EXPECT_LT(largest_distance(run(before, figure_eight_period, hermite(0.001), device(1)), before), 1e-6);
  EXPECT_LT(largest_distance(run(before, figure_eight_period, leapfrog(0.0005), device(1)), before), 1e-4);
}

// Reference: Szebehely & Peters 1967: after close encounters (down to 4.1e-4) the lightest body (mass 3) escapes near t
// = 60, and the bodies of mass 4 and 5 stay bound to each other. A quadruple-precision run of the same problem with
// converged steps has body 3 at (6.933, 20.261) at t = 70; rounding in double precision moves it by about 0.5.
TEST_P(FewBodies, PythagoreanProblemEndsWithAnEscapeAndABinary) {
  const auto before = pythagorean();
  const auto after = run(before, 70, hermite(0.00005), device(1));
  const double exact = total_energy(before);
  EXPECT_LT(std::abs((total_energy(after) - exact) / exact), 1e-7);

  const auto pair = position(after, 1) - position(after, 2), pair_v = velocity(after, 1) - velocity(after, 2);
  const double pair_energy = 0.5 * dot(pair_v, pair_v) - 9 / length(pair);
  EXPECT_LT(pair_energy, 0) << "4 and 5 are bound";
  const auto centre = (4.0 / 9) * position(after, 1) + (5.0 / 9) * position(after, 2);
  const auto centre_v = (4.0 / 9) * velocity(after, 1) + (5.0 / 9) * velocity(after, 2);
  const auto away = position(after, 0) - centre, away_v = velocity(after, 0) - centre_v;
  EXPECT_GT(0.5 * dot(away_v, away_v) - 12 / length(away), 0) << "3 is free";
  EXPECT_GT(dot(away, away_v), 0) << "3 moves away";
  EXPECT_LT(length(position(after, 0) - Vec3<double>{6.933, 20.261, 0}), 3);
}

// Reference: Lagrange 1772: the triangle turns rigidly with rate √(M / side³), here 1, so it returns after 2π. One mass
// dominates, which makes it stable (Gascheau 1843).
TEST_P(FewBodies, LagrangeTriangleTurnsRigidly) {
  const auto before = lagrange_triangle(0.98, 0.01, 0.01);
  EXPECT_LT(largest_distance(run(before, 2 * std::numbers::pi, hermite(0.0001), device(1)), before), 1e-8);
  const auto half = run(before, std::numbers::pi, hermite(0.0001), device(1));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(length(position(half, i) + position(before, i)), 1e-8);
}

// Reference: the leapfrog map is its own inverse under v → −v.
TEST_P(FewBodies, LeapfrogRunsBackToItsStart) {
  const auto before = figure_eight();
  auto middle = run(before, 2.0, leapfrog(0x1p-8), device(1));
  for (auto* v : {&middle.vx, &middle.vy, &middle.vz})
    for (auto& value : *v) value = -value;
  EXPECT_LT(largest_distance(run(middle, 2.0, leapfrog(0x1p-8), device(1)), before), 1e-12);
}

// Reference: Newton's third law: the kicks of a pair cancel.
TEST_P(FewBodies, LeapfrogKeepsMomentumAndAngularMomentumToRounding) {
  const auto before = pythagorean();
  const auto after = run(before, 1.0, leapfrog(0x1p-12), device(1));
  EXPECT_LT(length(momentum(after) - momentum(before)), 1e-12);
  EXPECT_LT(length(angular_momentum(after) - angular_momentum(before)), 1e-12);
}

// Reference: conservation; the corrector breaks it at the order of its truncation error only.
TEST_P(FewBodies, HermiteKeepsMomentumAndAngularMomentumWithinItsError) {
  const auto before = figure_eight();
  const auto after = run(before, figure_eight_period, hermite(0.005), device(1));
  const double energy_error = std::abs(total_energy(after) / total_energy(before) - 1);
  EXPECT_LT(length(momentum(after)), 10 * energy_error + 1e-14);
  EXPECT_LT(length(angular_momentum(after)), 10 * energy_error + 1e-14);
}

TEST_P(FewBodies, CollisionIsAnErrorThatNamesBothIds) {
  auto p = bodies({{1, {0, 0, 0}, {}}, {1, {1, 0, 0}, {}}, {1, {1, 0, 0}, {}}});
  p.id = {11, 22, 33};
  try {
    integrator(hermite(0.02), device(1))->start(p, 0);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerics);
    const std::string text = error.what();
    EXPECT_NE(text.find("22"), std::string::npos) << text;
    EXPECT_NE(text.find("33"), std::string::npos) << text;
  }
}

// Two bodies that fall onto each other with zero softening never give a NaN: the step gets too short when they meet,
// after the time of free fall from rest, (π/2) √(d³/(2 G M)) = π/4 for d = 1 and M = 2.
TEST_P(FewBodies, HeadOnCollisionWithoutSofteningIsAnErrorNotANan) {
  const auto p = bodies({{1, {-0.5, 0, 0}, {}}, {1, {0.5, 0, 0}, {}}});
  for (auto time : {hermite(0.02), leapfrog(0.25)}) {
    time.adaptive = true;
    run(p, 0.78, time, device(1)).validate("before the collision");
    const auto system = integrator(time, device(1));
    try {
      system->start(p, 0);
      system->finish(2);
      FAIL() << time.integrator << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numerics) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find("at time 0.78"), std::string::npos) << text;
      EXPECT_NE(text.find("step fell"), std::string::npos) << text;
    }
  }
}

TEST_P(FewBodies, MasslessParticleFollowsTheFieldAndExertsNone) {
  auto p = bodies({{1, {}, {}}, {0, {1, 0, 0}, {0, 1, 0}}});
  const auto after = run(p, 2 * std::numbers::pi, hermite(0.0001), device(1));
  EXPECT_EQ(length(position(after, 0)), 0);
  EXPECT_LT(length(position(after, 1) - position(p, 1)), 1e-8);
}

TEST_P(FewBodies, SingleParticleMovesInAStraightLine) {
  const auto p = bodies({{1, {1, 2, 3}, {0.5, -1, 0.25}}});
  for (const auto& time : {hermite(0.02), leapfrog(0.125)}) {
    const auto after = run(p, 4, time, device(1));
    EXPECT_EQ(length(position(after, 0) - Vec3<double>{3, -2, 4}), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FewBodies, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

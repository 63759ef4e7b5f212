// Relativistic pushers of a plasma. References: orbits in uniform fields, the guiding centre's drifts, and energy.
#include <gtest/gtest.h>

#include <cmath>

#include "physics/plasma_push.hpp"

namespace pergola {
namespace {

using physics::ElectromagneticField;
using physics::HigueraCary;
using physics::RelativisticBoris;

template <class Pusher>
class RelativisticPush : public ::testing::Test {};
using Pushers = ::testing::Types<RelativisticBoris, HigueraCary>;
TYPED_TEST_SUITE(RelativisticPush, Pushers);

constexpr double light = 4;

double gamma_of(const Vec3<double>& u) { return std::sqrt(1 + dot(u, u) / (light * light)); }

/// A particle with q/m = 1 and its leapfrog: u half a step behind x.
template <class Pusher>
struct Particle {
  Vec3<double> x{0, 0, 0}, u{0, 0, 0};

  template <class Fields>
  void step(const Fields& fields, double dt) {
    const auto factors = physics::boris_factors<double>(1, {0, 0, 0}, dt, light);
    u = Pusher::template push<3, 3>(u, fields(x), factors);
    x = x + dt * Pusher::motion(u, factors);
  }
};

// Reference: the exact circle with the frequency q B/(γ m), around an oblique field.
TYPED_TEST(RelativisticPush, GyrationIsOfSecondOrder) {
  const Vec3<double> axis{0.6, 0, 0.8}, across{0.8, 0, -0.6}, other{0, 1, 0};  // axis = across × other … right-handed
  const double field = 1.5, speed = 6, along = 2, gamma = gamma_of({speed, 0, along}), frequency = field / gamma;
  const auto fields = [&](const Vec3<double>&) { return ElectromagneticField<double>{{0, 0, 0}, field * axis}; };
  // du/dt = u × B/γ: from `across` towards −(axis × across).
  const Vec3<double> turned = cross(across, axis);
  const auto exact_u = [&](double time) {
    return along * axis + speed * std::cos(frequency * time) * across + speed * std::sin(frequency * time) * turned;
  };
  const auto exact_x = [&](double time) {
    const double radius = speed / gamma / frequency, turn = frequency * time;
    return along / gamma * time * axis + radius * std::sin(turn) * across + radius * (1 - std::cos(turn)) * turned;
  };
  double before = 0;
  for (const int steps : {50, 100, 200, 400}) {
    const double time = 7, dt = time / steps;
    Particle<TypeParam> one;
    one.u = exact_u(-dt / 2);
    for (int k = 0; k < steps; ++k) one.step(fields, dt);
    const Vec3<double> off = one.x - exact_x(time);
    const double error = std::sqrt(dot(off, off));
    if (before > 0) {
      EXPECT_NEAR(before / error, 4, 0.1) << steps;
    }
    before = error;
    EXPECT_NEAR(dot(one.u, one.u), speed * speed + along * along, 1e-11);
  }
  EXPECT_LT(before, 1e-3);
  EXPECT_NEAR(dot(cross(across, other), axis) * dot(turned, other), -1, 1e-12);
}

// Reference: E × B/B², whatever the velocity; the gyration's mean over whole turns of the frame that drifts.
TYPED_TEST(RelativisticPush, DriftsAcrossCrossedFields) {
  const Vec3<double> electric{0, 0.8, 0}, magnetic{0, 0, 2};  // drift 0.4 along x, a tenth of c
  const auto fields = [&](const Vec3<double>&) { return ElectromagneticField<double>{electric, magnetic}; };
  Particle<TypeParam> one;
  one.u = {3, 0, 0};
  const int steps = 100000;
  for (int k = 0; k < steps; ++k) one.step(fields, 0.02);
  EXPECT_NEAR(one.x.x / (steps * 0.02), 0.4, 2e-3);
  EXPECT_NEAR(one.x.y / (steps * 0.02), 0, 2e-3);
}

// Reference: the drift u⊥ v⊥/(2 B L) in a field whose strength has the scale L, to second order in radius/L.
// Jackson 1999, section 12.4.
TYPED_TEST(RelativisticPush, DriftsAcrossTheGradientOfTheField) {
  const double strength = 2, scale = 200, speed = 5;
  const auto fields = [&](const Vec3<double>& x) {
    return ElectromagneticField<double>{{0, 0, 0}, {0, 0, strength * (1 + x.x / scale)}};
  };
  const double gamma = gamma_of({speed, 0, 0}), frequency = strength / gamma;
  const double drift = speed * speed / gamma / (2 * strength * scale);
  Particle<TypeParam> one;
  one.u = {0, speed, 0};
  one.x.x = -speed / strength;  // the guiding centre at 0
  const double turns = 400, dt = 0.02;
  const auto steps = static_cast<int>(turns * 2 * 3.14159265358979 / frequency / dt);
  for (int k = 0; k < steps; ++k) one.step(fields, dt);
  EXPECT_NEAR(one.x.y / (steps * dt), drift, 0.01 * drift + speed / strength / (steps * dt) * 0.5);
}

// E + v × B = 0: no force. Higuera & Cary keep this velocity for any step, Boris does not (their section V).
TEST(RelativisticPushers, HigueraAndCaryKeepTheForceFreeVelocity) {
  const Vec3<double> magnetic{0, 0, 2}, electric{0, 2 * 0.99 * light, 0};
  const auto fields = [&](const Vec3<double>&) { return ElectromagneticField<double>{electric, magnetic}; };
  const double gamma = 1 / std::sqrt(1 - 0.99 * 0.99);
  const auto run = [&]<class Pusher>(Pusher) {
    Particle<Pusher> one;
    one.u = {gamma * 0.99 * light, 0, 0};
    for (int k = 0; k < 200; ++k) one.step(fields, 1.0);
    return one.u;
  };
  const auto kept = run(HigueraCary()), lost = run(RelativisticBoris());
  EXPECT_NEAR(kept.x / (gamma * 0.99 * light), 1, 1e-9);
  EXPECT_NEAR(kept.y / (gamma * light), 0, 1e-9);
  EXPECT_GT(std::fabs(lost.x / (gamma * 0.99 * light) - 1) + std::fabs(lost.y), 0.1);
}

// In strong fields σ < 0: both forms of the same γ.
TEST(RelativisticPushers, HigueraAndCarysGammaSolvesItsEquation) {
  for (const double strength : {0.01, 0.9, 3.0, 40.0}) {
    const Vec3<double> u{1, -2, 0.5}, beta{0.3 * strength, 0.2 * strength, strength};
    const double c2 = light * light, inverse = physics::HigueraCaryRule::inverse_gamma(u, beta, 1 / c2);
    const double gamma2 = 1 / (inverse * inverse), sigma = 1 + dot(u, u) / c2 - dot(beta, beta);
    const double across = dot(beta, beta) + dot(u, beta) * dot(u, beta) / c2;
    EXPECT_NEAR(gamma2 * gamma2, sigma * gamma2 + across, 1e-11 * (1 + across)) << strength;
  }
}

// In a magnetic field alone the energy stays, but for rounding that adds up from step to step.
TYPED_TEST(RelativisticPush, MagneticFieldsKeepTheEnergy) {
  const auto turned = []<class Real>(Real start) {
    const auto factors = physics::boris_factors<Real>(-1, {0, 0, 0}, 0.3, 1.0);
    Vec3<Real> u{start, Real(2), Real(3)};
    for (int k = 0; k < 1000; ++k) {
      const auto wave = static_cast<Real>(std::sin(0.1 * k));
      u = TypeParam::template push<3, 3>(u, ElectromagneticField<Real>{{0, 0, 0}, {Real(0.5), wave, Real(1) - wave}},
                                         factors);
    }
    return static_cast<double>(dot(u, u));
  };
  EXPECT_NEAR(turned(1.0), 14, 1e-12);
  EXPECT_NEAR(turned(1.0f), 14, 14 * 1e-5);
}

// Reference: (γ − 1) m c², and m v²/2 where c is large.
TYPED_TEST(RelativisticPush, EnergyIsThatOfRelativity) {
  const double square = 9.0, gamma = std::sqrt(1 + square / (light * light));
  EXPECT_NEAR(0.5 * square * TypeParam::energy_factor(square, 1 / (light * light)), (gamma - 1) * light * light, 1e-13);
  EXPECT_EQ(TypeParam::energy_factor(square, 0), 1);
  const auto v = TypeParam::motion(Vec3<double>{3, 0, 0}, physics::boris_factors<double>(1, {0, 0, 0}, 1, light));
  EXPECT_NEAR(v.x, 3 / gamma, 1e-14);
}

}  // namespace
}  // namespace pergola

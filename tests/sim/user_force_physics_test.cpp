#include "gravity/user_force.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sim/gravity_system.hpp"

namespace pergola {
namespace {

RunConfig leapfrog(double step) {
  RunConfig config;
  config.run.end_time = 10;
  config.run.device = "cpu";
  config.run.threads = 2;
  config.time.integrator = "leapfrog";
  config.time.step = step;
  config.gravity.softening = Softening::same(0.02);
  return config;
}

Particles plummer(std::int64_t n) {
  ModelOptions options;
  options.n = n;
  return make_model("plummer", options);
}

template <class T>
void expect_same_bits(const std::vector<T>& one, const std::vector<T>& other) {
  ASSERT_EQ(one.size(), other.size());
  EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(T)), 0);
}

void expect_same_bits(const Particles& one, const Particles& other) {
  expect_same_bits(one.id, other.id);
  expect_same_bits(one.x, other.x), expect_same_bits(one.y, other.y), expect_same_bits(one.z, other.z);
  expect_same_bits(one.vx, other.vx), expect_same_bits(one.vy, other.vy), expect_same_bits(one.vz, other.vz);
}

constexpr double omega = 1.7;
/// A harmonic trap about the origin.
UserForce trap() {
  return user_force([](const auto& call) {
    for (std::int64_t t = 0; t < call.count; ++t) {
      const std::int64_t i = call.place(t);
      using Real = std::remove_reference_t<decltype(call.ax[0])>;
      const auto strength = static_cast<Real>(omega * omega);
      call.ax[t] -= strength * call.x[i], call.ay[t] -= strength * call.y[i], call.az[t] -= strength * call.z[i];
    }
  });
}

/// A particle without mass in the trap, let go at x = 1: the leapfrog has it at cos(k θ) after k steps h, with
/// cos θ = 1 − (ω h)²/2. Hairer, Lubich & Wanner, Acta Numerica 12 (2003), section 1.4: the map's trace is 2 cos θ.
TEST(UserForce, HarmonicTrapHasTheLeapfrogsOwnPhase) {
  for (const char* precision : {"double", "single"}) {
    RunConfig config = leapfrog(0.0625);
    config.run.precision = precision;
    config.gravity.user_forces = {trap()};
    Particles one;
    one.resize(1);
    one.x[0] = 1;
    GravitySystem simulation(config, one);
    simulation.run_until(5);
    const double theta = std::acos(1 - omega * omega * 0.0625 * 0.0625 / 2);
    // 80 steps of rounding.
    EXPECT_NEAR(simulation.particles().x[0], std::cos(80 * theta), config.run.precision == "double" ? 1e-13 : 2e-5);
  }
}

/// x'' = −g(t) with g = 1 after t = 1: what the force is told is the time of the places.
TEST(UserForce, IsToldTheTimeOfThePlaces) {
  RunConfig config = leapfrog(0.125);
  std::vector<double> times;
  config.gravity.user_forces = {user_force([&](const auto& call) { times.push_back(call.time); })};
  Particles one;
  one.resize(1);
  GravitySystem simulation(config, one, 2);
  simulation.run_until(2.5);
  EXPECT_EQ(times, (std::vector<double>{2, 2.125, 2.25, 2.375, 2.5}));
}

TEST(UserForce, AForceOfZeroChangesNoBit) {
  for (const char* steps : {"shared", "block"})
    for (const char* solver : {"direct", "tree"}) {
      RunConfig config = leapfrog(0.0625);
      config.gravity.solver = solver;
      config.time.steps = steps;
      if (config.time.steps == "block") config.time.step = 0;
      const Particles start = plummer(200);
      GravitySystem without(config, start);
      config.gravity.user_forces = {user_force([](const auto& call) {
        for (std::int64_t t = 0; t < call.count; ++t) call.ax[t] += 0;
      })};
      GravitySystem with(config, start);
      without.run_until(0.5), with.run_until(0.5);
      expect_same_bits(without.particles(), with.particles());
    }
}

/// Block steps ask for a part of the particles: the trap must find their places.
TEST(UserForce, BlockStepsKeepTheEnergyInATrap) {
  RunConfig config = leapfrog(0);
  config.time.steps = "block";
  config.time.eta = 0.005;
  config.gravity.user_forces = {trap()};
  const auto energy = [](const GravitySystem& simulation) {
    const Particles p = simulation.particles();
    double in_trap = 0;
    for (std::size_t i = 0; i < p.mass.size(); ++i)
      in_trap += p.mass[i] * omega * omega / 2 * (p.x[i] * p.x[i] + p.y[i] * p.y[i] + p.z[i] * p.z[i]);
    return simulation.energies().total() + in_trap;
  };
  GravitySystem simulation(config, plummer(100));
  const double before = energy(simulation);
  simulation.run_until(1);
  EXPECT_GT(simulation.counts().steps, 8);
  // 0.0003 with these steps; the trap's part alone is 1.5.
  EXPECT_NEAR(energy(simulation), before, 2e-3 * std::abs(before));
}

RunConfig hermite(const UserForce& force) {
  RunConfig config = leapfrog(0);
  config.time.integrator = "hermite";
  config.time.eta = 0.001;
  config.gravity.user_forces = {force};
  return config;
}

Particles let_go(double x, double vx) {
  Particles one;
  one.resize(1);
  one.x[0] = x, one.vx[0] = vx;
  return one;
}

/// Reference: x = cos ωt. The jerk is given, or found from differences.
TEST(UserForce, HermiteSwingsInATrapWithAJerkOrWithout) {
  const auto with_jerk = user_force(
      [](const auto& call) {
        for (std::int64_t t = 0; t < call.count; ++t) {
          using Real = std::remove_reference_t<decltype(call.ax[0])>;
          const auto strength = static_cast<Real>(omega * omega);
          call.ax[t] -= strength * call.x[call.place(t)];
          if (call.jx) call.jx[t] -= strength * call.vx[call.place(t)];
        }
      },
      true);
  for (const auto& force : {with_jerk, trap()}) {
    GravitySystem simulation(hermite(force), let_go(1, 0));
    simulation.run_until(5);
    EXPECT_NEAR(simulation.particles().x[0], std::cos(5 * omega), 1e-6);
  }
}

/// Reference: v = v₀ exp(−γt) under a drag −γv, and x = x₀ + sin t under a force −sin t of the time alone: the
/// differences follow velocities and times too.
TEST(UserForce, HermiteFollowsDragAndTime) {
  const double drag = 0.3;
  GravitySystem slowed(hermite(user_force([&](const auto& call) {
                         using Real = std::remove_reference_t<decltype(call.ax[0])>;
                         for (std::int64_t t = 0; t < call.count; ++t)
                           call.ax[t] -= static_cast<Real>(drag) * call.vx[call.place(t)];
                       })),
                       let_go(0, 2));
  slowed.run_until(5);
  EXPECT_NEAR(slowed.particles().vx[0], 2 * std::exp(-drag * 5), 1e-8);
  GravitySystem pushed(hermite(user_force([](const auto& call) {
                         using Real = std::remove_reference_t<decltype(call.ax[0])>;
                         for (std::int64_t t = 0; t < call.count; ++t)
                           call.ax[t] -= static_cast<Real>(std::sin(call.time));
                       })),
                       let_go(0, 1), 0);
  pushed.run_until(5);
  EXPECT_NEAR(pushed.particles().x[0], std::sin(5), 1e-6);
}

}  // namespace
}  // namespace pergola

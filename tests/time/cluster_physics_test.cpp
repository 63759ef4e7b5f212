#include <gtest/gtest.h>

#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class Cluster : public DeviceTest {
 protected:
  static Particles plummer(std::int64_t n) {
    ModelOptions options;
    options.n = n;
    return make_model("plummer", options);
  }
};

constexpr double epsilon = 1.0 / 256;

void expect_same_bits(const Particles& a, const Particles& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.vz, b.vz);
}

TEST_P(Cluster, ResultsHaveTheSameBitsForAnyThreadCount) {
  for (const auto precision : {Precision::single, Precision::mixed, Precision::double_})
    for (const auto& time : {hermite(0.02), leapfrog(0x1p-7)}) {
      const auto one = run(plummer(700), 0.2, time, device(1), precision, epsilon);
      expect_same_bits(one, run(plummer(700), 0.2, time, device(2), precision, epsilon));
      expect_same_bits(one, run(plummer(700), 0.2, time, device(7), precision, epsilon));
    }
}

TEST_P(Cluster, RestoredIntegratorGoesOnWithTheSameBits) {
  auto adaptive = leapfrog(1);
  adaptive.adaptive = true;
  auto iterated = hermite(0.02);
  iterated.corrector_iterations = 2;
  for (const auto& time : {hermite(0.02), iterated, leapfrog(0.003), adaptive}) {
    const auto whole = integrator(time, device(1), Precision::mixed, epsilon);
    whole->start(plummer(200), 0);
    whole->advance(0.1, nullptr);
    const auto resumed = integrator(time, device(1), Precision::mixed, epsilon);
    resumed->restore(whole->save());
    whole->finish(0.3);
    resumed->finish(0.3);
    expect_same_bits(whole->state_at(0.3), resumed->state_at(0.3));
    EXPECT_EQ(whole->counts().interactions, resumed->counts().interactions);
  }
}

TEST_P(Cluster, LookingAtTheStateDoesNotChangeTheSteps) {
  const auto quiet = integrator(hermite(0.02), device(1), Precision::mixed, epsilon);
  const auto watched = integrator(hermite(0.02), device(1), Precision::mixed, epsilon);
  quiet->start(plummer(200), 0);
  watched->start(plummer(200), 0);
  for (const double t : {0.01, 0.0333, 0.1, 0.17}) {
    watched->advance(t, nullptr);
    watched->state_at(t);
  }
  quiet->finish(0.2);
  watched->finish(0.2);
  expect_same_bits(quiet->state_at(0.2), watched->state_at(0.2));
}

// Reference: Newton's third law; 200 steps of 500 particles at double rounding.
TEST_P(Cluster, SharedStepLeapfrogKeepsMomentumToRounding) {
  const auto before = plummer(500);
  const auto after = run(before, 0.5, leapfrog(0.0025), device(1), Precision::double_, epsilon);
  EXPECT_LT(length(momentum(after) - momentum(before)), 1e-14);
  EXPECT_LT(length(angular_momentum(after) - angular_momentum(before)), 1e-14);
}

// Reference: the same system in double precision; the error of a force in single precision is about 1e-7 and grows
// with the divergence of neighbouring orbits, e-fold per crossing time at most over half a time unit.
TEST_P(Cluster, MixedPrecisionFollowsDoublePrecision) {
  const auto full = run(plummer(200), 0.25, hermite(0.02), device(1), Precision::double_, epsilon);
  const auto mixed = run(plummer(200), 0.25, hermite(0.02), device(1), Precision::mixed, epsilon);
  double sum = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const auto d = position(full, i) - position(mixed, i);
    sum += dot(d, d);
  }
  EXPECT_LT(std::sqrt(sum / 200), 1e-6);
  EXPECT_GT(sum, 0);
}

// Reference: the same run with all particles kept at the shortest step.
TEST_P(Cluster, BlockStepsDoLessWorkThanSharedSteps) {
  const auto system = integrator(hermite(0.02), device(1), Precision::mixed, epsilon);
  system->start(plummer(500), 0);
  system->finish(0.25);
  const auto counts = system->counts();
  EXPECT_LT(counts.particle_steps, counts.steps * 500 / 4);
  EXPECT_GT(counts.particle_steps, counts.steps);
}

INSTANTIATE_TEST_SUITE_P(Devices, Cluster, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

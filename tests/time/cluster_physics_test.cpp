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

/// The cluster with a pair of two more of its stars within it, at apocentre of an orbit with this semi-major axis.
Particles with_binary(const Particles& cluster, double a, double e) {
  const double m = cluster.mass[0], reach = a * (1 + e) / 2, speed = std::sqrt(2 * m / a * (1 - e) / (1 + e)) / 2;
  Particles all = bodies(
      {{m, {0.3 + reach, 0.1, 0.2}, {0.1, 0.2 + speed, -0.1}}, {m, {0.3 - reach, 0.1, 0.2}, {0.1, 0.2 - speed, -0.1}}});
  all.id = {1000001, 1000002};
  all.append(cluster);
  return all;
}

/// Of the orbit of the first two particles.
double semi_major_axis(const Particles& p) {
  const auto d = position(p, 0) - position(p, 1), w = velocity(p, 0) - velocity(p, 1);
  return 1 / (2 / length(d) - dot(w, w) / (2 * p.mass[0]));
}

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

TEST_P(Cluster, ABinaryHasTheSameBitsForAnyThreadCountAndOnceRestored) {
  const auto start = with_binary(plummer(700), 3e-4, 0.5);
  for (const auto precision : {Precision::single, Precision::mixed, Precision::double_}) {
    const auto one = run(start, 0.003, hermite(0.02), device(1), precision);
    expect_same_bits(one, run(start, 0.003, hermite(0.02), device(7), precision));
    const auto whole = integrator(hermite(0.02), device(2), precision);
    whole->start(start, 0);
    whole->advance(0.001, nullptr);
    const auto resumed = integrator(hermite(0.02), device(2), precision);
    resumed->restore(whole->save());
    resumed->finish(0.003);
    expect_same_bits(one, resumed->state_at(0.003));
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

// Reference: a pair so much harder than its neighbours' pull keeps its semi-major axis. Here it turns 43 times; with
// one evaluation per step it loses 4e-5 (circular) and 1e-4 of it.
TEST_P(Cluster, AHardBinaryKeepsItsSize) {
  const auto change = [&](double eccentricity) {
    const auto start = with_binary(plummer(100), 3e-4, eccentricity);
    return std::abs(semi_major_axis(run(start, 0.01, TimeOptions(), device(1))) / semi_major_axis(start) - 1);
  };
  EXPECT_LT(change(0), 1e-6);
  EXPECT_LT(change(0.5), 3e-5);
}

// Reference: one evaluation of each particle at the start and for each of its steps.
TEST_P(Cluster, StarsThatAreNoPairsAreEvaluatedOnce) {
  const auto system = integrator(hermite(0.02), device(1), Precision::double_, 0);
  system->start(plummer(500), 0);
  system->finish(0.25);
  const auto counts = system->counts();
  EXPECT_LT(static_cast<double>(counts.interactions) / 500 - 500, 1.02 * static_cast<double>(counts.particle_steps));
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

// Systems with the direct sum on several ranks, which keep their own particles: all that can be seen of them has the
// bits of one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "marks.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_seen.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*DistributedDirectSystem.HasTheBitsOfOneRankWith*");
PERGOLA_MARK(heavy, "*DistributedDirectSystem.SofteningMayBeZero*");

const Settings leapfrog{"gravity.solver=direct", "gravity.softening=0.01"};
const Settings hermite{"gravity.solver=direct", "gravity.softening=0.05", "time.integrator=hermite",
                       "time.step_max=0.125",   "time.eta=0.5",           "time.eta_start=0.5"};

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Some of them at rest about a heavy one: their steps are shorter than those of the others.
Particles with_a_heavy_one(std::int64_t n) {
  Particles particles = crossing_particles(n, 0);
  for (std::size_t k = particles.id.size() / 2; k < particles.id.size() / 2 + 6; ++k) {
    for (double* x : {&particles.x[k], &particles.y[k], &particles.z[k]}) *x = 0.5 + 0.05 * (*x - 0.5);
    particles.vx[k] = particles.vy[k] = particles.vz[k] = 0;
  }
  particles.mass[particles.id.size() / 2] = 0.1;
  return particles;
}

/// On CPUs, and as ranks that share a GPU.
class DistributedDirectSystem : public DeviceTest {
 protected:
  Settings here(Settings settings, const Settings& more = {}) const {
    settings.push_back("run.device=" + GetParam());
    return with(settings, more);
  }
  std::vector<std::string> words_of_a_collision(int ranks, const Settings& settings) const;
  std::vector<std::string> words_of_a_fall(int ranks) const;
};

TEST_P(DistributedDirectSystem, HasTheBitsOfOneRankWithTheLeapfrog) {
  expect_bits_of_one_rank(here(leapfrog), crossing_particles(1500, 0), {2, 3, 4, 7, 64});
  expect_bits_of_one_rank(here(leapfrog, {"run.precision=single"}), crossing_particles(300, 0), {4});
  expect_bits_of_one_rank(here(leapfrog, {"run.precision=double"}), crossing_particles(5, 0), {7});
}

// Steps are then chosen from jerks.
TEST_P(DistributedDirectSystem, SofteningMayBeZero) {
  const Settings unsoftened{"gravity.solver=direct", "gravity.softening=0", "time.adaptive=true", "time.eta=0.5"};
  expect_bits_of_one_rank(here(unsoftened), crossing_particles(200, 0), {3});
  const Settings blocks{"gravity.solver=direct", "gravity.softening=0", "time.steps=block", "time.integrator=leapfrog",
                        "time.eta=0.5"};
  expect_bits_of_one_rank(here(blocks), crossing_particles(200, 0), {3});
}

TEST_P(DistributedDirectSystem, HasTheBitsOfOneRankWithBlockSteps) {
  const Settings blocks = here(leapfrog, {"time.steps=block", "time.step_max=0.125", "time.eta=0.4"});
  const Particles particles = with_a_heavy_one(1300);
  const Seen end = run_on(1, distributed_config(blocks), particles)[1];
  EXPECT_LT(end.counts.particle_steps, end.counts.steps * particles.size() / 2);
  expect_bits_of_one_rank(blocks, particles, {3, 7});
  expect_going_on_with_the_same_bits(blocks, with_a_heavy_one(240), {1, 2});
}

TEST_P(DistributedDirectSystem, HasTheBitsOfOneRankWithHermite) {
  const Particles particles = with_a_heavy_one(1300);
  const Seen end = run_on(1, distributed_config(here(hermite)), particles)[1];
  EXPECT_LT(end.counts.particle_steps, end.counts.steps * particles.size() / 4);
  if (GetParam() == "cuda") return expect_bits_of_one_rank(here(hermite), particles, {4});  // which take turns
  expect_bits_of_one_rank(here(hermite), particles, {2, 3, 4, 7});
  expect_bits_of_one_rank(here(hermite), with_a_heavy_one(90), {64});
}

TEST_P(DistributedDirectSystem, HasTheBitsOfOneRankWithHermiteOfAnyPrecision) {
  expect_bits_of_one_rank(here(hermite, {"run.precision=single"}), with_a_heavy_one(200), {3});
  expect_bits_of_one_rank(
      here(hermite, {"gravity.external=[{ kind = \"hernquist\", mass = 3, radius = 0.7 }]", "gravity.softening=0.001"}),
      with_a_heavy_one(200), {3});
  expect_bits_of_one_rank(here(hermite, {"run.precision=double", "time.corrector_iterations=2"}), with_a_heavy_one(100),
                          {4});
}

/// Two of them circle each other closely: the corrector of these is iterated.
Particles with_a_pair(std::int64_t n) {
  Particles particles = crossing_particles(n, 0);
  const auto k = particles.id.size() / 2;
  particles.x[k + 1] = particles.x[k] + 0.02, particles.y[k + 1] = particles.y[k], particles.z[k + 1] = particles.z[k];
  const double speed = std::sqrt((particles.mass[k] + particles.mass[k + 1]) / 0.02) / 2;
  particles.vx[k] = particles.vx[k + 1] = particles.vz[k] = particles.vz[k + 1] = 0;
  particles.vy[k] = -speed, particles.vy[k + 1] = speed;
  return particles;
}

TEST_P(DistributedDirectSystem, HasTheBitsOfOneRankWhereHermiteIterates) {
  const Settings close = here(hermite, {"gravity.softening=0", "time.eta=0.02"});
  const Particles particles = with_a_pair(40);
  const Seen end = run_on(1, distributed_config(close), particles)[1];
  EXPECT_GT(end.counts.interactions, (end.counts.particle_steps + 400) * particles.size()) << "40 are of the start";
  expect_bits_of_one_rank(close, particles, {3});
  expect_going_on_with_the_same_bits(close, particles, {2});
}

// Most ranks have no particle, and one is active at a time.
TEST_P(DistributedDirectSystem, RanksMayHaveNoneOfTheParticlesOfHermite) {
  expect_bits_of_one_rank(here(hermite), crossing_particles(3, 0), {7});
  expect_bits_of_one_rank(here(hermite), crossing_particles(1, 0), {2});
}

TEST_P(DistributedDirectSystem, HermiteGoesOnWithTheSameBitsOnAnotherNumberOfRanks) {
  expect_going_on_with_the_same_bits(here(hermite), with_a_heavy_one(120), {1, 2, 4, 7});
}

// Rank 0 knows the steps of all.
TEST_P(DistributedDirectSystem, KnowsTheStepsOfAllRanks) {
  const RunConfig config = distributed_config(here(hermite));
  std::vector<StepClass> found[2];
  for (const int ranks : {1, 3})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      GravitySystem simulation(config, with_a_heavy_one(200), 0, kept_elsewhere(communicator));
      simulation.run_until(0.3);
      if (communicator.is_root()) found[ranks / 2] = simulation.step_classes();
    });
  ASSERT_GT(found[0].size(), 1u);
  ASSERT_EQ(found[1].size(), found[0].size());
  for (std::size_t k = 0; k < found[0].size(); ++k) {
    EXPECT_EQ(found[1][k].length, found[0][k].length);
    EXPECT_EQ(found[1][k].particles, found[0][k].particles);
  }
}

TEST_P(DistributedDirectSystem, EachRankKeepsItsShareOnly) { expect_shares(here(leapfrog)); }

TEST_P(DistributedDirectSystem, GoesOnWithTheSameBitsOnAnotherNumberOfRanks) {
  expect_going_on_with_the_same_bits(here(leapfrog));
}

/// What each of so many ranks says of two particles in one place.
std::vector<std::string> DistributedDirectSystem::words_of_a_collision(int ranks, const Settings& settings) const {
  auto particles = crossing_particles(200, 0);
  particles.x[150] = particles.x[20], particles.y[150] = particles.y[20], particles.z[150] = particles.z[20];
  const RunConfig config = distributed_config(here(settings, {"gravity.softening=0"}));
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    try {
      GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    } catch (const Error& error) {
      words[static_cast<std::size_t>(communicator.rank())] = error.what();
    }
  });
  return words;
}

TEST_P(DistributedDirectSystem, ParticlesInOnePlaceAreNamedByAllRanks) {
  for (const Settings& settings : {leapfrog, hermite}) {
    const std::string one = words_of_a_collision(1, settings)[0];
    EXPECT_NE(one.find("ids 21 and 151"), std::string::npos) << one;
    for (const std::string& several : words_of_a_collision(3, settings)) EXPECT_EQ(several, one);
  }
}

/// What each of so many ranks says of two heavy particles that fall onto each other.
std::vector<std::string> DistributedDirectSystem::words_of_a_fall(int ranks) const {
  auto particles = crossing_particles(10, 0);
  for (const std::size_t k : {3u, 8u}) {
    particles.mass[k] = 10;
    particles.y[k] = particles.z[k] = particles.vx[k] = particles.vy[k] = particles.vz[k] = 0;
  }
  particles.x[3] = 5, particles.x[8] = 5.01;
  return words_of_ranks(ranks, distributed_config(here(hermite, {"gravity.softening=0", "run.precision=double"})),
                        particles);
}

TEST_P(DistributedDirectSystem, AParticleWhoseStepIsTooShortIsNamedByAllRanks) {
  const std::string one = words_of_a_fall(1)[0];
  EXPECT_NE(one.find("particle id 4 at time"), std::string::npos) << one;
  for (const std::string& several : words_of_a_fall(4)) EXPECT_EQ(several, one);
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedDirectSystem, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

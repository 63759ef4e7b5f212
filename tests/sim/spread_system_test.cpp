#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "comm/shares.hpp"
#include "comm/thread_ranks.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_case.hpp"

namespace pergola {
namespace {

const Settings tree{"gravity.solver=tree", "gravity.mesh.boundary=isolated", "gravity.softening=0.01"};
const Settings treepm{"gravity.solver=treepm", "gravity.mesh.boundary=periodic", "gravity.softening=0.001",
                      "gravity.tree.accuracy=1e-2"};

const Settings open_treepm{"gravity.solver=treepm", "gravity.mesh.boundary=isolated", "gravity.mesh.box=auto",
                           "gravity.softening=0.01", "gravity.tree.accuracy=1e-2"};

/// With block steps of several levels.
Settings in_blocks(Settings settings) {
  settings.insert(settings.end(),
                  {"time.steps=block", "time.step_max=0.125", "time.eta=0.4", "gravity.softening=0.01"});
  return settings;
}

Particles some_particles(std::int64_t n, double corner) { return cube_particles(n, corner, 0.2, 5); }

/// A few of them at rest about a heavy one: their steps are shorter than those of the others.
Particles with_a_clump() {
  Particles particles = some_particles(240, 0);
  for (std::size_t k = 50; k < 56; ++k) {
    for (double* x : {&particles.x[k], &particles.y[k], &particles.z[k]}) *x = 0.5 + 0.05 * (*x - 0.5);
    particles.vx[k] = particles.vy[k] = particles.vz[k] = 0;
  }
  particles.mass[50] = 0.1;
  return particles;
}

/// All that rank 0 can see of a simulation.
struct Seen {
  StateBlocks state;
  std::string hash;
  Energies energies;
  Particles particles, sample;
  ParticleCensus census;
  StepCounts counts;
  std::int64_t outside = 0;
};

Seen look_at(GravitySystem& simulation) {
  Seen seen;
  simulation.on_root([&] {
    seen.hash = simulation.state_hash();
    seen.sample = simulation.sample(20);
    seen.census = simulation.census();
    seen.state = simulation.save();
  });
  seen.energies = simulation.energies();
  simulation.on_root(
      [&] {
        const auto source = simulation.particles_with_potentials();
        source->read(0, source->count(), seen.particles);
      },
      GravitySystem::Reading::potentials);
  seen.counts = simulation.counts();
  seen.outside = simulation.outside();
  return seen;
}

/// Without the bytes after the last member of a box, which may be any.
std::map<std::string, std::vector<std::byte>> blocks_of(const StateBlocks& state) {
  auto blocks = state.blocks();
  if (blocks.contains("box")) blocks.at("box").resize(offsetof(Box, boundary) + sizeof(Boundary));
  return blocks;
}

void expect_same(const Seen& a, const Seen& b, const std::string& where) {
  SCOPED_TRACE(where);
  EXPECT_EQ(a.hash, b.hash);
  const auto one = blocks_of(a.state), other = blocks_of(b.state);
  ASSERT_EQ(one.size(), other.size());
  for (const auto& [name, bytes] : one) EXPECT_TRUE(other.at(name) == bytes) << name;
  EXPECT_EQ(a.energies.kinetic, b.energies.kinetic);
  EXPECT_EQ(a.energies.potential, b.energies.potential);
  EXPECT_EQ(a.energies.angular_momentum.z, b.energies.angular_momentum.z);
  EXPECT_EQ(a.particles.x, b.particles.x);
  EXPECT_EQ(a.particles.potential, b.particles.potential);
  EXPECT_EQ(a.sample.id, b.sample.id);
  EXPECT_EQ(a.sample.x, b.sample.x);
  EXPECT_EQ(a.census.counts, b.census.counts);
  EXPECT_EQ(a.counts.steps, b.counts.steps);
  EXPECT_EQ(a.counts.particle_steps, b.counts.particle_steps);
  EXPECT_EQ(a.outside, b.outside);
}

/// What rank 0 of so many sees at 0.3, between two steps, and at the end.
std::vector<Seen> run_on(int ranks, const RunConfig& config, const Particles& particles) {
  std::vector<Seen> seen(2);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    simulation.run_until(0.3);
    const Seen between = look_at(simulation);
    simulation.run_until(0.5);
    const Seen end = look_at(simulation);
    if (communicator.is_root()) seen = {between, end};
  });
  return seen;
}

void expect_bits_of_one_rank(const Settings& settings, const Particles& particles, const std::vector<int>& numbers) {
  const RunConfig config = spread_config(settings);
  const auto one = run_on(1, config, particles);
  for (const int ranks : numbers) {
    const auto several = run_on(ranks, config, particles);
    for (std::size_t k = 0; k < one.size(); ++k)
      expect_same(several[k], one[k],
                  std::to_string(ranks) + " ranks, " + std::to_string(particles.size()) + " particles, moment " +
                      std::to_string(k));
  }
}

TEST(SpreadSystem, HasTheBitsOfOneRankInAPeriodicBox) {
  expect_bits_of_one_rank({}, some_particles(150, 0), {2, 3, 4, 7, 64});
}

TEST(SpreadSystem, HasTheBitsOfOneRankWithDoublesAndStepsChosenFromAllParticles) {
  expect_bits_of_one_rank({"run.precision=double", "time.adaptive=true", "gravity.mesh.assignment=tsc",
                           "gravity.mesh.gradient=spectral", "time.courant=2"},
                          some_particles(150, 0), {3, 4});
}

// Every cloud and every force, on ranks that have planes from a half of the mesh to none.
TEST(SpreadSystem, HasTheBitsOfOneRankForEveryCloudAndGradient) {
  const auto particles = some_particles(100, 0);
  expect_bits_of_one_rank({"gravity.mesh.assignment=ngp", "gravity.mesh.gradient=four-point"}, particles, {2, 7});
  expect_bits_of_one_rank({"gravity.mesh.assignment=tsc", "run.precision=mixed"}, particles, {3, 16});
  expect_bits_of_one_rank({"gravity.mesh.assignment=pcs", "gravity.mesh.gradient=four-point"}, particles, {4, 20});
  expect_bits_of_one_rank({"gravity.mesh.assignment=pcs", "gravity.mesh.gradient=spectral", "run.precision=double"},
                          particles, {7});
}

// Equal masses are not sent; more than a group of particles, of which most stay together.
TEST(SpreadSystem, HasTheBitsOfOneRankWithManyEqualMasses) {
  auto particles = some_particles(3000, 0);
  std::fill(particles.mass.begin(), particles.mass.end(), 1.0 / 4096);
  expect_bits_of_one_rank({"time.step=0.25"}, particles, {3});
}

TEST(SpreadSystem, HasTheBitsOfOneRankWhereOneSlabHasAllParticles) {
  auto particles = some_particles(300, 0);
  for (std::size_t k = 0; k < particles.z.size(); ++k)
    particles.z[k] = 0.47 + 0.05 * particles.z[k], particles.vz[k] = 0;
  expect_bits_of_one_rank({"gravity.mesh.assignment=tsc", "time.step=0.125"}, particles, {4, 7});
}

TEST(SpreadSystem, HasTheBitsOfOneRankInAnIsolatedBoxThatParticlesLeave) {
  const Settings isolated{"gravity.mesh.boundary=isolated", "gravity.mesh.poisson=multigrid", "run.precision=double",
                          "gravity.mesh.box=1.0"};
  const auto particles = some_particles(100, -0.5);
  EXPECT_GT(run_on(1, spread_config(isolated), particles)[1].outside, 0);
  expect_bits_of_one_rank(isolated, particles, {2, 7});
}

TEST(SpreadSystem, RanksMayHaveNoParticles) {
  expect_bits_of_one_rank({}, some_particles(5, 0), {7});
  expect_bits_of_one_rank({"time.adaptive=true", "time.courant=2"}, some_particles(1, 0), {3});
}

void expect_shares(const Settings& settings) {
  const auto particles = some_particles(100, 0);
  run_on_thread_ranks(7, [&](Communicator& communicator) {
    GravitySystem simulation(spread_config(settings), particles, 0, kept_elsewhere(communicator));
    simulation.run_until(0.25);
    const Shares shares{particles.size(), 7};
    const int rank = communicator.rank();
    const LentParticles lent = simulation.lend();
    EXPECT_EQ(lent.count, shares.count(rank));
    EXPECT_EQ(simulation.size(), 100);
    std::vector<std::uint64_t> ids(lent.id, lent.id + lent.count);
    std::sort(ids.begin(), ids.end());
    for (std::size_t k = 0; k < ids.size(); ++k)
      EXPECT_EQ(ids[k], particles.id[static_cast<std::size_t>(shares.first(rank)) + k]);
  });
}

void expect_going_on_with_the_same_bits(const Settings& settings, const Particles& particles = some_particles(120, 0),
                                        const std::vector<int>& numbers = {1, 2, 4, 7}) {
  const RunConfig config = spread_config(settings);
  const Seen whole = run_on(1, config, particles)[1];
  StateBlocks state;
  for (const int before : {3, 1}) {
    run_on_thread_ranks(before, [&](Communicator& communicator) {
      GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
      simulation.run_until(0.3);
      simulation.on_root([&] { state = simulation.save(); });
    });
    for (const int after : numbers) {
      Seen resumed;
      run_on_thread_ranks(after, [&](Communicator& communicator) {
        GravitySystem simulation(config, state, kept_elsewhere(communicator));
        simulation.run_until(0.5);
        const Seen seen = look_at(simulation);
        if (communicator.is_root()) resumed = seen;
      });
      expect_same(resumed, whole, std::to_string(before) + " ranks, then " + std::to_string(after));
    }
  }
}

TEST(SpreadSystem, EachRankKeepsItsShareOnly) {
  expect_shares({});
  expect_shares(tree);
  expect_shares(treepm);
}

TEST(SpreadSystem, GoesOnWithTheSameBitsOnAnotherNumberOfRanks) {
  expect_going_on_with_the_same_bits({});
  expect_going_on_with_the_same_bits(tree);
  expect_going_on_with_the_same_bits(treepm);
}

// The energies of few particles are sums over all pairs.
TEST(SpreadSystem, HasTheBitsOfOneRankWithATree) {
  expect_bits_of_one_rank(tree, some_particles(700, 0), {2, 7});
  Settings single = tree;
  single.insert(single.end(), {"run.precision=single", "time.adaptive=true"});
  expect_bits_of_one_rank(single, some_particles(300, 0), {4});
  expect_bits_of_one_rank(tree, some_particles(5, 0), {7});
}

// In a box, through whose faces particles leave, energies are sums of potentials.
TEST(SpreadSystem, HasTheBitsOfOneRankWithTreePm) {
  expect_bits_of_one_rank(treepm, some_particles(400, 0), {2, 3});
  Settings single = treepm;
  single.insert(single.end(), {"run.precision=single", "gravity.solver=tree"});
  expect_bits_of_one_rank(single, some_particles(200, 0), {7});
  expect_bits_of_one_rank(open_treepm, some_particles(200, 0), {3});
}

// Levels of many steps, and cells of the tree that are kept where few end.
TEST(SpreadSystem, HasTheBitsOfOneRankWithBlockSteps) {
  for (const Settings& settings : {in_blocks(tree), in_blocks(treepm), in_blocks(open_treepm)}) {
    const Seen end = run_on(1, spread_config(settings), with_a_clump())[1];
    EXPECT_LT(end.counts.particle_steps, end.counts.steps * with_a_clump().size() / 2);
    expect_bits_of_one_rank(settings, with_a_clump(), {3});
    expect_going_on_with_the_same_bits(settings, with_a_clump(), {1, 2});
  }
  expect_bits_of_one_rank(in_blocks(tree), some_particles(5, 0), {7});
}

// Those of many are half the sum of mass times the potential of a finer tree, which ranks find together.
TEST(SpreadSystem, HasTheEnergiesOfOneRankWithATreeOfManyParticles) {
  Settings settings = tree;
  settings.insert(settings.end(), {"gravity.tree.accuracy=1e-2", "time.step=0.5"});
  const RunConfig config = spread_config(settings);
  const auto particles = some_particles(33000, 0);
  Energies found[2];
  for (const int ranks : {1, 3})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
      const Energies energies = simulation.energies();
      if (communicator.is_root()) found[ranks / 2] = energies;
    });
  EXPECT_LT(found[0].potential, 0);
  EXPECT_EQ(found[0].potential, found[1].potential);
  EXPECT_EQ(found[0].kinetic, found[1].kinetic);
}

TEST(SpreadSystem, ParticlesOfATreeInOnePlaceAreNamedByAllRanks) {
  auto particles = some_particles(200, 0);
  particles.x[150] = particles.x[20], particles.y[150] = particles.y[20], particles.z[150] = particles.z[20];
  Settings settings = tree;
  settings.push_back("gravity.softening=0");
  const RunConfig config = spread_config(settings);
  std::vector<std::string> words(3);
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    try {
      GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    } catch (const Error& error) {
      words[static_cast<std::size_t>(communicator.rank())] = error.what();
    }
  });
  EXPECT_NE(words[0].find("ids 21 and 151"), std::string::npos) << words[0];
  for (const auto& one : words) EXPECT_EQ(one, words[0]);
}

/// What each of so many ranks says of a particle that is too fast.
std::vector<std::string> words_of_a_lost_particle(int ranks, const Settings& settings) {
  auto particles = some_particles(10, -0.5);
  particles.vx[8] = 1.5e308;
  Settings all{"gravity.mesh.boundary=isolated", "run.precision=double", "time.step=0.25", "run.end_time=4"};
  all.insert(all.end(), settings.begin(), settings.end());
  const RunConfig config = spread_config(all);
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    try {
      simulation.run_until(4);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numerics);
      words[static_cast<std::size_t>(communicator.rank())] = error.what();
    }
  });
  return words;
}

TEST(SpreadSystem, AParticleThatIsLostIsNamedByAllRanks) {
  const auto words = words_of_a_lost_particle(4, {});
  EXPECT_NE(words[0].find("particle id 9 at time"), std::string::npos) << words[0];
  for (const auto& one : words) EXPECT_EQ(one, words[0]);
  Settings blocks = in_blocks(tree);
  blocks.push_back("time.step_max=4");
  const std::string alone = words_of_a_lost_particle(1, blocks)[0];
  EXPECT_NE(alone, "");
  for (const auto& one : words_of_a_lost_particle(4, blocks)) EXPECT_EQ(one, alone);
}

TEST(SpreadSystem, WhatIsAskedOfAllParticlesOutsideOnRootIsRefused) {
  const auto particles = some_particles(10, 0);
  run_on_thread_ranks(2, [&](Communicator& communicator) {
    GravitySystem simulation(spread_config({}), particles, 0, kept_elsewhere(communicator));
    EXPECT_THROW(simulation.particles(), Error);
    EXPECT_THROW(simulation.save(), Error);
  });
}

}  // namespace
}  // namespace pergola

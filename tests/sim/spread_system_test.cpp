#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "marks.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_memory.hpp"
#include "sim/spread_seen.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*DistributedTreeRuns.HaveTheEnergiesOfOneRankOfManyParticles*");

const Settings tree{"gravity.solver=tree", "gravity.mesh.boundary=isolated", "gravity.softening=0.01"};
const Settings open_treepm{"gravity.solver=treepm", "gravity.mesh.boundary=isolated", "gravity.mesh.box=auto",
                           "gravity.softening=0.01", "gravity.tree.accuracy=1e-2"};

TEST(DistributedSystem, HasTheBitsOfOneRankInAnIsolatedBoxThatParticlesLeave) {
  const Settings isolated{"gravity.mesh.boundary=isolated", "gravity.mesh.poisson=multigrid", "run.precision=double",
                          "gravity.mesh.box=1.0"};
  const auto particles = crossing_particles(100, -0.5);
  EXPECT_GT(run_on(1, distributed_config(isolated), particles)[1].outside, 0);
  expect_bits_of_one_rank(isolated, particles, {2, 7});
}

/// The tree in open space: on CPUs, and as ranks that share a GPU.
class DistributedTreeRuns : public DeviceTest {
 protected:
  Settings here(Settings settings) const {
    settings.push_back("run.device=" + GetParam());
    return settings;
  }
};

TEST_P(DistributedTreeRuns, KeepSharesOnly) { expect_shares(here(tree)); }

TEST(DistributedTreeMemory, MemoryOfARankIsItsShare) {
  const std::int64_t n = std::int64_t{1} << 22;
  for (const std::string precision : {"run.precision=single", "run.precision=mixed"}) {
    Settings settings = tree;
    settings.push_back(precision);
    expect_shares_of_memory(distributed_config(settings), Device::open("cpu", 1), n, 0);
  }
}

TEST_P(DistributedTreeRuns, GoOnWithTheSameBitsOnAnotherNumberOfRanks) {
  expect_going_on_with_the_same_bits(here(tree));
}

// The energies of few particles are sums over all pairs.
TEST_P(DistributedTreeRuns, HaveTheBitsOfOneRank) {
  const bool on_gpu = GetParam() != "cpu";  // whose ranks take turns
  expect_bits_of_one_rank(here(tree), crossing_particles(700, 0), on_gpu ? std::vector{3} : std::vector{2, 7});
  Settings single = tree;
  single.insert(single.end(), {"run.precision=single", "time.adaptive=true"});
  expect_bits_of_one_rank(here(single), crossing_particles(on_gpu ? 5 : 300, 0), {4});
  if (!on_gpu) expect_bits_of_one_rank(tree, crossing_particles(5, 0), {7});
}

TEST_P(DistributedTreeRuns, HaveTheBitsOfOneRankWithTreePmInOpenSpace) {
  expect_bits_of_one_rank(here(open_treepm), crossing_particles(200, 0), {3});
}

TEST_P(DistributedTreeRuns, GoOnWithTheSameBitsWithTreePmInOpenSpace) {
  expect_going_on_with_the_same_bits(here(open_treepm));
}

// Levels of many steps, and cells of the tree that are kept where few end.
TEST_P(DistributedTreeRuns, HaveTheBitsOfOneRankWithBlockSteps) {
  expect_bits_in_blocks(here(in_blocks(tree)), 2);
  if (GetParam() == "cpu") expect_bits_of_one_rank(in_blocks(tree), crossing_particles(5, 0), {7});
}

TEST_P(DistributedTreeRuns, HaveTheBitsOfOneRankWithBlockStepsAndTreePm) {
  expect_bits_in_blocks(here(in_blocks(open_treepm)), 2);
}

// Those of many are half the sum of mass times the potential of a finer tree, which ranks find together.
TEST_P(DistributedTreeRuns, HaveTheEnergiesOfOneRankOfManyParticles) {
  Settings settings = tree;
  settings.insert(settings.end(), {"gravity.tree.accuracy=1e-2", "time.step=0.5"});
  const RunConfig config = distributed_config(here(settings));
  const auto particles = crossing_particles(33000, 0);
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

TEST(DistributedSystem, ParticlesOfATreeInOnePlaceAreNamedByAllRanks) {
  auto particles = crossing_particles(200, 0);
  particles.x[150] = particles.x[20], particles.y[150] = particles.y[20], particles.z[150] = particles.z[20];
  Settings settings = tree;
  settings.push_back("gravity.softening=0");
  const RunConfig config = distributed_config(settings);
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
  auto particles = crossing_particles(10, -0.5);
  particles.vx[8] = 1.5e308;
  Settings all{"gravity.mesh.boundary=isolated", "run.precision=double", "time.step=0.25", "run.end_time=4"};
  all.insert(all.end(), settings.begin(), settings.end());
  const RunConfig config = distributed_config(all);
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

TEST(DistributedSystem, AParticleThatIsLostIsNamedByAllRanks) {
  const auto words = words_of_a_lost_particle(4, {});
  EXPECT_NE(words[0].find("particle id 9 at time"), std::string::npos) << words[0];
  for (const auto& one : words) EXPECT_EQ(one, words[0]);
  Settings blocks = in_blocks(tree);
  blocks.push_back("time.step_max=4");
  const std::string alone = words_of_a_lost_particle(1, blocks)[0];
  EXPECT_NE(alone, "");
  for (const auto& one : words_of_a_lost_particle(4, blocks)) EXPECT_EQ(one, alone);
}

TEST(DistributedSystem, WhatIsAskedOfAllParticlesOutsideOnRootIsRefused) {
  const auto particles = crossing_particles(10, 0);
  run_on_thread_ranks(2, [&](Communicator& communicator) {
    GravitySystem simulation(distributed_config({}), particles, 0, kept_elsewhere(communicator));
    EXPECT_THROW(simulation.particles(), Error);
    EXPECT_THROW(simulation.save(), Error);
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedTreeRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

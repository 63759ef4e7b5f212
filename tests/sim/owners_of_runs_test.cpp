#include "domain/owners.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "marks.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_seen.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*OwnersOfRuns.StepsThatFollowOneAnotherDoNotSendTheirParticles*");

const Settings tree{"gravity.solver=tree", "gravity.mesh.boundary=isolated", "gravity.softening=0.01",
                    "time.step=0.03125"};
const Settings treepm{"gravity.solver=treepm",      "gravity.mesh.boundary=periodic", "gravity.mesh.box=1",
                      "gravity.tree.accuracy=1e-2", "gravity.softening=0.01",         "time.step=0.03125"};

/// On CPUs, and as ranks that share a GPU.
class OwnersOfRuns : public DeviceTest {
 protected:
  Settings here(Settings settings) const {
    settings.push_back("run.device=" + GetParam());
    return settings;
  }
};

/// Slow ones, every second at the place of the one before: their order in the tree is that of the input.
Particles pairs_in_one_place(std::int64_t n) {
  Particles particles = crossing_particles(n, 0);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    for (auto* v : {&particles.vx[k], &particles.vy[k], &particles.vz[k]}) *v *= 0.05;
    if (k % 2 == 0) continue;
    particles.x[k] = particles.x[k - 1], particles.y[k] = particles.y[k - 1], particles.z[k] = particles.z[k - 1];
    particles.vx[k] = particles.vx[k - 1], particles.vy[k] = particles.vy[k - 1], particles.vz[k] = particles.vz[k - 1];
  }
  return particles;
}

/// What 15 steps of several ranks leave, and the bytes that a particle sends in a step: of all of them, and of those
/// from the fourth on.
struct Steps {
  std::string hash;
  double bytes = 0, later = 0;
};

/// `together`: in one call of advance(), as opposed to a call for each.
Steps take_steps(int ranks, Settings settings, const Particles& particles, bool together) {
  settings.push_back("time.step=0.0009765625");  // few change ranks
  const RunConfig config = distributed_config(settings);
  Steps taken;
  std::int64_t sums[2] = {};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const auto counted = std::make_shared<CountedCommunicator>(kept_elsewhere(communicator));
    GravitySystem simulation(config, particles, 0, counted);
    const std::int64_t begin = counted->traffic().bytes;
    std::int64_t fourth = 0, last = 0;
    const auto look = [&] {
      if (simulation.counts().steps == 4) fourth = counted->traffic().bytes;
      last = counted->traffic().bytes;
      return !together;
    };
    while (simulation.counts().steps < 15) simulation.advance(15 * 0.0009765625, look);
    std::int64_t sent[2] = {counted->traffic().bytes - begin, last - fourth};
    communicator.all_reduce(sent, 2, Reduction::sum);
    const std::string hash = simulation.state_hash();
    if (communicator.is_root()) taken.hash = hash, sums[0] = sent[0], sums[1] = sent[1];
  });
  const auto n = static_cast<double>(particles.size());
  taken.bytes = static_cast<double>(sums[0]) / (15 * n), taken.later = static_cast<double>(sums[1]) / (11 * n);
  return taken;
}

// A call of advance() brings all particles to their owners and home again: at least their places and velocities, 48
// bytes, but for those that stay where they were given: one of four.
TEST_P(OwnersOfRuns, StepsThatFollowOneAnotherDoNotSendTheirParticles) {
  const Particles particles = pairs_in_one_place(4000);
  const std::string alone = take_steps(1, here(tree), particles, true).hash;
  const Steps at_home = take_steps(4, here(tree), particles, false),
              at_work = take_steps(4, here(tree), particles, true);
  EXPECT_EQ(at_home.hash, alone);
  EXPECT_EQ(at_work.hash, alone);
  EXPECT_GT(at_home.later - at_work.later, 0.9 * 0.75 * 48);
  EXPECT_GT(at_home.bytes - at_work.bytes, 0.9 * 0.75 * (48 - 160.0 / 15));
}

TEST_P(OwnersOfRuns, HaveTheBitsOfOneRank) {
  const bool on_gpu = GetParam() != "cpu";  // whose ranks take turns
  expect_bits_of_one_rank(here(tree), pairs_in_one_place(300), {2, on_gpu ? 7 : 64});
  expect_bits_of_one_rank(here(treepm), pairs_in_one_place(300), {4});
  for (const Settings& settings : {tree, treepm})
    expect_bits_of_one_rank(in_blocks(here(settings)), pairs_in_one_place(200), {3});
  expect_bits_of_one_rank(here(tree), crossing_particles(5, 0), {7});
}

/// The particles at 0.5, where `before` ranks went on to 0.3 and `after` ranks from there.
std::string hash_of(const RunConfig& config, const Particles& particles, int before, int after) {
  StateBlocks state;
  std::string hash;
  run_on_thread_ranks(before, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    simulation.run_until(0.3);
    simulation.on_root([&] { state = simulation.save(); });
  });
  run_on_thread_ranks(after, [&](Communicator& communicator) {
    GravitySystem simulation(config, state, kept_elsewhere(communicator));
    simulation.run_until(0.5);
    const std::string found = simulation.state_hash();
    if (communicator.is_root()) hash = found;
  });
  return hash;
}

// A forest of many roots, whose particles visit other ranks. Its cells are in no order of their own there.
TEST_P(OwnersOfRuns, HaveTheBitsOfOneRankWithManyRoots) {
  if (GetParam() == "cpu") GTEST_SKIP() << "has one tree";
  const Particles particles = crossing_particles(20000, 0);
  expect_bits_of_one_rank(here(treepm), particles, {3});
  const RunConfig blocks = distributed_config(in_blocks(here(treepm)));
  const std::string alone = hash_of(blocks, particles, 1, 1);
  for (const auto& [before, after] : {std::pair{1, 4}, {4, 1}, {3, 2}})
    EXPECT_EQ(hash_of(blocks, particles, before, after), alone) << before << " ranks, then " << after;
}

/// What each rank says of two particles that meet in the sixth step, with forces too small to matter.
std::vector<std::string> words_of_a_collision(int ranks, const Settings& settings) {
  Particles particles = crossing_particles(200, 0);
  for (double& mass : particles.mass) mass *= 1e-200;
  const auto put = [&](std::size_t k, double x, double vx) {
    particles.x[k] = x, particles.y[k] = particles.z[k] = 0.5;
    particles.vx[k] = vx, particles.vy[k] = particles.vz[k] = 0;
  };
  put(20, 0.5 - 6.0 / 64, 0.5), put(150, 0.5 + 6.0 / 64, -0.5);
  return words_of_ranks(ranks, distributed_config(settings), particles);
}

TEST_P(OwnersOfRuns, WhatFailsThereIsToldAsOneRankTellsIt) {
  Settings hard = here(tree);
  hard.push_back("gravity.softening=0");
  const std::string alone = words_of_a_collision(1, hard)[0];
  EXPECT_NE(alone.find("ids 21 and 151"), std::string::npos) << alone;
  for (const auto& one : words_of_a_collision(3, hard)) EXPECT_EQ(one, alone);
}

INSTANTIATE_TEST_SUITE_P(Devices, OwnersOfRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

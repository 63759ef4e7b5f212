#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_case.hpp"

namespace pergola {
namespace {

Particles some_particles(std::int64_t n, double corner, double margin = 0) {
  return cube_particles(n, corner, margin, 7);
}

void expect_same(const Energies& a, const Energies& b) {
  EXPECT_EQ(a.kinetic, b.kinetic);
  EXPECT_EQ(a.potential, b.potential);
  EXPECT_EQ(a.momentum.x, b.momentum.x);
  EXPECT_EQ(a.momentum.z, b.momentum.z);
  EXPECT_EQ(a.angular_momentum.y, b.angular_momentum.y);
}

/// What each of so many ranks gets at a time.
std::vector<Energies> energies_on(int ranks, const RunConfig& config, const Particles& particles, double time,
                                  std::int64_t& outside) {
  std::vector<Energies> found(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    simulation.run_until(time);
    found[static_cast<std::size_t>(communicator.rank())] = simulation.measure().energies;
    if (communicator.is_root()) outside = simulation.outside();
  });
  return found;
}

/// Returns how many are outside the mesh.
std::int64_t expect_bits_of_one_rank(const Settings& settings, const Particles& particles,
                                     const std::vector<int>& numbers, double time = 0) {
  const RunConfig config = distributed_config(settings);
  std::int64_t outside = 0;
  const Energies one = energies_on(1, config, particles, time, outside)[0];
  EXPECT_NE(one.potential, 0);
  for (const int ranks : numbers)
    for (const Energies& several : energies_on(ranks, config, particles, time, outside)) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      expect_same(several, one);
    }
  return outside;
}

// More than five chunks of 1024, which ranks keep whole or in parts of all sizes, and fewer chunks than ranks.
TEST(DistributedEnergy, HasTheBitsOfOneRankOnAnyNumberOfRanks) {
  expect_bits_of_one_rank({}, some_particles(5500, 0), {2, 3, 4, 7, 64});
  expect_bits_of_one_rank({"run.precision=double"}, some_particles(2500, 0), {3, 7});
}

// Where particles outside the mesh, which do not act, count in full.
TEST(DistributedEnergy, HasTheBitsOfOneRankWithParticlesOutsideTheMesh) {
  const Settings isolated{"gravity.mesh.boundary=isolated", "gravity.mesh.box=1.0"};
  EXPECT_GT(expect_bits_of_one_rank(isolated, some_particles(2500, -0.5, 0.15), {2, 7}, 0.25), 0);
}

TEST(DistributedEnergy, HasTheBitsOfOneRankWithTreePm) {
  expect_bits_of_one_rank({"gravity.solver=treepm", "gravity.mesh.boundary=periodic", "gravity.softening=0.001",
                           "gravity.tree.accuracy=1e-2"},
                          some_particles(2500, 0), {3, 4});
}

// The sum over all pairs, for which each rank finds the potentials of its own.
TEST(DistributedEnergy, HasTheBitsOfOneRankOfASumOverAllPairs) {
  const Settings tree{"gravity.solver=tree", "gravity.mesh.boundary=isolated", "gravity.softening=0.01"};
  expect_bits_of_one_rank(tree, some_particles(1500, 0), {2, 3});
  expect_bits_of_one_rank(tree, some_particles(5, 0), {7});
}

/// What a rank's line of energies of a universe holds, and what rank 0 keeps of the largest waves.
struct Line {
  EnergyRow row;
  std::vector<std::byte> waves;
};
std::vector<Line> lines_on(int ranks) {
  const Settings settings{"units.system=cosmology", "particles.model=cosmology", "particles.n=46656",
                          "particles.order=1",      "particles.box=100",         "gravity.mesh.boundary=periodic",
                          "gravity.mesh.box=auto",  "gravity.mesh.cells=36",     "time.step=0.1",
                          "run.end_time=0.025",     "output.energy_every=0.1",   "cosmology.omega_matter=0.3"};
  std::vector<Line> lines(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(distributed_config(settings), kept_elsewhere(communicator));
    simulation.measure();
    simulation.finish();
    auto& [row, waves] = lines[static_cast<std::size_t>(communicator.rank())];
    row = simulation.measure();
    simulation.on_root([&] { waves = simulation.save().blocks().at("large_waves"); });
  });
  return lines;
}

// Their largest waves are summed in chunks of 16384, of which there are three.
TEST(DistributedEnergy, OfAUniverseHasTheBitsOfOneRank) {
  const Line one = lines_on(1)[0];
  EXPECT_NE(one.row.error.value(), 0);
  for (const int ranks : {2, 7}) {
    const auto several = lines_on(ranks);
    for (const Line& line : several) {
      expect_same(line.row.energies, one.row.energies);
      EXPECT_EQ(line.row.error, one.row.error);
    }
    EXPECT_TRUE(several[0].waves == one.waves) << ranks;
  }
}

}  // namespace
}  // namespace pergola

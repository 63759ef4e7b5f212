#include "marks.hpp"
#include "sim/spread_memory.hpp"
#include "sim/spread_seen.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*DistributedTreePmRuns.HaveTheBitsOfOneRankWithBlockSteps*");

const Settings treepm{"gravity.solver=treepm", "gravity.mesh.boundary=periodic", "gravity.softening=0.001",
                      "gravity.tree.accuracy=1e-2"};

/// TreePM in a periodic box, whose ranks keep their own particles: on CPUs, and as ranks that share a GPU. Particles
/// leave through the faces of the box, and energies are sums of potentials.
class DistributedTreePmRuns : public DeviceTest {
 protected:
  Settings here(Settings settings) const {
    settings.push_back("run.device=" + GetParam());
    return settings;
  }
};

TEST_P(DistributedTreePmRuns, HaveTheBitsOfOneRank) {
  expect_bits_of_one_rank(here(treepm), crossing_particles(400, 0), {2, 3});
  Settings single = treepm;
  single.insert(single.end(), {"run.precision=single", "gravity.solver=tree"});
  expect_bits_of_one_rank(here(single), crossing_particles(200, 0), {7});
}

// Levels of many steps, and cells of the tree that are kept where few end.
TEST_P(DistributedTreePmRuns, HaveTheBitsOfOneRankWithBlockSteps) { expect_bits_in_blocks(here(in_blocks(treepm)), 2); }

// On GPUs, where memory is short.
TEST_P(DistributedTreePmRuns, HaveTheBitsOfOneRankWithTreesAfterTheMesh) {
  if (GetParam() != "cuda") GTEST_SKIP() << "ranks on GPUs";
  Settings in_turn = treepm;
  in_turn.push_back("gravity.treepm.overlap=never");
  expect_bits_of_one_rank(here(in_turn), crossing_particles(400, 0), {2, 3});
  expect_bits_in_blocks(here(in_blocks(in_turn)), 2);
}

TEST_P(DistributedTreePmRuns, KeepSharesOnly) { expect_shares(here(treepm)); }

TEST(DistributedTreePmMemory, MemoryOfARankIsItsShare) {
  const std::int64_t n = std::int64_t{1} << 22, constant = std::int64_t{16} << 20;
  Settings settings = treepm;
  settings.insert(settings.end(), {"gravity.treepm.cells=160", "run.precision=single"});
  expect_shares_of_memory(distributed_config(settings), Device::open("cpu", 1), n, constant);
}

TEST_P(DistributedTreePmRuns, GoOnWithTheSameBitsOnAnotherNumberOfRanks) {
  expect_going_on_with_the_same_bits(here(treepm));
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedTreePmRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

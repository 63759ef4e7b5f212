#include "sim/spread_memory.hpp"
#include "sim/spread_seen.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

/// A mesh with an FFT, whose ranks keep their own particles and planes: on CPUs, and as ranks that share a
/// GPU.
class DistributedMesh : public DeviceTest {
 protected:
  Settings here(Settings settings) const {
    settings.push_back("run.device=" + GetParam());
    return settings;
  }
};

TEST_P(DistributedMesh, HasTheBitsOfOneRankInAPeriodicBox) {
  expect_bits_of_one_rank(here({}), crossing_particles(150, 0), {2, 3, 4, 7, 64});
}

TEST_P(DistributedMesh, HasTheBitsOfOneRankWithDoublesAndStepsChosenFromAllParticles) {
  expect_bits_of_one_rank(here({"run.precision=double", "time.adaptive=true", "gravity.mesh.assignment=tsc",
                                "gravity.mesh.gradient=spectral", "time.courant=2"}),
                          crossing_particles(150, 0), {3, 4});
}

// Every cloud and every force, on ranks that have planes from a half of the mesh to none.
TEST_P(DistributedMesh, HasTheBitsOfOneRankForEveryCloudAndGradient) {
  const auto particles = crossing_particles(100, 0);
  expect_bits_of_one_rank(here({"gravity.mesh.assignment=ngp", "gravity.mesh.gradient=four-point"}), particles, {2, 7});
  expect_bits_of_one_rank(here({"gravity.mesh.assignment=tsc", "run.precision=mixed"}), particles, {3, 16});
  expect_bits_of_one_rank(here({"gravity.mesh.assignment=pcs", "gravity.mesh.gradient=four-point"}), particles,
                          {4, 20});
  expect_bits_of_one_rank(
      here({"gravity.mesh.assignment=pcs", "gravity.mesh.gradient=spectral", "run.precision=double"}), particles, {7});
}

// Equal masses are not sent; more than a group of particles, of which most stay together.
TEST_P(DistributedMesh, HasTheBitsOfOneRankWithManyEqualMasses) {
  auto particles = crossing_particles(3000, 0);
  std::fill(particles.mass.begin(), particles.mass.end(), 1.0 / 4096);
  expect_bits_of_one_rank(here({"time.step=0.25"}), particles, {3});
}

TEST_P(DistributedMesh, HasTheBitsOfOneRankWhereOneSlabHasAllParticles) {
  auto particles = crossing_particles(300, 0);
  for (std::size_t k = 0; k < particles.z.size(); ++k)
    particles.z[k] = 0.47 + 0.05 * particles.z[k], particles.vz[k] = 0;
  expect_bits_of_one_rank(here({"gravity.mesh.assignment=tsc", "time.step=0.125"}), particles, {4, 7});
}

TEST_P(DistributedMesh, RanksMayHaveNoParticles) {
  expect_bits_of_one_rank(here({}), crossing_particles(5, 0), {7});
  expect_bits_of_one_rank(here({"time.adaptive=true", "time.courant=2"}), crossing_particles(1, 0), {3});
}

// Lines of 64 along z are transformed in one pass on a GPU.
TEST_P(DistributedMesh, HasTheBitsOfOneRankWithMoreCells) {
  expect_bits_of_one_rank(here({"gravity.mesh.cells=64", "time.step=0.25"}), crossing_particles(3000, 0), {2, 7});
}

// Beside the share, on GPUs: planes that a plan of transforms takes at once, and three rooms of messages of 17 MiB, two
// that go out and one that comes in.
TEST_P(DistributedMesh, MemoryOfARankIsItsShare) {
  const std::int64_t constant = std::int64_t{GetParam() == "cuda" ? 32 : 0} << 20;
  expect_shares_of_memory(distributed_config(here({"gravity.mesh.cells=256"})), device(1), std::int64_t{1} << 24,
                          constant);
}

TEST_P(DistributedMesh, MemoryOfARankIsItsShareInAnIsolatedBox) {
  const std::int64_t constant = std::int64_t{GetParam() == "cuda" ? 64 : 0} << 20;
  expect_shares_of_memory(distributed_config(here({"gravity.mesh.cells=128", "gravity.mesh.boundary=isolated"})),
                          device(1), std::int64_t{1} << 21, constant);
}

TEST_P(DistributedMesh, MemoryOfARankIsItsShareWithMultigrid) {
  // Rooms hold the coordinates of a rank's particles.
  const std::int64_t n = std::int64_t{1} << 21, constant = std::int64_t{GetParam() == "cuda" ? 32 : 0} << 20;
  const std::string cells = "gravity.mesh.cells=128", multigrid = "gravity.mesh.poisson=multigrid";
  const auto shares = [&](const Settings& settings) {
    expect_shares_of_memory(distributed_config(here(settings)), device(1), n, constant);
  };
  shares({cells, multigrid});
  shares({cells, multigrid, "gravity.mesh.boundary=isolated"});
}

TEST_P(DistributedMesh, EachRankKeepsItsShareOnly) { expect_shares(here({})); }

TEST_P(DistributedMesh, GoesOnWithTheSameBitsOnAnotherNumberOfRanks) { expect_going_on_with_the_same_bits(here({})); }

// All particles are sources in every step, and some of them ask.
TEST_P(DistributedMesh, HasTheBitsOfOneRankWithBlockSteps) {
  expect_bits_in_blocks(here(in_blocks({"gravity.mesh.cells=32"})), 1);
}

TEST_P(DistributedMesh, HasTheBitsOfOneRankWithBlockStepsInAnIsolatedBox) {
  expect_bits_in_blocks(
      here(in_blocks({"gravity.mesh.boundary=isolated", "gravity.mesh.box=2", "gravity.mesh.box_corner=-0.5"})), 1);
}

TEST_P(DistributedMesh, HasTheBitsOfOneRankInAnIsolatedBoxThatParticlesLeave) {
  expect_bits_of_one_rank(here({"gravity.mesh.boundary=isolated", "gravity.mesh.box=1.0", "run.precision=double",
                                "gravity.mesh.gradient=four-point"}),
                          crossing_particles(100, -0.5), {3});
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedMesh, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

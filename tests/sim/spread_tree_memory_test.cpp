#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "device/device.hpp"
#include "sim/spread_memory.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

/// Trees over particles that GPU ranks keep: what a rank takes of its device.
class DistributedTreeOnGpus : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (GetParam() != "cuda") GTEST_SKIP() << "of GPUs";
  }
  RunConfig config(const std::string& steps) const {
    return distributed_config({"run.device=" + GetParam(), "gravity.solver=tree", "run.precision=mixed",
                               "gravity.mesh.boundary=isolated", "gravity.softening=0.01", "time.steps=" + steps,
                               "time.step=0.0009765625"});
  }
};

/// Beside 1.3 times its share: lists of the walk of 131,072 cells at a time (375 MB), rooms of messages of all ways (37
/// MB), what is fetched of other domains with its messages (130 MB), and pairs of cells that searches begin with (80
/// MB).
constexpr std::int64_t constant = std::int64_t{704} << 20;

TEST_P(DistributedTreeOnGpus, MemoryOfARankIsItsShare) {
  for (const std::string steps : {"shared", "block"})
    expect_shares_of_memory(config(steps), device(), std::int64_t{1} << 24, constant);
}

// Reference: what this process has been given by the GPU, for both ranks.
TEST_P(DistributedTreeOnGpus, MemoryOfARankIsWhatItSaysBeforehand) {
  const std::int64_t n = std::int64_t{1} << 21;
  const Particles particles = cube_particles(n, 0, 0, 1);
  const auto before = static_cast<std::int64_t>(gpu_held_bytes());
  const RunConfig run_config = config("shared");
  std::int64_t found = 0, said = 0;
  std::mutex adding;
  run_on_thread_ranks(2, [&](Communicator& communicator) {
    const auto run = make_integrator(run_config.time_options(), run_config.solver_options(),
                                     {device(), kept_elsewhere(communicator), nullptr});
    HostParticles source(particles);
    run->start(source, 0);
    int steps = 0;
    run->advance(1, [&] {  // particles are where they are worked on
      communicator.barrier();
      if (++steps < 3) return false;
      if (communicator.is_root()) found = static_cast<std::int64_t>(gpu_held_bytes()) - before;
      const std::lock_guard lock(adding);
      said += run->device_bytes(n / 2);
      return true;
    });
  });
  EXPECT_LT(found, said * 105 / 100);
  EXPECT_GT(found, said * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedTreeOnGpus, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

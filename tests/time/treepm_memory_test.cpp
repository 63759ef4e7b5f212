#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "marks.hpp"
#include "test_devices.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class TreePmMemory : public DeviceTest {
 protected:
  /// Single precision in a periodic box.
  std::unique_ptr<Integrator> integrator(int cells, const std::string& steps,
                                         std::shared_ptr<Communicator> ranks = serial_communicator()) const {
    SolverOptions gravity;
    gravity.solver = "treepm";
    gravity.precision = Precision::single;
    gravity.softening = Softening::same(1e-5);
    gravity.mesh.box.side = {1, 1, 1};
    gravity.own["treepm.cells"] = std::int64_t{cells};
    gravity.own["treepm.overlap"] = std::int64_t{2};  // else ranks take more where there is more
    TimeOptions time;
    time.integrator = "leapfrog";
    time.steps = steps;
    time.step_max = 0x1p-6;
    return make_integrator(time, gravity, {device(), std::move(ranks), nullptr});
  }
  double bytes_per_particle(std::int64_t side, int cells, const std::string& steps) const {
    const std::int64_t n = side * side * side;
    return static_cast<double>(integrator(cells, steps)->device_bytes(n)) / static_cast<double>(n);
  }
};

// The bars of a universe on one GPU. Asking takes no such memory.
TEST_P(TreePmMemory, IsThatOfTheBars) {
  if (GetParam() != "cuda") GTEST_SKIP() << "bars of a GPU";
  EXPECT_LE(bytes_per_particle(1024, 1024, "shared"), 125);
  EXPECT_LE(bytes_per_particle(256, 512, "shared"), 220);
  EXPECT_LE(bytes_per_particle(256, 512, "block"), 220);
}

Particles scattered(std::int64_t side) {
  Particles p;
  p.resize(side * side * side);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::uint32_t words[4];
    Philox(1, 0, i).block(0, words);
    p.x[i] = words[0] * 0x1p-32, p.y[i] = words[1] * 0x1p-32, p.z[i] = words[2] * 0x1p-32;
    p.mass[i] = 1 / static_cast<double>(p.x.size());
    p.id[i] = i;
  }
  return p;
}

// Reference: what this process has been given by the GPU, whoever else uses it. There are so many cells that the walk's
// lists, which serve 65,536 of them at a time, are full: how many cells a tree has is a guess.
TEST_P(TreePmMemory, IsWhatTheIntegratorSaysBeforehand) {
  if (GetParam() != "cuda") GTEST_SKIP() << "tests/time/memory_test.cpp has the CPU";
  const Particles many = scattered(128);
  HostParticles source(many);
  const auto before = static_cast<double>(gpu_held_bytes());
  const auto run = integrator(256, "block");
  run->start(source, 0);
  const double found = static_cast<double>(gpu_held_bytes()) - before;
  const auto said = static_cast<double>(run->device_bytes(source.count()));
  EXPECT_NEAR(found, said, 0.15 * said);
}

// Of 512³ particles on four ranks: 1.3 times a share of one process, lists of the walk, which serve 131,072 cells at a
// time (375 MB), and rooms of messages.
TEST_P(TreePmMemory, OfARankIsThatOfTheBar) {
  if (GetParam() != "cuda") GTEST_SKIP() << "ranks on GPUs";
  constexpr std::int64_t n = std::int64_t{512} * 512 * 512;
  constexpr double constant = 0x1p29;
  const auto one = static_cast<double>(integrator(512, "shared")->device_bytes(n));
  run_on_thread_ranks(4, [&](Communicator& ranks) {
    const auto run = integrator(512, "shared", {&ranks, [](Communicator*) {}});
    EXPECT_LE(static_cast<double>(run->device_bytes(n / 4)), 1.3 * one / 4 + constant);
    ranks.barrier();
  });
}

// Of all ranks together: with what they have been given, not more. What moves between ranks take is counted, and not
// taken yet.
TEST_P(TreePmMemory, OfRanksIsNotMoreThanTheySayBeforehand) {
  if (GetParam() != "cuda") GTEST_SKIP() << "ranks on GPUs";
  const Particles many = scattered(224);
  const auto before = static_cast<std::int64_t>(gpu_held_bytes());
  run_on_thread_ranks(4, [&](Communicator& ranks) {
    HostParticles source(many);
    const auto run = integrator(224, "shared", {&ranks, [](Communicator*) {}});
    run->start(source, 0);
    std::int64_t said = run->device_bytes(source.count() / 4);
    ranks.all_reduce(&said, 1, Reduction::sum);
    EXPECT_LE(static_cast<std::int64_t>(gpu_held_bytes()) - before, said);
    ranks.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, TreePmMemory, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

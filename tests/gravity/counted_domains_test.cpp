#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "marks.hpp"
#include "owned_particles.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr int ranks = 4;
constexpr std::int64_t n = 40000;

/// Of a rank's stretch along one axis: dense at one edge of a cube.
std::vector<float> places(std::uint32_t axis, std::int64_t first, std::int64_t count) {
  std::vector<float> all;
  for (std::int64_t i = first; i < first + count; ++i) {
    const double u = Philox(3, axis, static_cast<std::uint64_t>(i)).uniform();
    all.push_back(static_cast<float>(0.999 * (axis < 2 ? u * u : u)));
  }
  return all;
}

struct Evaluation {
  std::array<std::int64_t, ranks> own{};    // particles by the rank that works on them
  std::array<std::vector<float>, 3> force;  // in the order of the input
};

/// Evaluations of the same particles, each with a tree of its own, on GPUs.
std::vector<Evaluation> evaluate(const SolverOptions& options, const std::string& device, std::size_t times) {
  std::vector<Evaluation> all(times);
  for (Evaluation& one : all)
    for (auto& axis : one.force) axis.resize(static_cast<std::size_t>(n));
  std::mutex mutex;
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const Device on = Device::open(device, 1);
    const int rank = communicator.rank();
    const Shares shares{n, ranks};
    const std::int64_t first = shares.first(rank), count = shares.count(rank);
    const Buffer<float> x(on, places(0, first, count)), y(on, places(1, first, count)), z(on, places(2, first, count));
    const Buffer<float> mass(on, std::vector<float>(static_cast<std::size_t>(count), 1.0f / n));
    Sources<float> sources;
    sources.count = count, sources.mass_quantum = 0x1p-40;
    sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data();
    const std::shared_ptr<Communicator> all_ranks(&communicator, [](Communicator*) {});
    const auto solver = make_dividing_solver<float>(options, on, all_ranks);
    OwnedParticles<float> own(on, *solver, all_ranks);
    for (Evaluation& one : all) {
      &one == &all.front() ? own.prepare(sources) : own.prepare_again();
      const std::int64_t here = own.count();
      Buffer<float> ax(on, here), ay(on, here), az(on, here);
      Forces<float> forces;
      forces.ax = ax.data(), forces.ay = ay.data(), forces.az = az.data();
      solver->evaluate({nullptr, here, here}, want_acceleration, forces);
      const std::vector<std::int64_t> places = own.places();
      const std::lock_guard lock(mutex);
      one.own[static_cast<std::size_t>(rank)] = here;
      for (const auto& [from, to] : {std::pair{&ax, &one.force[0]}, {&ay, &one.force[1]}, {&az, &one.force[2]}}) {
        const auto values = from->to_host();
        for (std::size_t k = 0; k < values.size(); ++k) (*to)[static_cast<std::size_t>(places[k])] = values[k];
      }
    }
  });
  return all;
}

class CountedDomains : public DeviceTest {};

// Where particles are dense each of them takes more or less work than elsewhere: by number ranks have as many at first.
// The tree in open space weighs them where the work is uneven enough.
TEST_P(CountedDomains, AreCutByTheWorkOfTheWalkBeforeAndNoForceDependsOnIt) {
  SolverOptions tree;
  tree.solver = "tree", tree.softening = Softening::same(1e-3), tree.precision = Precision::single;
  SolverOptions treepm = tree;
  treepm.solver = "treepm", treepm.tree.accuracy = 1e-2;
  set_box(treepm, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic});
  for (const SolverOptions& options : {tree, treepm}) {
    const auto found = evaluate(options, GetParam(), 3);
    for (const std::int64_t own : found[0].own)
      EXPECT_NEAR(4.0 * static_cast<double>(own) / n, 1, 0.25) << options.solver;
    if (options.solver == "treepm") {
      EXPECT_NE(found[1].own, found[0].own);
    }
    EXPECT_EQ(found[2].own, found[1].own) << options.solver;  // the work is that of the whole, whoever does it
    for (std::size_t k = 1; k < found.size(); ++k)
      for (std::size_t axis = 0; axis < 3; ++axis)
        EXPECT_TRUE(found[k].force[axis] == found[0].force[axis]) << options.solver << ", evaluation " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CountedDomains, ::testing::Values(std::string("cuda")), device_test_name);

}  // namespace
}  // namespace pergola

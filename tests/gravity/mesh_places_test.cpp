#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

// Reference: forces that the mesh gives to particles at the same places, and the bits of one rank.

constexpr Box box{{-0.5, 0, 0.25}, {2, 2, 2}, Boundary::periodic};
constexpr std::int64_t n = 20000;

class MeshPlacesOnGpus : public DeviceTest {
 protected:
  struct Found {
    std::array<std::vector<float>, 3> at_places, at_particles;
  };
  /// Places are those of the particles, of which half are in a clump across a corner of the box. 0 ranks: one GPU.
  Found find(int ranks) const {
    SolverOptions options;
    options.solver = "treepm";
    options.precision = Precision::single;
    options.softening = Softening::same(0.002);
    set_box(options, box);
    const TreePmParameters parameters = treepm_parameters(options, n, box);
    Found found;
    for (auto* const fields : {&found.at_places, &found.at_particles})
      for (auto& values : *fields) values.resize(n);
    run_on_thread_ranks(std::max(ranks, 1), [&](Communicator& communicator) {
      const Device on = device(1);
      const Shares shares{n, communicator.size()};
      const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
      std::array<std::vector<float>, 3> at;
      for (std::int64_t i = first; i < first + count; ++i) {
        Philox random(7, 0, static_cast<std::uint64_t>(i));
        const double corner[3] = {box.corner.x, box.corner.y, box.corner.z}, scale = i % 2 ? 2 : 0.4;
        for (std::size_t a = 0; a < 3; ++a)
          at[a].push_back(static_cast<float>(wrap(corner[a] + scale * (random.uniform() - 0.5), corner[a], 2.0)));
      }
      const Buffer<float> x(on, at[0]), y(on, at[1]), z(on, at[2]),
          mass(on, std::vector<float>(at[0].size(), 1.0f / n));
      Buffer<float> places[3], particles[3];
      for (int a = 0; a < 3; ++a) places[a] = Buffer<float>(on, count), particles[a] = Buffer<float>(on, count);
      const std::shared_ptr<Communicator> all(&communicator, [](Communicator*) {});
      const auto mesh = make_smoothed_mesh<float>(treepm_mesh_options(options, parameters), on, treepm_law(parameters),
                                                  ranks == 0 ? nullptr : all);
      Buffer<std::byte> memory(on, mesh->borrowed_bytes());
      mesh->lend(memory.data(), nullptr);
      Sources<float> sources;
      sources.count = count;
      sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data();
      mesh->prepare(sources);
      bool there = false;
      mesh->serve_first(
          [&] {
            return std::optional(MeshPlaces<float>{
                count, x.data(), y.data(), z.data(), {places[0].data(), places[1].data(), places[2].data()}});
          },
          [&] { there = true; });
      Forces<float> forces;
      forces.ax = particles[0].data(), forces.ay = particles[1].data(), forces.az = particles[2].data();
      // Twice: what was served first must leave the next evaluation as it is.
      mesh->evaluate({nullptr, count, count}, want_acceleration, forces);
      EXPECT_TRUE(there);
      std::array<std::vector<float>, 3> once;
      for (std::size_t a = 0; a < 3; ++a) once[a] = particles[a].to_host();
      mesh->evaluate({nullptr, count, count}, want_acceleration, forces);
      for (std::size_t a = 0; a < 3; ++a) {
        const auto rough = places[a].to_host(), exact = particles[a].to_host();
        EXPECT_TRUE(once[a] == exact) << ranks << " ranks, axis " << a;
        std::copy(rough.begin(), rough.end(), found.at_places[a].begin() + first);
        std::copy(exact.begin(), exact.end(), found.at_particles[a].begin() + first);
      }
    });
    return found;
  }
};

TEST_P(MeshPlacesOnGpus, HaveAboutTheForcesOfParticlesWithTheBitsOfOneRank) {
  const Found one = find(0);
  double off = 0, all = 0;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t i = 0; i < n; ++i) {
      off += std::pow(one.at_places[a][i] - one.at_particles[a][i], 2);
      all += std::pow(one.at_particles[a][i], 2);
    }
  EXPECT_LT(std::sqrt(off / all), 0.15);
  EXPECT_GT(off, 0);
  for (const int ranks : {1, 3, 4}) {
    const Found several = find(ranks);
    for (std::size_t a = 0; a < 3; ++a) {
      EXPECT_TRUE(several.at_places[a] == one.at_places[a]) << ranks << " ranks, axis " << a;
      EXPECT_TRUE(several.at_particles[a] == one.at_particles[a]) << ranks << " ranks, axis " << a;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MeshPlacesOnGpus, ::testing::Values(std::string("cuda")), device_test_name);

}  // namespace
}  // namespace pergola

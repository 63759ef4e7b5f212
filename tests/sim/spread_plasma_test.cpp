#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "io/write_queue.hpp"
#include "particles/sample.hpp"
#include "sim/plasma_system.hpp"
#include "sim/spread_case.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

using Settings = std::vector<std::string>;

/// Quiet electrons and ions at random, 640 and 320, that cross many cells.
const char* two_species = R"(
[run]
end_time = 2
threads = 1
[plasma]
cells = [8, 8]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 10
temperature = 4
perturbation = { mode = [1, 0], amplitude = 0.1 }
[[plasma.species]]
name = "ions"
charge = 1
mass = 25
particles_per_cell = 5
temperature = 0.5
start = "random"
[time]
step = 0.1
)";

RunConfig with(const std::string& device, Settings settings) {
  settings.push_back("run.device=" + device);
  return parse_config(two_species, "test", settings);
}

/// All that rank 0 can see.
struct Seen {
  std::string hash;
  EnergyRow energies;
  Particles sample;
  std::map<std::string, std::vector<std::byte>> state;
  std::string snapshot;  // the file
  std::vector<StateCurve> curves;
  std::vector<StateMap> maps;
  std::vector<std::uint64_t> picture;
  std::int64_t size = 0, steps = 0;
};

/// The bytes of its file; empty on all ranks but 0.
std::string snapshot_of(PlasmaSystem& system) {
  std::string directory = (std::filesystem::temp_directory_path() / "pergola-test-XXXXXX").string();
  EXPECT_NE(::mkdtemp(directory.data()), nullptr);
  const auto file = std::filesystem::path(directory) / "plasma_000.h5";
  WriteQueue queue(std::int64_t{1} << 20);
  system.write_snapshot(file, &queue, nullptr);
  queue.drain();
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::filesystem::remove_all(directory);
  return bytes;
}

/// All of phase space from far away: x, and vx upwards, in cells.
Sight far_sight() {
  Sight sight;
  sight.right = {0.25, 0, 0, -1};
  sight.up = {0, 0, 0.05, 0};
  sight.width = 16, sight.height = 12;
  return sight;
}

Seen look_at(PlasmaSystem& system) {
  Seen seen;
  system.record();
  seen.energies = system.measure();
  seen.hash = system.state_hash();
  system.on_root([&] {
    seen.sample = system.sample(50);
    StateSource state;
    system.save(state);
    seen.state = state.blocks().blocks();
    seen.curves = system.curves();
    seen.maps = system.maps();
    seen.picture = system.density(far_sight()).pixels;
  });
  seen.snapshot = snapshot_of(system);
  seen.size = system.size();
  seen.steps = system.counts().steps;
  return seen;
}

/// What rank 0 of so many sees half-way and at the end, after a step that is shorter than the others.
std::vector<Seen> run_on(int ranks, const RunConfig& config) {
  std::vector<Seen> seen(2);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    PlasmaSystem system(config, nullptr, kept_elsewhere(communicator));
    system.advance(1, nullptr);
    const Seen between = look_at(system);
    system.finish();
    const Seen end = look_at(system);
    if (communicator.is_root()) seen = {between, end};
  });
  return seen;
}

void expect_same(const Seen& a, const Seen& b, const std::string& where) {
  SCOPED_TRACE(where);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.energies.energies.kinetic, b.energies.energies.kinetic);
  EXPECT_EQ(a.energies.energies.potential, b.energies.energies.potential);
  EXPECT_EQ(a.energies.energies.momentum.x, b.energies.energies.momentum.x);
  EXPECT_EQ(a.energies.more, b.energies.more);
  EXPECT_EQ(a.sample.id, b.sample.id);
  EXPECT_EQ(a.sample.vx, b.sample.vx);
  EXPECT_EQ(a.state, b.state);
  EXPECT_FALSE(a.snapshot.empty());
  EXPECT_TRUE(a.snapshot == b.snapshot);
  ASSERT_EQ(a.curves.size(), b.curves.size());
  for (std::size_t k = 0; k < a.curves.size(); ++k) EXPECT_EQ(a.curves[k].y, b.curves[k].y) << a.curves[k].title;
  ASSERT_EQ(a.maps.size(), b.maps.size());
  for (std::size_t k = 0; k < a.maps.size(); ++k) EXPECT_EQ(a.maps[k].values, b.maps[k].values) << a.maps[k].title;
  EXPECT_EQ(a.picture, b.picture);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.steps, b.steps);
}

void expect_bits_of_one_rank(const RunConfig& config, const std::vector<int>& numbers) {
  const auto one = run_on(1, config);
  EXPECT_NE(one[0].hash, one[1].hash);
  for (const int ranks : numbers) {
    const auto several = run_on(ranks, config);
    for (std::size_t k = 0; k < one.size(); ++k)
      expect_same(several[k], one[k], std::to_string(ranks) + " ranks, moment " + std::to_string(k));
  }
}

class DistributedPlasma : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, DistributedPlasma, OnEachDevice(), device_test_name);

TEST_P(DistributedPlasma, HasTheBitsOfOneRank) {
  expect_bits_of_one_rank(with(GetParam(), {"run.end_time=2.05"}), {2, 3, 4, 7, 64});
}

TEST_P(DistributedPlasma, HasTheBitsOfOneRankInThreeDimensionsWithDoublesAndAMagneticField) {
  expect_bits_of_one_rank(with(GetParam(), {"run.precision=double", "plasma.cells=[4, 4, 4]", "run.end_time=1.5",
                                            "plasma.species.electrons.perturbation={mode=[1, 1, 0], amplitude=0.05}",
                                            "plasma.magnetic_field=[0.1, 0.2, 0.3]"}),
                          {3});
}

TEST_P(DistributedPlasma, RanksMayHaveNoParticles) {
  expect_bits_of_one_rank(
      with(GetParam(), {"plasma.cells=[2, 2]", "plasma.species.electrons.particles_per_cell=1",
                        "plasma.species.ions.particles_per_cell=1", "plasma.species.electrons.temperature=1"}),
      {7});
}

// Reference: all particles, which are counted one by one. Velocities are those that the steps keep, half a step before.
TEST_P(DistributedPlasma, APictureCountsEachParticleOnce) {
  const RunConfig config = with(GetParam(), {});
  PlasmaSystem system(config);
  system.advance(1, nullptr);
  const Sight sight = far_sight();
  std::vector<std::uint64_t> expected(16 * 12);
  for (int s = 0; s < 2; ++s) {
    const PlasmaParticles all = system.particle_in_cell().particles(s, true);
    for (std::size_t i = 0; i < all.id.size(); ++i) {
      const double column = 2 * all.x[i], row = 6 - 0.3 * all.vx[i];  // 8 cells are 16 pixels, 20 cells/time 6 pixels
      ASSERT_TRUE(row > 0 && row < 12);
      expected[static_cast<std::size_t>(row) * 16 + static_cast<std::size_t>(column)] += SeenDensity::quanta;
    }
  }
  EXPECT_EQ(system.density(sight).pixels, expected);
}

// Reference: all particles, at the time of the moment.
TEST_P(DistributedPlasma, ASampleHasTheParticlesOfItsIds) {
  PlasmaSystem system(with(GetParam(), {}));
  for (const double time : {0.0, 1.0}) {
    system.advance(time, nullptr);
    for (const std::int64_t most : {70, 5000}) {
      const Particles sample = system.sample(most);
      ASSERT_EQ(sample.size(), std::min(most, system.size()));
      EXPECT_EQ(sample.id, ids_of_sample(1, system.size(), most));
      std::size_t k = 0;
      for (int s = 0; s < 2; ++s) {
        const PlasmaParticles all = system.particle_in_cell().particles(s);
        for (std::size_t i = 0; i < all.id.size(); ++i) {
          if (k == sample.id.size() || sample.id[k] != all.id[i]) continue;
          EXPECT_EQ(sample.species[k], s);
          EXPECT_EQ(sample.x[k], all.x[i]);
          EXPECT_EQ(sample.y[k], all.y[i]);
          EXPECT_EQ(sample.vx[k], all.vx[i]);
          EXPECT_EQ(sample.vy[k++], all.vy[i]);
        }
      }
      EXPECT_EQ(k, sample.id.size());
    }
  }
}

TEST_P(DistributedPlasma, EachRankKeepsItsShareOnly) {
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    PlasmaSystem system(with(GetParam(), {}), nullptr, kept_elsewhere(communicator));
    system.advance(1, nullptr);
    const ParticleInCell& own = system.particle_in_cell();
    EXPECT_EQ(own.own_count(0) + own.own_count(1), (Shares{system.size(), 3}.count(communicator.rank())));
  });
}

TEST_P(DistributedPlasma, GoesOnWithTheSameBitsOnAnotherNumberOfRanks) {
  const RunConfig config = with(GetParam(), {});
  const Seen whole = run_on(1, config)[1];
  StateBlocks state;
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    PlasmaSystem system(config, nullptr, kept_elsewhere(communicator));
    system.advance(1, nullptr);
    system.record();
    system.measure();  // as run_on() does, which the report card remembers
    system.on_root([&] {
      StateSource source;
      system.save(source);
      state = source.blocks();
    });
  });
  for (const int ranks : {1, 2, 7}) {
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      BlocksInput input(state);
      PlasmaSystem system(config, &input, kept_elsewhere(communicator));
      system.finish();
      const Seen seen = look_at(system);
      if (communicator.is_root()) expect_same(seen, whole, std::to_string(ranks) + " ranks");
    });
  }
}

}  // namespace
}  // namespace pergola

#include "run/rank_traffic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/philox.hpp"
#include "config/config.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"
#include "particles/particle_source.hpp"
#include "run/rank_plan.hpp"
#include "sim/gravity_system.hpp"
#include "sim/open_particles.hpp"
#include "sim/plasma_system.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr Box unit_box{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};

/// Particles of a configuration and what they send in two steps, counted with ranks that are threads: the reference of
/// the rules.
struct Sent {
  Particles particles;
  double bytes = 0, messages = 0;  // of a rank and step
};

Sent count(const RunConfig& config, int ranks) {
  StartingPoint begin = open_particles(config, 1);
  Sent sent;
  begin.particles->read(0, begin.particles->count(), sent.particles);
  const DryRun dry = count_traffic(ranks, 2, 1e6, config.run.end_time, [&](std::shared_ptr<Communicator> rank) {
    return std::make_unique<GravitySystem>(config, sent.particles, begin.time, std::move(rank));
  });
  sent.bytes = dry.bytes_mean, sent.messages = dry.messages_most;
  return sent;
}

RunConfig mesh_config(const std::string& particles, const std::string& mesh) {
  return parse_config("[run]\nend_time = 0.5\ndevice = \"cpu\"\nthreads = 1\nprecision = \"single\"\n[particles]\n" +
                          particles + "\n[gravity]\nsolver = \"mesh\"\n[gravity.mesh]\n" + mesh +
                          "\n[time]\nintegrator = \"leapfrog\"\nstep = 0.0078125\n",
                      "test");
}

SlabMesh slabs_of(const RunConfig& config) {
  const MeshOptions& mesh = config.gravity.mesh;
  return {mesh.cells, mesh.assignment, mesh.gradient, 4};
}

TEST(RankTraffic, RuleOfSlabsIsWhatARunSends) {
  for (const char* mesh :
       {"cells = 64\nbox = 1\nboundary = \"periodic\"",
        "cells = 64\nbox = 1\nboundary = \"periodic\"\ngradient = \"spectral\"\nassignment = \"pcs\"",
        "cells = 64\nboundary = \"isolated\""}) {
    const RunConfig config = mesh_config("model = \"cube\"\nn = 20000", mesh);
    const bool isolated = !config.gravity.mesh.box.periodic();
    for (const int ranks : isolated ? std::vector{2, 8} : std::vector{2, 3, 8, 16, 64}) {
      const Sent sent = count(config, ranks);
      SlabMesh slabs = slabs_of(config);
      slabs.isolated = isolated;
      HostParticles source(sent.particles);
      const Box box = find_mesh_box(config.gravity.mesh, source, 0);
      RoutedCopies routed =
          count_slabs(SampledPlaces::of(sent.particles, box), ranks, 1, 64, static_cast<int>(slabs.assignment));
      EXPECT_NEAR(routed.leaving, 1 - 1.0 / ranks, 0.01);  // particles are anywhere
      routed.imbalance = 1;
      const TrafficPart all = sum_of(slab_traffic(slabs, 20000, ranks, 1, routed));
      // Some sums over all ranks of a few bytes are left out.
      EXPECT_NEAR(all.bytes / sent.bytes, 1, 0.02) << mesh << " on " << ranks;
      // With few particles for each partner there is no run of them that lies together in memory.
      EXPECT_GE(all.messages / sent.messages, 0.85) << mesh << " on " << ranks;
      EXPECT_LE(all.messages / sent.messages, ranks > 8 ? 2 : 1.1) << mesh << " on " << ranks;
    }
  }
}

// Stars of a disc go by rows, and sums and potentials of nearly all planes that ranks work on are other ranks'.
TEST(RankTraffic, RuleOfRowsIsWhatARunSends) {
  const RunConfig config = mesh_config("model = \"exponential-disc\"\nn = 60000\ncutoff = 4",
                                       "cells = 32\nboundary = \"isolated\"\nbox = 10");
  for (const int ranks : {2, 4, 8}) {
    const Sent sent = count(config, ranks);
    SlabMesh slabs = slabs_of(config);
    slabs.isolated = true;
    HostParticles source(sent.particles);
    const auto sample = SampledPlaces::of(sent.particles, find_mesh_box(config.gravity.mesh, source, 0));
    RoutedCopies routed = count_rows(sample, ranks, 1, slabs.cells, static_cast<int>(slabs.assignment), 60000, {});
    EXPECT_GT(routed.planes, 0) << ranks;
    // Cells weigh too: ranks with planes of few particles have more of these.
    EXPECT_LT(routed.imbalance, 1.6) << ranks;
    EXPECT_GT(count_slabs(sample, ranks, 1, 32, 2).imbalance, 0.45 * ranks) << ranks;
    routed.imbalance = 1;
    const TrafficPart all = sum_of(slab_traffic(slabs, 60000, ranks, 1, routed));
    EXPECT_NEAR(all.bytes / sent.bytes, 1, 0.1) << ranks;
    // Even particles stay with the slabs.
    SampledPlaces anywhere;
    for (std::uint64_t k = 0; k < 20000; ++k) {
      Philox random(5, 1, k);
      anywhere.at.push_back({random.uniform(), random.uniform(), random.uniform()});
      anywhere.kept.push_back(random.uniform());
    }
    EXPECT_EQ(count_rows(anywhere, ranks, 1, slabs.cells, 2, 20000, {}).planes, 0) << ranks;
  }
}

// Electrons at rest: none leaves its slab.
TEST(RankTraffic, RuleOfAPlasmaIsWhatARunSends) {
  for (const char* shape : {"linear", "quadratic"})
    for (const char* cells : {"[128, 256]", "[64, 64, 64]"}) {
      const RunConfig config =
          parse_config(std::string("[run]\nend_time = 1\ndevice = \"cpu\"\nthreads = 1\n[plasma]\ncells = ") + cells +
                           "\nbackground = true\nshape = \"" + shape +
                           "\"\n[[plasma.species]]\nname = \"electrons\"\ncharge = -1\nmass = 1\n"
                           "particles_per_cell = 1\ntemperature = 1e-12\n[time]\nstep = 0.1\n",
                       "test");
      const PlasmaOptions options = config.plasma.options();
      const SlabPlasma plasma{options.cells, options.dimensions, 2 * static_cast<int>(options.shape) - 3, 1, 4};
      for (const int ranks : {2, 8}) {
        const DryRun dry = count_traffic(ranks, 2, 1, config.run.end_time, [&](std::shared_ptr<Communicator> rank) {
          return std::make_unique<PlasmaSystem>(config, nullptr, std::move(rank));
        });
        const TrafficPart all = sum_of(plasma_traffic(plasma, 1.0 / ranks, ranks, 1));
        EXPECT_NEAR(all.bytes / dry.bytes_mean, 1, 0.02) << shape << " " << cells << " on " << ranks;
        // Five times a step all ranks find something out together: whether particles leave, how far, and checks.
        EXPECT_NEAR(all.messages, dry.messages_most, 5 * std::log2(ranks)) << shape << " " << cells << " on " << ranks;
      }
    }
}

class RankTrafficOnGpus : public DeviceTest {};

TEST_P(RankTrafficOnGpus, RuleOfForestsIsWhatARunSends) {
  constexpr std::int64_t n = 64000;
  const RunConfig config = parse_config(
      "[run]\nend_time = 0.5\ndevice = \"cuda\"\nprecision = \"single\"\n[particles]\nmodel = \"cube\"\nn = 64000\n"
      "[gravity]\nsolver = \"treepm\"\nsoftening = 0.001\n[gravity.treepm]\ncells = 64\n[gravity.tree]\naccuracy = "
      "1e-2\n[gravity.mesh]\nbox = 1\nboundary = \"periodic\"\n[time]\nintegrator = \"leapfrog\"\nstep = 1e-4\n",
      "test");
  const SolverOptions options = config.solver_options();
  const TreePmParameters found = treepm_parameters(options, n, unit_box);
  const tree::Forest forest = treepm_forest(found, n, tree_softening(options.softening, found.opening));
  ASSERT_GT(forest.level, 1);
  const MeshOptions mesh = treepm_mesh_options(options, found).mesh;
  SlabMesh slabs{mesh.cells, mesh.assignment, mesh.gradient, 4, true};
  slabs.groups = groups_of_a_particle(forest, n);
  for (const int ranks : {2, 4}) {
    const Sent sent = count(config, ranks);
    const SampledPlaces home = SampledPlaces::of(sent.particles, unit_box);
    ForestCopies trees = count_forest(home, ranks, 1, forest);
    RoutedCopies to_slabs =
        count_slabs(home.living_with(trees.worker, ranks), ranks, 1, mesh.cells[2], static_cast<int>(mesh.assignment));
    to_slabs.imbalance = trees.own.imbalance = 1;
    const double bytes = sum_of(slab_traffic(slabs, n, ranks, 1, to_slabs)).bytes +
                         sum_of(forest_traffic(forest, 4, n, ranks, trees, 1e6)).bytes;
    EXPECT_NEAR(bytes / sent.bytes, 1, 0.05) << ranks;  // of particles that leave their roots the rule has the most
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RankTrafficOnGpus, ::testing::Values(std::string("cuda")), device_test_name);

Particles anywhere(std::int64_t n) {
  Particles particles;
  particles.resize(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    Philox random(7, 0, k);
    particles.x[k] = random.uniform(), particles.y[k] = random.uniform(), particles.z[k] = random.uniform();
  }
  return particles;
}

TEST(RankDomains, GuestsAreTheParticlesOfRootsAroundAStretch) {
  const SampledPlaces sample = SampledPlaces::of(anywhere(20000), unit_box);
  const tree::Forest forest{3, {1, 1, 1}, 0.1};
  for (const int ranks : {2, 7, 64}) {
    const ForestCopies found = count_forest(sample, ranks, 1, forest);
    // By places, not by particles: the ranks of all roots, then of each root the ranks of its 26 neighbours.
    std::vector<double> counts(512), before(513);
    const auto place = [](int x, int y, int z) {
      return static_cast<std::size_t>(tree::interleave((x + 8) % 8, (y + 8) % 8, (z + 8) % 8));
    };
    for (const auto& at : sample.at)
      counts[place(static_cast<int>(8 * at.x), static_cast<int>(8 * at.y), static_cast<int>(8 * at.z))] += 1;
    for (std::size_t k = 0; k < 512; ++k) before[k + 1] = before[k] + counts[k];
    const auto rank = [&](std::size_t k) {
      return static_cast<int>(std::floor((before[k] + std::floor(counts[k] / 2)) * ranks / 20000));
    };
    double guests = 0;
    for (int x = 0; x < 8; ++x)
      for (int y = 0; y < 8; ++y)
        for (int z = 0; z < 8; ++z) {
          std::set<int> others;
          for (int k = 0; k < 27; ++k) others.insert(rank(place(x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1)));
          guests += counts[place(x, y, z)] * static_cast<double>(others.size() - 1);
        }
    EXPECT_DOUBLE_EQ(found.guests.copies, guests / 20000) << ranks;
    EXPECT_DOUBLE_EQ(found.own.copies, 1);
    EXPECT_NEAR(found.own.leaving, 1 - 1.0 / ranks, 0.02) << ranks;
  }
}

/// A lattice with z slowest, displaced by a wave along z.
Particles displaced_lattice(int side, double by, double first = 0.5) {
  Particles particles;
  particles.resize(std::int64_t{side} * side * side);
  std::size_t k = 0;
  for (int z = 0; z < side; ++z)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x, ++k) {
        particles.x[k] = (x + 0.5) / side, particles.y[k] = (y + 0.5) / side;
        const double along = std::sin(2 * 3.14159265358979 * (x + 0.5) / side);
        particles.z[k] = (z + first) / side + by * along;
        particles.z[k] -= std::floor(particles.z[k]);
      }
  return particles;
}

TEST(RankDomains, ASmallSampleKnowsTheGuestsOfManyRanks) {
  // Blocks of 4³ roots, one for each of 4,096 ranks: 6³ − 4³ roots around each hold its guests. Where cuts are off the
  // blocks' faces, as of particles anywhere, a rank has parts of several blocks, which have more roots around them.
  const tree::Forest forest{6, {1, 1, 1}, 0.01};
  const SampledPlaces lattice = SampledPlaces::of(displaced_lattice(64, 0), unit_box, 64, 64);
  EXPECT_DOUBLE_EQ(count_forest(lattice, 4096, 8, forest).guests.copies, (216.0 - 64) / 64);
  const ForestCopies found = count_forest(SampledPlaces::of(anywhere(1 << 18), unit_box), 4096, 8, forest);
  EXPECT_GT(found.guests.copies, 216.0 / 64 - 1);
  EXPECT_LT(found.guests.copies, 1.5 * (216.0 / 64 - 1));
  // Where roots are smaller than plots guests are of a thinner layer around the same stretches.
  const tree::Forest coarse{7, {1, 1, 1}, 0.001}, fine{8, {1, 1, 1}, 0.001};
  const SampledPlaces many = SampledPlaces::of(anywhere(1 << 18), unit_box);
  const ForestCopies wide = count_forest(many, 64, 8, coarse), thin = count_forest(many, 64, 8, fine);
  EXPECT_EQ(thin.worker, wide.worker);
  EXPECT_NEAR(thin.guests.copies / wide.guests.copies, 0.5, 0.05);  // and its edges
  EXPECT_EQ(found.own.partners, 4095);                              // particles are anywhere
  EXPECT_NEAR(found.own.off_node, off_node_of_all(4096, 8), 1e-3);
}

TEST(RankDomains, ALatticeLeavesItsSlabsAsFarAsItIsDisplaced) {
  // |sin| is 2/π in the mean: that part of the displacement over the thickness of a slab leaves it; of clouds that
  // begin in the plane before their particle's, half of a plane more.
  const SampledPlaces sample = SampledPlaces::of(displaced_lattice(32, 0.002), unit_box, 32, 32);
  EXPECT_TRUE(sample.in_order);
  const RoutedCopies few = count_slabs(sample, 16, 4, 1 << 16, 1);
  EXPECT_NEAR(few.leaving, 0.002 * 16 * 2 / 3.14159265358979, 0.002);
  EXPECT_NEAR(few.partners, 2, 1e-9);
  EXPECT_NEAR(few.off_node, 0.25, 0.03);
  // Many more slabs than the lattice of the sample has planes.
  EXPECT_NEAR(count_slabs(sample, 128, 4, 1 << 16, 1).leaving, 0.002 * 128 * 2 / 3.14159265358979, 0.01);
  // In a box of 64 times the volume slabs of 64 ranks are a sixteenth as thick as the old box.
  const SampledPlaces wide = SampledPlaces::of(displaced_lattice(32, 0.002), unit_box, 32, 128, 64);
  EXPECT_NEAR(count_slabs(wide, 64, 8, 1 << 16, 1).leaving, few.leaving, 0.002);
  // From the corner of its cells on: half a cell of the run's lattice less, not of the sample's.
  const SampledPlaces corner = SampledPlaces::of(displaced_lattice(32, 0, 0), unit_box, 32, 1024);
  EXPECT_NEAR(count_slabs(corner, 128, 4, 1 << 16, 1).leaving, 0.5 / 1024 * 128, 0.01);
  EXPECT_FALSE(SampledPlaces::of(anywhere(32 * 32 * 32), unit_box, 32, 32).in_order);
}

TEST(Network, NodesShareAFasterWayAndMessagesOfGpusAreStaged) {
  const Network network{.bytes_per_second = 50,
                        .latency = 0.5,
                        .ranks_per_node = 8,
                        .node_bytes_per_second = 200,
                        .staging_bytes_per_second = 100};
  EXPECT_DOUBLE_EQ(network.seconds({"", 1000, 3, 0.75}), 750.0 / 50 + 250.0 / 200 + 2 * 1000.0 / 100 + 1.5);
  EXPECT_DOUBLE_EQ(off_node_of_all(64, 8), 56.0 / 63);
  EXPECT_EQ(off_node_of_all(8, 8), 0);
  EXPECT_EQ(off_node_of_next(64, 8), 0.5);
  EXPECT_EQ(off_node_of_next(64, 1), 1);
}

}  // namespace
}  // namespace pergola

// A plasma on several ranks, each with a slab of the box, against one that has all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "marks.hpp"
#include "plasma/host_field.hpp"
#include "plasma/particle_in_cell.hpp"
#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

std::shared_ptr<Communicator> shared(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

/// Those of a rank.
PlasmaParticles stretch(const PlasmaParticles& all, int ranks, int rank) {
  const Shares shares{all.size(), ranks};
  const auto cut = [&](const auto& values) {
    using Values = std::decay_t<decltype(values)>;
    if (values.empty()) return Values();
    return Values(values.begin() + shares.first(rank), values.begin() + shares.first(rank + 1));
  };
  return {cut(all.id), cut(all.x), cut(all.y), cut(all.z), cut(all.vx), cut(all.vy), cut(all.vz)};
}

/// Equal bits: NaN is equal to itself.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
bool same(const PlasmaParticles& a, const PlasmaParticles& b) {
  return a.id == b.id && same(a.x, b.x) && same(a.y, b.y) && same(a.z, b.z) && same(a.vx, b.vx) && same(a.vy, b.vy) &&
         same(a.vz, b.vz);
}

struct Setting {
  PlasmaOptions options;
  Precision precision = Precision::single;
  std::vector<PlasmaParticles> start;
  std::vector<double> steps;  // taken one after the other
  std::string device = "cpu";
};

/// All that can be seen of a plasma.
struct Seen {
  std::vector<PlasmaParticles> stored, shown;
  PlasmaEnergies energies;
  PlasmaFields fields;
};
Seen look_at(const ParticleInCell& plasma, std::size_t species) {
  Seen seen;
  for (int s = 0; s < static_cast<int>(species); ++s) {
    seen.stored.push_back(plasma.particles(s, true));
    seen.shown.push_back(plasma.particles(s));
  }
  seen.energies = plasma.energies();
  seen.fields = plasma.fields();
  return seen;
}
void take_steps(ParticleInCell& plasma, const std::vector<double>& steps) {
  for (const double step : steps) plasma.advance(1, step);
}

/// Of a field of the box.
std::vector<double> layers_of(const std::vector<double>& all, const plasma::TileSlab& slab) {
  if (all.empty()) return {};
  const std::int64_t layer = slab.rows_in_layer() * slab.cells[0];
  const auto first = all.begin() + slab.first * layer;
  return {first, first + slab.count * layer};
}

void expect_rank_sees(const Seen& here, const Seen& one, const plasma::TileSlab& slab, const Communicator& ranks) {
  SCOPED_TRACE(std::to_string(ranks.size()) + " ranks, rank " + std::to_string(ranks.rank()));
  for (std::size_t s = 0; s < one.stored.size(); ++s) {
    EXPECT_TRUE(same(here.stored[s], stretch(one.stored[s], ranks.size(), ranks.rank()))) << "stored, species " << s;
    EXPECT_TRUE(same(here.shown[s], stretch(one.shown[s], ranks.size(), ranks.rank()))) << "shown, species " << s;
    EXPECT_EQ(here.energies.species[s].energy.x, one.energies.species[s].energy.x);
    EXPECT_EQ(here.energies.species[s].kinetic(), one.energies.species[s].kinetic());
    EXPECT_EQ(here.energies.species[s].momentum.y, one.energies.species[s].momentum.y);
  }
  EXPECT_EQ(here.energies.field, one.energies.field);
  EXPECT_TRUE(same(here.fields.density, layers_of(one.fields.density, slab)));
  EXPECT_TRUE(same(here.fields.potential, layers_of(one.fields.potential, slab)));
  for (std::size_t a = 0; a < 3; ++a)
    EXPECT_TRUE(same(here.fields.electric[a], layers_of(one.fields.electric[a], slab))) << a;
}

std::unique_ptr<ParticleInCell> started(const Setting& setting, const std::shared_ptr<Communicator>& ranks) {
  auto plasma =
      make_particle_in_cell(Device::open(setting.device, 1), setting.options, setting.precision, nullptr, ranks);
  std::vector<PlasmaParticles> own;
  for (const auto& all : setting.start) own.push_back(ranks ? stretch(all, ranks->size(), ranks->rank()) : all);
  plasma->start(own);
  return plasma;
}

void expect_bits_of_one_rank(const Setting& setting, const std::vector<int>& numbers) {
  const auto alone = started(setting, nullptr);
  const Seen before = look_at(*alone, setting.start.size());
  take_steps(*alone, setting.steps);
  const Seen after = look_at(*alone, setting.start.size());
  EXPECT_FALSE(same(before.stored[0], after.stored[0]));
  for (const int ranks : numbers)
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const auto plasma = started(setting, shared(communicator));
      expect_rank_sees(look_at(*plasma, setting.start.size()), before, plasma->slab(), communicator);
      take_steps(*plasma, setting.steps);
      expect_rank_sees(look_at(*plasma, setting.start.size()), after, plasma->slab(), communicator);
    });
}

/// Electrons and heavier ions, at random, in a magnetic field.
Setting two_species(std::array<int, 3> cells, PlasmaShape shape, Precision precision, const std::string& device) {
  Setting setting{electrons(cells, 4, 3), precision, {}, {0.2, 0.2, 0.15, 0.2}, device};
  setting.options.shape = shape;
  setting.options.species.push_back({"ions", 1, 25, 0.25});
  setting.options.magnetic_field = {0.1, -0.2, 0.5};
  const std::int64_t count = 4 * setting.options.cell_count();
  setting.start = {random_particles(setting.options, count, 2, 1), random_particles(setting.options, count, 0.4, 2)};
  return setting;
}

// Reference: the block, cut out of the field of the box.
TEST(PlasmaFieldBlocks, ComeToRankZeroFromAllRanks) {
  for (const auto& cells : {std::array<int, 3>{6, 104, 1}, std::array<int, 3>{10, 4, 44}}) {
    const PlasmaOptions options = electrons(cells, 4, 3);
    std::vector<double> all(static_cast<std::size_t>(options.cell_count()));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<double>(k);
    const int layers = cells[static_cast<std::size_t>(options.dimensions - 1)];
    const std::int64_t rows = options.dimensions == 3 ? cells[1] : 1;
    for (const int ranks : {1, 2, 3, 7, 16})
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        const plasma::TileSlab slab(options, &communicator);
        const std::vector<double> own = layers_of(all, slab);
        for (const FieldBlock& block : {FieldBlock{0, cells[0], 0, layers}, FieldBlock{1, 3, 0, layers},
                                        FieldBlock{0, cells[0], 9, 17}, FieldBlock{5, 1, layers - 1, 1}}) {
          std::vector<double> expected;
          for (std::int64_t row = block.first_layer * rows; row < (block.first_layer + block.layers) * rows; ++row)
            for (int x = block.first_column; x < block.first_column + block.columns; ++x)
              expected.push_back(static_cast<double>(row * cells[0] + x));
          if (!communicator.is_root()) expected.clear();
          EXPECT_EQ(gather_block(communicator, slab, own, block), expected) << ranks << " ranks";
        }
      });
  }
}

class PlasmaSlabs : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, PlasmaSlabs, OnEachDevice(), device_test_name);

// Seven rows of tiles, of which the last has eight rows of cells; two, of which the last has two; one.
TEST_P(PlasmaSlabs, HaveTheBitsOfOneRankInTwoDimensions) {
  expect_bits_of_one_rank(two_species({20, 104, 1}, PlasmaShape::linear, Precision::single, GetParam()),
                          {1, 2, 3, 4, 7, 64});
  expect_bits_of_one_rank(two_species({20, 104, 1}, PlasmaShape::quadratic, Precision::double_, GetParam()), {2, 7});
  expect_bits_of_one_rank(two_species({36, 18, 1}, PlasmaShape::quadratic, Precision::single, GetParam()), {2, 3});
  expect_bits_of_one_rank(two_species({6, 2, 1}, PlasmaShape::quadratic, Precision::single, GetParam()), {3});
}

// Six planes of tiles, of which the last has four planes of cells; two, of which the last has two.
TEST_P(PlasmaSlabs, HaveTheBitsOfOneRankInThreeDimensions) {
  expect_bits_of_one_rank(two_species({10, 8, 44}, PlasmaShape::linear, Precision::single, GetParam()),
                          {2, 3, 4, 7, 64});
  expect_bits_of_one_rank(two_species({10, 6, 44}, PlasmaShape::quadratic, Precision::double_, GetParam()), {3});
  expect_bits_of_one_rank(two_species({12, 10, 10}, PlasmaShape::quadratic, Precision::single, GetParam()), {2});
}

// A few particles in fields that ranks share out on GPUs too: rows of a last tile that is not whole, planes and columns
// of whose plans some are empty, and 1024² and 2048² cells, where cuFFT's plans of the whole field have other bits.
TEST_P(PlasmaSlabs, HaveTheBitsOfOneRankInFieldsThatGpusShareOut) {
  if (GetParam() == "cpu") GTEST_SKIP() << "CPUs share out the small fields above";
  const auto expect_bits = [&](std::array<int, 3> cells, PlasmaShape shape, Precision precision,
                               const std::vector<int>& ranks) {
    Setting setting{electrons(cells, 4, 3), precision, {}, {0.2, 0.3}, GetParam()};
    setting.options.shape = shape;
    setting.start = {random_particles(setting.options, 20000, 30, 7)};
    expect_bits_of_one_rank(setting, ranks);
  };
  expect_bits({1080, 520, 1}, PlasmaShape::linear, Precision::single, {1, 3, 7, 40});
  expect_bits({1080, 520, 1}, PlasmaShape::quadratic, Precision::double_, {3});
  expect_bits({1024, 1024, 1}, PlasmaShape::linear, Precision::single, {3});
  expect_bits({2048, 2048, 1}, PlasmaShape::linear, Precision::single, {4});
  expect_bits({96, 80, 76}, PlasmaShape::quadratic, Precision::single, {2, 3, 7, 11});
  expect_bits({128, 128, 128}, PlasmaShape::linear, Precision::single, {4});
  expect_bits({80, 96, 72}, PlasmaShape::linear, Precision::double_, {4});
}

TEST_P(PlasmaSlabs, ParticlesMayCrossManyOfThemInAStep) {
  for (const auto& cells : {std::array<int, 3>{16, 120, 1}, std::array<int, 3>{8, 8, 50}}) {
    Setting setting{electrons(cells, 4, 3), Precision::single, {}, {0.5, 0.5, 0.5}, GetParam()};
    setting.start = {random_particles(setting.options, 2000, 300, 4)};
    expect_bits_of_one_rank(setting, {3, 7});
  }
}

// All are with one rank at first, from where they stream to all; and the other way round.
TEST_P(PlasmaSlabs, OneOfThemMayHaveAllParticles) {
  Setting setting{electrons({16, 96, 1}, 4), Precision::single, {}, {0.1, 0.4, 0.5}, GetParam()};
  auto all = random_particles(setting.options, 3000, 1, 5);
  for (std::size_t i = 0; i < all.id.size(); ++i) all.vy[i] = all.y[i] - 40.5, all.y[i] = 40.5;
  setting.start = {all};
  expect_bits_of_one_rank(setting, {4});
  for (std::size_t i = 0; i < all.id.size(); ++i) all.y[i] = 40.5 + all.vy[i], all.vy[i] = -all.vy[i];
  setting.start = {all};
  expect_bits_of_one_rank(setting, {4});
}

// On and beside the corners of tiles, on the edge of the box, and arriving there: a grain is 2⁻²⁴ of a cell. Without
// charge a particle moves as it is told to.
TEST_P(PlasmaSlabs, ParticlesMayStandOnTheirBoundaries) {
  Setting setting{electrons({16, 48, 1}, 4), Precision::single, {}, {0.5}, GetParam()};
  setting.options.species[0].charge = -1e-12;
  const double grain = 0x1p-24;
  PlasmaParticles all;
  for (const double y : {0.0, grain, 16.0, 16 - grain, 16 + grain, 32.0, 32 - grain, 48 - grain, 48.0})
    for (const double vy : {0.0, 2 * grain, -2 * grain, 32.0, -32.0, 96.0, -96.0}) {
      all.id.push_back(all.id.size() + 1);
      all.x.push_back(3.25), all.y.push_back(y);
      all.vx.push_back(0), all.vy.push_back(vy);
    }
  setting.start = {all};
  expect_bits_of_one_rank(setting, {2, 3, 5});
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const auto plasma = started(setting, shared(communicator));
    take_steps(*plasma, setting.steps);
    const auto end = plasma->particles(0), begin = stretch(all, 3, communicator.rank());
    for (std::size_t i = 0; i < end.id.size(); ++i) {
      const double moved = begin.y[i] + 0.5 * begin.vy[i];
      EXPECT_EQ(end.y[i], moved - 48 * std::floor(moved / 48)) << begin.y[i] << " " << begin.vy[i];
    }
  });
}

TEST_P(PlasmaSlabs, EachRankHasTheParticlesOfItsRows) {
  Setting setting{electrons({16, 104, 1}, 4), Precision::single, {}, {0.3, 0.3}, GetParam()};
  setting.start = {random_particles(setting.options, 20000, 3, 6)};
  const auto alone = started(setting, nullptr);
  take_steps(*alone, setting.steps);
  const auto all = alone->particles(0);
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const auto plasma = started(setting, shared(communicator));
    take_steps(*plasma, setting.steps);
    const Shares rows{7, 3};  // of tiles, 16 cells each
    const double from = 16.0 * static_cast<double>(rows.first(communicator.rank()));
    const double until = 16.0 * static_cast<double>(rows.first(communicator.rank() + 1));
    EXPECT_EQ(plasma->held_count(0),
              std::count_if(all.y.begin(), all.y.end(), [&](double y) { return y >= from && y < until; }));
    EXPECT_EQ(plasma->own_count(0), (Shares{20000, 3}.count(communicator.rank())));
    EXPECT_EQ(plasma->count(), 20000);
    EXPECT_LT(plasma->device_bytes(), 6 * alone->device_bytes() / 10);  // three rows of seven, and what goes around
  });
}

TEST_P(PlasmaSlabs, GoOnWithTheSameBitsOnAnotherNumberOfRanks) {
  const Setting setting = two_species({12, 8, 28}, PlasmaShape::quadratic, Precision::single, GetParam());
  const auto alone = started(setting, nullptr);
  take_steps(*alone, setting.steps);
  StateSource whole;
  alone->save(whole);
  const StateBlocks saved = whole.blocks();
  alone->advance(2, 0.2);
  const Seen end = look_at(*alone, 2);
  for (const int ranks : {2, 5})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      BlocksInput input(saved);
      const auto plasma = make_particle_in_cell(Device::open(setting.device, 1), setting.options, setting.precision,
                                                nullptr, shared(communicator));
      plasma->restore(input);
      EXPECT_EQ(plasma->time(), 0.75);
      plasma->advance(2, 0.2);
      std::vector<PlasmaParticles> own;
      for (int s = 0; s < 2; ++s) own.push_back(plasma->particles(s, true));
      // The stretch of a restored rank goes through all species: together they are those of one rank, in its order.
      for (int s = 0; s < 2; ++s) {
        const auto& all = end.stored[static_cast<std::size_t>(s)];
        for (std::size_t i = 0; i < own[static_cast<std::size_t>(s)].id.size(); ++i) {
          const auto& one = own[static_cast<std::size_t>(s)];
          const std::size_t k = one.id[i] - 1;
          EXPECT_TRUE(one.x[i] == all.x[k] && one.z[i] == all.z[k] && one.vy[i] == all.vy[k]) << s << " " << i;
        }
      }
      EXPECT_EQ(plasma->energies().total(), end.energies.total());
    });
}

TEST_P(PlasmaSlabs, AParticleThatIsNotANumberIsNamedOnAllRanks) {
  Setting setting{electrons({16, 64, 1}, 4), Precision::single, {}, {}, GetParam()};
  setting.start = {random_particles(setting.options, 1000, 1, 6)};
  setting.start[0].vx[777] = 3e38;
  run_on_thread_ranks(4, [&](Communicator& communicator) {
    const auto plasma = started(setting, shared(communicator));
    try {
      plasma->advance(3, 0.1);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numerics);
      EXPECT_NE(std::string(error.what()).find("id 778 "), std::string::npos) << error.what();
    }
  });
}

TEST_P(PlasmaSlabs, AParticleOutsideTheBoxIsNamedOnAllRanks) {
  Setting setting{electrons({16, 64, 1}, 4), Precision::single, {}, {}, GetParam()};
  setting.start = {random_particles(setting.options, 1000, 1, 6)};
  setting.start[0].y[777] = 65;
  run_on_thread_ranks(4, [&](Communicator& communicator) {
    try {
      started(setting, shared(communicator));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("id 778 "), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace pergola

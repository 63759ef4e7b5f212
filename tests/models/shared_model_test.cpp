#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "domain/share_source.hpp"
#include "marks.hpp"
#include "models/lagrangian.hpp"
#include "models/model_source.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*SharedModel.OfAGlassHasTheBitsOfOneRank*");

std::shared_ptr<Communicator> shared(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

ModelOptions universe(int side, double order, const std::string& grid) {
  ModelOptions options;
  options.n = std::int64_t{side} * side * side;
  options.seed = 3;
  options.gravitational_constant = find_unit_system("cosmology")->gravitational_constant;
  options.values = {{"order", order}, {"grid", grid}};
  return options;
}

/// Each rank's share of what it makes with the others is the same stretch of the whole.
void expect_shares_of(const Particles& whole, int ranks, const std::function<std::unique_ptr<DeviceSource>()>& make) {
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, rank " + std::to_string(communicator.rank()));
    const Shares shares{whole.size(), ranks};
    const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
    const auto source = make();
    source->make_shares(shared(communicator));
    EXPECT_EQ(source->count(), whole.size());
    Particles expected, found;
    HostParticles(whole).read(first, count, expected);
    source->read(first, count, found);
    EXPECT_EQ(found.id, expected.id);
    EXPECT_EQ(found.species, expected.species);
    EXPECT_EQ(found.mass, expected.mass);
    EXPECT_EQ(found.x, expected.x);
    EXPECT_EQ(found.y, expected.y);
    EXPECT_EQ(found.z, expected.z);
    EXPECT_EQ(found.vx, expected.vx);
    EXPECT_EQ(found.vy, expected.vy);
    EXPECT_EQ(found.vz, expected.vz);
  });
}

void expect_shares_of_universe(const ModelOptions& options, const std::vector<int>& numbers) {
  const Particles whole = make_model("cosmology", options, 2);
  for (const int ranks : numbers)
    expect_shares_of(whole, ranks, [&] { return make_shared_model("cosmology", options, 1); });
}

// Planes that ranks have many of, some of and none; sides whose lines fill batches of eight and do not.
TEST(SharedModel, OfAUniverseHasTheBitsOfOneRankOnAnyNumberOfRanks) {
  expect_shares_of_universe(universe(16, 2, "lattice"), {1, 2, 3, 4, 7, 64});
  expect_shares_of_universe(universe(15, 2, "lattice"), {2, 7});
  expect_shares_of_universe(universe(10, 1, "lattice"), {3, 4});
  expect_shares_of_universe(universe(12, 3, "lattice"), {3, 64});
  expect_shares_of_universe(universe(2, 2, "lattice"), {2, 64});  // more ranks than particles
}

TEST(SharedModel, OfAGlassHasTheBitsOfOneRank) { expect_shares_of_universe(universe(8, 2, "glass"), {3}); }

// The centre of mass is that of all, found by all ranks; chunks of its sums have 4096.
TEST(SharedModel, OfADrawnSphereHasTheBitsOfOneRank) {
  ModelOptions options;
  for (const std::int64_t n : {std::int64_t{10000}, std::int64_t{5}}) {
    options.n = n;
    const Particles whole = make_model("plummer", options, 2);
    for (const int ranks : {2, 3, 4, 7, 64})
      expect_shares_of(whole, ranks, [&] { return make_shared_model("plummer", options, 1); });
  }
}

TEST(SharedModel, KnowsItsBoxAndMassWithoutParticlesAndRefusesThoseOfOthers) {
  const ModelOptions options = universe(6, 1, "lattice");
  const Particles whole = make_model("cosmology", options, 1);
  run_on_thread_ranks(2, [&](Communicator& communicator) {
    const auto source = make_shared_model("cosmology", options, 1);
    EXPECT_EQ(source->box_side(), 100);
    EXPECT_NEAR(source->total_mass() / (216 * whole.mass[0]), 1, 1e-14);
    source->make_shares(shared(communicator));
    Particles all;
    EXPECT_THROW(source->read(0, 216, all), Error);
    // Nor does it have a share once that has gone.
    source->let_go();
    source->read(0, 216, all);
    EXPECT_EQ(all.x, whole.x);
  });
  // Who makes nothing with others gets all.
  const auto alone = make_shared_model("cosmology", options, 1);
  Particles all;
  alone->read(0, 216, all);
  EXPECT_EQ(all.x, whole.x);
  EXPECT_EQ(make_shared_model("kepler", {}, 1), nullptr);
}

// A rank draws the waves of its own planes and no others.
TEST(SharedModel, WavesAreDrawnOnceOverAllRanks) {
  const int side = 16, ranks = 4;
  std::vector<int> drawn(ranks);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    WaveCube cube(side, 1, shared(communicator));
    int& count = drawn[static_cast<std::size_t>(communicator.rank())];
    lagrangian_displacements(
        cube,
        [&](int, int, int) {
          ++count;
          return std::complex<double>(0);
        },
        2, [](LagrangianTerm, const auto&) {});
  });
  // 15 of 16 wave numbers of an axis, the Nyquist one has no wave, nor has the mean.
  EXPECT_EQ(drawn, (std::vector<int>{4 * 225 - 1, 4 * 225, 3 * 225, 4 * 225}));
}

}  // namespace
}  // namespace pergola

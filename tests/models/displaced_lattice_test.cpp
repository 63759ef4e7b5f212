#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "domain/share_source.hpp"
#include "models/model_source.hpp"
#include "particles/particle_store.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class DisplacedLattice : public DeviceTest {};

ModelOptions box_of(int side, double order) {
  ModelOptions options;
  options.n = std::int64_t{side} * side * side;
  options.seed = 7;
  options.gravitational_constant = find_unit_system("cosmology")->gravitational_constant;
  options.values["order"] = order;
  options.values["box"] = 30.0;
  options.values["redshift"] = 9.0;
  return options;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}
/// The largest difference, in a periodic box of side `period` (0: none).
double apart(const std::vector<double>& a, const std::vector<double>& b, double period) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = a[i] - b[i];
    most = std::max(most, std::abs(period > 0 ? d - period * std::round(d / period) : d));
  }
  return most;
}

// Reference: the CPU's lattice, with transforms of FFTW over whole cubes, each order by itself.
TEST_P(DisplacedLattice, OnAGpuIsThatOfTheCpu) {
  for (const double order : {1.0, 2.0})
    for (const int side : {16, 15}) {
      ModelOptions options = box_of(side, order);
      options.values["fixed"] = side == 15;
      options.values["paired"] = side == 15;
      const auto source = make_model_on(device(), "cosmology", options);
      if (GetParam() == "cpu") {
        EXPECT_EQ(source, nullptr);  // make_model() does it
        continue;
      }
      ASSERT_NE(source, nullptr);
      const Particles expected = make_model("cosmology", options, 2);
      Particles found, part;
      source->read(0, source->count(), found);
      EXPECT_EQ(found.id, expected.id);
      EXPECT_EQ(found.species, expected.species);
      EXPECT_EQ(found.mass, expected.mass);
      EXPECT_NEAR(source->total_mass(), expected.mass[0] * static_cast<double>(options.n), 1e-9);
      EXPECT_EQ(source->box_side(), 30);
      for (const auto axis : {&Particles::x, &Particles::y, &Particles::z})
        EXPECT_LT(apart(found.*axis, expected.*axis, 30), 30 * 1e-13);
      for (const auto axis : {&Particles::vx, &Particles::vy, &Particles::vz})
        EXPECT_LT(apart(found.*axis, expected.*axis, 0), 1e-12 * largest(expected.*axis));
      source->read(100, 50, part);
      EXPECT_EQ(part.id.front(), 101u);
      EXPECT_EQ(part.vz, std::vector<double>(found.vz.begin() + 100, found.vz.begin() + 150));
    }
}

// Reference: what is read from the host, rounded there.
TEST_P(DisplacedLattice, GoesIntoAStoreWithoutTheHost) {
  const auto source = make_model_on(device(), "cosmology", box_of(16, 2));
  if (GetParam() == "cpu") GTEST_SKIP() << "made on a GPU";
  Particles read;
  source->read(0, source->count(), read);
  ParticleStore<float> store(device());
  store.take(*source);
  std::vector<float> x(read.x.size()), vy(read.x.size()), mass(read.x.size());
  std::vector<std::uint64_t> id(read.x.size());
  std::vector<std::uint8_t> species(read.x.size());
  store.x.x.to_host(0, store.count(), x.data());
  store.v.y.to_host(0, store.count(), vy.data());
  store.mass.to_host(0, store.count(), mass.data());
  store.id.to_host(0, store.count(), id.data());
  store.species.to_host(0, store.count(), species.data());
  EXPECT_EQ(id, read.id);
  EXPECT_EQ(species, read.species);
  EXPECT_EQ(mass, std::vector<float>(read.mass.begin(), read.mass.end()));
  EXPECT_EQ(x, std::vector<float>(read.x.begin(), read.x.end()));
  EXPECT_EQ(vy, std::vector<float>(read.vy.begin(), read.vy.end()));
}

/// On the device, or where that cannot by the CPU; for one or for ranks together.
std::unique_ptr<DeviceSource> made_on(const Device& device, const ModelOptions& options) {
  auto made = make_model_on(device, "cosmology", options);
  return made ? std::move(made) : make_shared_model("cosmology", options, 1);
}

struct Stored {
  std::vector<std::uint64_t> id;
  std::vector<std::uint8_t> species;
  std::vector<float> mass, x, y, z, vx, vy, vz;

  /// What a rank keeps of them, without ranks all.
  Stored(const Device& device, ParticleSource& particles, const Communicator* ranks) {
    ParticleStore<float> store(device);
    take_share(particles, ranks, [&](ParticleSource& own) { store.take(own); });
    const auto fetch = [&](const auto& field, auto& to) {
      to.resize(static_cast<std::size_t>(store.count()));
      field.to_host(0, store.count(), to.data());
    };
    fetch(store.id, id), fetch(store.species, species), fetch(store.mass, mass);
    fetch(store.x.x, x), fetch(store.x.y, y), fetch(store.x.z, z);
    fetch(store.v.x, vx), fetch(store.v.y, vy), fetch(store.v.z, vz);
  }
};

/// Of some values those that a rank keeps.
template <class T>
std::vector<T> own_of(const std::vector<T>& all, const Communicator& ranks) {
  const Shares shares{static_cast<std::int64_t>(all.size()), ranks.size()};
  const auto first = all.begin() + shares.first(ranks.rank());
  return {first, first + shares.count(ranks.rank())};
}

// Reference: one rank. Ranks have many planes, some and none, and shares that end within one; from 128 on planes are
// transformed in several batches, of which the last one is not full.
TEST_P(DisplacedLattice, OfRanksHasTheBitsOfOne) {
  struct Case {
    int side;
    double order;
    std::vector<int> ranks;
  };
  std::vector<Case> cases{{16, 1, {1, 2, 3, 4, 7}}, {24, 2, {1, 2, 3, 4, 7}}, {15, 2, {2, 7, 20}}, {2, 2, {3, 20}}};
  if (GetParam() == "cuda") cases.push_back({128, 2, {3}}), cases.push_back({256, 1, {4, 7}});
  for (const Case& one : cases) {
    const ModelOptions options = box_of(one.side, one.order);
    const Device here = device(1);
    const auto alone = made_on(here, options);
    const Stored all(here, *alone, nullptr);
    Particles read;
    alone->read(0, alone->count(), read);
    for (const int number : one.ranks)
      run_on_thread_ranks(number, [&](Communicator& ranks) {
        SCOPED_TRACE(testing::Message() << one.side << "^3, rank " << ranks.rank() << " of " << number);
        const Device own = Device::open(GetParam(), 1);
        const auto source = made_on(own, options);
        source->make_shares({&ranks, [](Communicator*) {}});
        const Shares shares{alone->count(), number};
        Particles part;
        source->read(shares.first(ranks.rank()), shares.count(ranks.rank()), part);
        const auto expect_own = [&ranks](const auto& share, const auto& whole) {
          EXPECT_EQ(share.id, own_of(whole.id, ranks));
          EXPECT_EQ(share.x, own_of(whole.x, ranks));
          EXPECT_EQ(share.y, own_of(whole.y, ranks));
          EXPECT_EQ(share.z, own_of(whole.z, ranks));
          EXPECT_EQ(share.vx, own_of(whole.vx, ranks));
          EXPECT_EQ(share.vy, own_of(whole.vy, ranks));
          EXPECT_EQ(share.vz, own_of(whole.vz, ranks));
        };
        expect_own(part, read);
        const Stored found(own, *source, &ranks);
        expect_own(found, all);
        EXPECT_EQ(found.species, own_of(all.species, ranks));
        EXPECT_EQ(found.mass, own_of(all.mass, ranks));
      });
  }
}

TEST_P(DisplacedLattice, OtherStartsAreLeftToTheCpu) {
  ModelOptions glass = box_of(16, 2);
  glass.values["grid"] = std::string("glass");
  EXPECT_EQ(make_model_on(device(), "cosmology", glass), nullptr);
  EXPECT_EQ(make_model_on(device(), "cosmology", box_of(16, 3)), nullptr);
  EXPECT_EQ(make_model_on(device(), "plummer", {}), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Devices, DisplacedLattice, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

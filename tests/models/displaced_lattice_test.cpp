#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/unit_systems.hpp"
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

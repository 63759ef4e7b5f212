#include "plasma/loading.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <set>

#include "marks.hpp"
#include "physics/numerics.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

PlasmaOptions box(std::array<int, 3> cells, int velocities = 2) {
  PlasmaOptions options;
  options.dimensions = cells[2] > 1 ? 3 : 2;
  options.cells = cells;
  options.velocities = options.dimensions == 3 ? 3 : velocities;
  return options;
}

PlasmaLoad thermal_load(bool quiet, std::int64_t per_cell = 100, double thermal = 0.5) {
  PlasmaLoad load;
  load.quiet = quiet;
  load.particles_per_cell = per_cell;
  load.thermal = {thermal, thermal, thermal};
  return load;
}

/// √N |Σ exp(−i k·(x + v t))|/N: about 1 for particles that are independent of each other.
double noise(const PlasmaOptions& options, const PlasmaParticles& p, std::array<int, 2> mode, double time) {
  std::complex<double> sum = 0;
  const double kx = 2 * std::numbers::pi * mode[0] / options.cells[0];
  const double ky = 2 * std::numbers::pi * mode[1] / options.cells[1];
  for (std::size_t i = 0; i < p.id.size(); ++i)
    sum += std::polar(1.0, -(kx * (p.x[i] + p.vx[i] * time) + ky * (p.y[i] + p.vy[i] * time)));
  return std::abs(sum) / std::sqrt(static_cast<double>(p.size()));
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  return m;
}

// Reference: the error function of the C library.
TEST(PlasmaLoading, NormalQuantileInvertsTheErrorFunction) {
  for (const double p : {1e-300, 1e-20, 1e-9, 0.001, 0.07, 0.3, 0.5, 0.8, 0.93, 0.999, 1 - 1e-12}) {
    const double x = physics::normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::numbers::sqrt2) / p, 1, 1e-12) << p;
  }
}

TEST(PlasmaLoading, AQuietCellHoldsTheSameNumberEverywhereAndFieldNoiseIsFarBelowRandom) {
  for (const std::int64_t per_cell : {1, 7, 16, 36, 100}) {
    const PlasmaOptions options = box({32, 16, 1});
    const auto p = load_plasma(options, thermal_load(true, per_cell), 1, 0, 1, 2);
    std::map<int, int> in_cell;
    for (std::size_t i = 0; i < p.id.size(); ++i) ++in_cell[static_cast<int>(p.x[i]) + 32 * static_cast<int>(p.y[i])];
    EXPECT_EQ(in_cell.size(), 512u);
    for (const auto& [cell, count] : in_cell) EXPECT_EQ(count, per_cell) << cell;
    EXPECT_LT(noise(options, p, {1, 0}, 0), 1e-9);
    EXPECT_LT(noise(options, p, {2, 3}, 0), 1e-9);
  }
  // And it stays quiet while the particles stream: long waves at a tenth of the noise of independent ones.
  const PlasmaOptions options = box({64, 8, 1});
  const auto quiet = load_plasma(options, thermal_load(true, 100, 5), 1, 0, 1, 2);
  const auto random = load_plasma(options, thermal_load(false, 100, 5), 1, 0, 1, 2);
  double still = 0, loud = 0;
  for (double time = 0.5; time <= 5; time += 0.5)
    for (const int mode : {1, 2, 3})
      still += std::pow(noise(options, quiet, {mode, 0}, time), 2),
          loud += std::pow(noise(options, random, {mode, 0}, time), 2);
  EXPECT_LT(still, 0.01 * loud);
  EXPECT_NEAR(loud / 30, 1, 0.9);  // three modes, each with a few independent times
}

TEST(PlasmaLoading, VelocitiesHaveTheDriftAndTheTemperatureOfEachDirection) {
  const PlasmaOptions options = box({16, 16, 1}, 3);
  PlasmaLoad load = thermal_load(true, 64);
  load.thermal = {0.5, 1, 2};
  load.drift = {3, 0, -1};
  const auto quiet = load_plasma(options, load, 1, 0, 1, 2);
  EXPECT_NEAR(moments(quiet.vx).mean, 3, 1e-12);
  EXPECT_NEAR(moments(quiet.vz).mean, -1, 1e-12);
  EXPECT_NEAR(moments(quiet.vx).variance, 0.25, 1e-12);
  EXPECT_NEAR(moments(quiet.vy).variance, 1, 1e-12);
  EXPECT_NEAR(moments(quiet.vz).variance, 4, 1e-12);
  // Components are independent of each other and of the place in the cell: 0.008 is one standard error of random ones.
  double mixed = 0, placed = 0;
  for (std::size_t i = 0; i < quiet.id.size(); ++i) {
    mixed += (quiet.vx[i] - 3) / 0.5 * quiet.vy[i] / static_cast<double>(quiet.size());
    placed += (quiet.x[i] - std::floor(quiet.x[i]) - 0.5) * quiet.vy[i] / static_cast<double>(quiet.size());
  }
  EXPECT_NEAR(mixed, 0, 0.01);
  EXPECT_NEAR(placed, 0, 0.01);
  load.quiet = false;
  const auto random = load_plasma(options, load, 1, 0, 1, 2);
  // 16,384 independent particles: five standard errors.
  EXPECT_NEAR(moments(random.vx).mean, 3, 5 * 0.5 / 128);
  EXPECT_NEAR(moments(random.vz).variance, 4, 5 * 4 * std::sqrt(2.0) / 128);
}

TEST(PlasmaLoading, ADensityWaveHasItsAmplitudeAndPhaseAndNoHarmonics) {
  for (const double amplitude : {0.01, 0.9}) {
    const PlasmaOptions options = box({64, 8, 1});
    PlasmaLoad load = thermal_load(true, 100);
    load.perturbation = {PlasmaPerturbation::Kind::density, {2, 1, 0}, amplitude, 0.3};
    const auto p = load_plasma(options, load, 1, 0, 1, 2);
    std::complex<double> first = 0, second = 0;
    for (std::size_t i = 0; i < p.id.size(); ++i) {
      const double phase = 2 * std::numbers::pi * (2 * p.x[i] / 64 + p.y[i] / 8);
      first += std::polar(2.0 / static_cast<double>(p.size()), -phase);
      second += std::polar(2.0 / static_cast<double>(p.size()), -2 * phase);
    }
    EXPECT_NEAR(std::abs(first), amplitude, 1e-6);
    EXPECT_NEAR(std::arg(first), 0.3, 1e-6);
    EXPECT_LT(std::abs(second), 1e-6);
  }
}

TEST(PlasmaLoading, AVelocityWavePointsAlongItsWaveVector) {
  const PlasmaOptions options = box({32, 32, 1});
  PlasmaLoad load = thermal_load(true, 16, 0);
  load.perturbation = {PlasmaPerturbation::Kind::velocity, {1, 1, 0}, 0.2, 0};
  const auto p = load_plasma(options, load, 1, 0, 1, 2);
  for (std::size_t i = 0; i < p.id.size(); i += 37) {
    const double wave = 0.2 * std::cos(2 * std::numbers::pi * (p.x[i] + p.y[i]) / 32) / std::numbers::sqrt2;
    EXPECT_NEAR(p.vx[i], wave, 1e-12);
    EXPECT_NEAR(p.vy[i], wave, 1e-12);
  }
}

TEST(PlasmaLoading, ProfilesKeepTheDensityWhereTheyAreOne) {
  const PlasmaOptions options = box({64, 16, 1});
  PlasmaLoad load = thermal_load(true, 64);
  load.density = 2;
  const auto density_near = [&](double x) {
    const auto p = load_plasma(options, load, 1, 0, 1, 2);
    double count = 0;
    for (const double place : p.x) count += std::abs(place - x) < 2;
    return count * loaded_weight(options, load) / (4 * 16);
  };
  // Particles stand in columns, about 32 in that width: one more or less.
  load.profile = {PlasmaProfile::Kind::slab, 0, 32, 16, 0.25, 0, 1};
  EXPECT_NEAR(density_near(32), 2, 2.0 / 32);
  EXPECT_NEAR(density_near(10), 0.5, 0.5 / 8);
  load.profile = {PlasmaProfile::Kind::gaussian, 0, 4, 8, 0, 0, 1};
  EXPECT_NEAR(density_near(4), 2 * std::sqrt(std::numbers::pi / 2) * 4 * std::erf(2 / (8 * std::numbers::sqrt2)),
              2.0 / 32);
  EXPECT_NEAR(density_near(62), 2 * std::exp(-0.5 * 36 / 64), 0.05);  // six cells from the centre, across the edge
  load.profile = {PlasmaProfile::Kind::sine, 0, 0, 0, 0, 0.5, 1};
  EXPECT_NEAR(density_near(16), 3, 3.0 / 32);
  EXPECT_NEAR(density_near(48), 1, 1.0 / 16);
  // The whole charge is that of the profile.
  EXPECT_NEAR(loaded_weight(options, load) * static_cast<double>(loaded_count(options, load)), 2 * 64 * 16, 1e-9);
}

TEST(PlasmaLoading, TheSameBitsForAnyNumberOfThreads) {
  for (const bool quiet : {true, false})
    for (const auto cells : {std::array<int, 3>{32, 32, 1}, std::array<int, 3>{8, 8, 16}}) {
      const PlasmaOptions options = box(cells, 3);
      const auto one = load_plasma(options, thermal_load(quiet, 18), 7, 2, 100, 1);
      const auto three = load_plasma(options, thermal_load(quiet, 18), 7, 2, 100, 3);
      EXPECT_EQ(one.id, three.id);
      EXPECT_EQ(one.id.front(), 100u);
      EXPECT_EQ(one.x, three.x);
      EXPECT_EQ(one.y, three.y);
      EXPECT_EQ(one.z, three.z);
      EXPECT_EQ(one.vx, three.vx);
      EXPECT_EQ(one.vy, three.vy);
      EXPECT_EQ(one.vz, three.vz);
      EXPECT_EQ(one.z.empty(), options.dimensions == 2);
      for (const double x : one.x) EXPECT_TRUE(x >= 0 && x < cells[0]);
    }
}

TEST(PlasmaLoading, AnotherSeedOrSpeciesIsAnotherRandomStart) {
  const PlasmaOptions options = box({16, 16, 1});
  const auto a = load_plasma(options, thermal_load(false), 1, 0, 1, 1);
  EXPECT_NE(a.x, load_plasma(options, thermal_load(false), 2, 0, 1, 1).x);
  EXPECT_NE(a.x, load_plasma(options, thermal_load(false), 1, 1, 1, 1).x);
}

}  // namespace
}  // namespace pergola

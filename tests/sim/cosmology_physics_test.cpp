#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "analysis/large_waves.hpp"
#include "analysis/layzer_irvine.hpp"
#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "physics/cosmology.hpp"
#include "sim/gravity_system.hpp"
#include "test_devices.hpp"

namespace pergola {

namespace {

constexpr double k = 2 * std::numbers::pi;
constexpr int across = 8;  // particles and cells along y and z

/// G = 1, H₀ = 1, a box of 1: a lattice of side × 8 × 8 particles and as many cells. steps: of the section [time].
RunConfig configuration(int side, const std::string& cosmology, double end, const std::string& steps,
                        const std::string& device = "cpu") {
  return parse_config(fmt::format(R"(
[run]
end_time = {}
precision = "double"
device = "{}"
threads = 1
[gravity]
solver = "mesh"
[gravity.mesh]
cells = [{}, {}, {}]
box = 1
boundary = "periodic"
assignment = "tsc"
[time]
{}
[cosmology]
{}
)",
                                  end, device, side, across, across, steps, cosmology),
                      "test");
}
RunConfig configuration(int side, const std::string& cosmology, double end, double step) {
  return configuration(side, cosmology, end, fmt::format("step = {}", step));
}

class CosmologicalRunOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CosmologicalRunOn, OnEachDevice(), device_test_name);

/// Each particle its own step, in ln a.
constexpr const char* block_steps = "steps = \"block\"\nstep_max = 0.015625\neta = 0.0005\ncourant = 0.02";

/// A plane wave along x in its growing mode: x = q − A sin(k q)/k with A = contrast D(a). Zel'dovich 1970: the exact
/// solution up to the crossing of shells at A = 1.
Particles plane_wave(const RunConfig& config, int side, double contrast, double a) {
  const auto background = *config.background();
  const physics::Growth growth = physics::growth_at(background, a);
  const double mass = physics::mean_density(background, 1) / (side * across * across);
  const double speed = std::sqrt(a) * background.rate(a) * growth.f1;
  Particles p;
  for (int iz = 0; iz < across; ++iz)
    for (int iy = 0; iy < across; ++iy)
      for (int ix = 0; ix < side; ++ix) {
        const double q = (ix + 0.5) / side, moved = -contrast * growth.d1 * std::sin(k * q) / k;
        p.id.push_back(p.id.size() + 1);
        p.species.push_back(1);
        p.mass.push_back(mass);
        p.x.push_back(q + moved), p.y.push_back((iy + 0.5) / across), p.z.push_back((iz + 0.5) / across);
        p.vx.push_back(speed * moved), p.vy.push_back(0), p.vz.push_back(0);
      }
  return p;
}

/// A of the particles, and that of their velocities: dA/d ln a over A would be f.
double amplitude(const Particles& p, int side) {
  double sum = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const double q = (static_cast<double>(p.id[i] - 1) - side * std::floor((p.id[i] - 1) / side) + 0.5) / side;
    double moved = p.x[i] - q;
    moved -= std::round(moved);
    sum += -2 * k * moved * std::sin(k * q);
  }
  return sum / static_cast<double>(p.x.size());
}

// Reference: D(a) from its own differential equation, which physics/cosmology_physics_test.cpp compares with closed
// forms.
TEST(CosmologicalRun, PlaneWavesGrowAsLinearTheorySaysInFourUniverses) {
  const int side = 256;
  const char* universes[] = {"omega_matter = 1\nomega_lambda = 0\nomega_baryon = 0",
                             "omega_matter = 0.3\nomega_lambda = 0.7", "omega_matter = 0.3\nomega_lambda = 0",
                             "omega_matter = 0.3\nomega_lambda = 0.7\nw0 = -0.8\nwa = -0.4"};
  for (const char* universe : universes) {
    const RunConfig config = configuration(side, universe, 1, 0.03125);
    const double from = 0.1;
    const Particles start = plane_wave(config, side, 0.2, from);
    GravitySystem run(config, start, from);
    run.run_until(1);
    const auto background = *config.background();
    const double grown = amplitude(run.particles(), side) / amplitude(start, side);
    const double expected = physics::growth_at(background, 1).d1 / physics::growth_at(background, from).d1;
    EXPECT_NEAR(grown / expected, 1, 1e-3) << universe;
    // Velocities: √a H f ψ.
    const Particles end = run.particles();
    const std::size_t i = side / 5;
    const double moved = end.x[i] - (static_cast<double>(i) + 0.5) / side;
    EXPECT_NEAR(end.vx[i] / (background.rate(1) * physics::growth_at(background, 1).f1 * moved), 1, 3e-3) << universe;
  }
}

// The same with steps of each particle's own, which kick and drift with integrals over other times.
TEST_P(CosmologicalRunOn, PlaneWavesGrowAsLinearTheorySaysWithBlockSteps) {
  const int side = 256;
  const RunConfig config = configuration(side, "omega_matter = 0.3\nomega_lambda = 0.7", 1, block_steps, GetParam());
  const double from = 0.1;
  const Particles start = plane_wave(config, side, 0.2, from);
  GravitySystem run(config, start, from);
  const auto background = *config.background();
  // In the middle of steps and at the end.
  for (const double a : {0.237, 0.61, 1.0}) {
    run.run_until(a);
    const Particles now = run.particles();
    const double grown = amplitude(now, side) / amplitude(start, side);
    const double expected = physics::growth_at(background, a).d1 / physics::growth_at(background, from).d1;
    EXPECT_NEAR(grown / expected, 1, 1e-3) << a;
    const std::size_t i = side / 5;
    const double moved = now.x[i] - (static_cast<double>(i) + 0.5) / side;
    EXPECT_NEAR(now.vx[i] / (std::sqrt(a) * background.rate(a) * physics::growth_at(background, a).f1 * moved), 1, 3e-3)
        << a;
  }
  // Not all particles at every step.
  EXPECT_LT(run.counts().particle_steps, run.counts().steps * static_cast<std::int64_t>(start.x.size()));
}

// Zel'dovich's pancake until shortly before shells cross at a = 1, against a run with a step of an eighth. A kick over
// the wrong times would be of first order.
TEST_P(CosmologicalRunOn, APancakeConvergesAtSecondOrderInTheStep) {
  const int side = 64;
  const std::string universe = "omega_matter = 1\nomega_lambda = 0\nomega_baryon = 0";
  const auto at_the_end = [&](const std::string& steps) {
    const RunConfig config = configuration(side, universe, 0.9, steps, GetParam());
    GravitySystem run(config, plane_wave(config, side, 1, 0.1), 0.1);
    run.run_until(0.9);
    return run.particles();
  };
  const auto shared = [&](double step) { return at_the_end(fmt::format("step = {}", step)); };
  const auto blocks = [&](double step) {
    return at_the_end(fmt::format("steps = \"block\"\nstep_max = {}\neta = 1e6\ncourant = 1e6", step));
  };
  const Particles reference = shared(0x1p-6);
  const auto error = [&](const Particles& p) {
    double sum = 0;
    for (std::size_t i = 0; i < p.x.size(); ++i)
      sum += std::pow(p.x[i] - reference.x[i], 2) + std::pow(p.vx[i] - reference.vx[i], 2);
    return std::sqrt(sum / static_cast<double>(p.x.size()));
  };
  const Particles coarse = shared(0x1p-3), coarse_blocks = blocks(0x1p-3);
  EXPECT_NEAR(error(coarse) / error(shared(0x1p-4)), 4, 0.6);
  EXPECT_NEAR(error(coarse_blocks) / error(blocks(0x1p-4)), 4, 0.6);
  // The exact solution, but for the cells: a sixty-fourth of the box.
  EXPECT_NEAR(amplitude(reference, side), 0.9, 0.01);
  // Where all particles want the longest step block steps are shared ones, and the last ends early in both.
  for (std::size_t i = 0; i < coarse.x.size(); ++i) {
    EXPECT_NEAR(coarse_blocks.x[i], coarse.x[i], 1e-13);
    EXPECT_NEAR(coarse_blocks.vx[i], coarse.vx[i], 1e-12);
  }
}

// The energy equation holds to the accuracy of steps and cells; with dt for the kicks in place of dt/a it would not.
TEST_P(CosmologicalRunOn, KeepsTheEquationOfLayzerAndIrvine) {
  const int side = 64;
  for (const char* steps : {"step = 0.02", block_steps}) {
    const RunConfig config = configuration(side, "omega_matter = 0.3\nomega_lambda = 0.7", 0.9, steps, GetParam());
    GravitySystem run(config, plane_wave(config, side, 0.9, 0.1), 0.1);
    LayzerIrvine equation;
    double residual = 0;
    for (double a = 0.1; a < 0.9; a *= std::exp(0.06)) {
      run.run_until(a);
      const Energies e = run.energies();
      residual = equation.add(a, e.kinetic, e.potential);
      EXPECT_NEAR(residual, 0, 5e-3) << a;
    }
    EXPECT_GT(equation.integral(), 0);
    const Vec3<double> momentum = run.energies().momentum;
    EXPECT_NEAR(momentum.x, 0, 1e-9) << steps;
  }
}

TEST_P(CosmologicalRunOn, GoesOnFromASavedStateWithTheSameBits) {
  const int side = 32;
  for (const char* steps : {"step = 0.05", block_steps}) {
    const RunConfig config = configuration(side, "omega_matter = 0.3\nomega_lambda = 0.7", 0.5, steps, GetParam());
    const Particles start = plane_wave(config, side, 0.5, 0.1);
    GravitySystem whole(config, start, 0.1), part(config, start, 0.1);
    part.run_until(0.23);
    GravitySystem resumed(config, part.save());
    EXPECT_NEAR(resumed.start_time(), 0.1, 1e-15);
    whole.run_until(0.5);
    resumed.run_until(0.5);
    EXPECT_EQ(whole.particles().x, resumed.particles().x);
    EXPECT_EQ(whole.particles().vx, resumed.particles().vx) << steps;
  }
}

TEST(CosmologicalRun, RefusesMassesOfAnotherUniverseAndATimeBeforeIt) {
  const RunConfig config = configuration(16, "omega_matter = 0.3\nomega_lambda = 0.7", 1, 0.05);
  Particles heavy = plane_wave(config, 16, 0.1, 0.1);
  for (double& mass : heavy.mass) mass *= 1.1;
  EXPECT_THROW(GravitySystem(config, heavy, 0.1), Error);
  EXPECT_THROW(GravitySystem(config, plane_wave(config, 16, 0.1, 0.1), 0), Error);
  RunConfig tree = config;
  tree.gravity.solver = "tree";  // in the box of the mesh's keys
  EXPECT_NO_THROW(GravitySystem(tree, plane_wave(config, 16, 0.1, 0.1), 0.1));
  RunConfig hermite = config;
  hermite.time.integrator = "hermite";
  EXPECT_THROW(hermite.check(), Error);
}

class LargeWavesOn : public DeviceTest {
 protected:
  LargeWaves waves_of(const Particles& particles, double side, int threads) const {
    return large_waves(*show_particles(device(threads), particles), side);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LargeWavesOn, OnEachDevice(), device_test_name);

// Reference: the sums as they are written down, for particles anywhere, in a whole chunk of sums, some of the next and
// over ranks.
TEST_P(LargeWavesOn, AreTheSumsOfAllParticlesOnAnyNumberOfRanks) {
  const int vectors[large_wave_count][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {1, 1, 0},  {1, -1, 0},
                                            {1, 0, 1},  {1, 0, -1}, {0, 1, 1}, {0, 1, -1}, {1, 1, 1},
                                            {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};
  constexpr std::int64_t n = 150000;
  constexpr double side = 3;
  Particles p;
  p.resize(n);
  std::mt19937_64 random(5);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (std::size_t i = 0; i < n; ++i) {
    p.x[i] = side * uniform(), p.y[i] = side * uniform(), p.z[i] = side * uniform();
    p.mass[i] = 1 + uniform(), p.id[i] = i;
  }
  const LargeWaves found = waves_of(p, side, 2);
  double mass = 0;
  for (const double m : p.mass) mass += m;
  for (std::size_t w = 0; w < large_wave_count; ++w) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      sum +=
          std::polar(p.mass[i], -k / side * (vectors[w][0] * p.x[i] + vectors[w][1] * p.y[i] + vectors[w][2] * p.z[i]));
    EXPECT_NEAR(std::abs(found[w] - sum / mass), 0, 1e-14) << w;
  }
  for (const int ranks : {3, 7})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Shares shares{n, ranks};
      const auto first = static_cast<std::size_t>(shares.first(communicator.rank()));
      Particles own;
      own.resize(shares.count(communicator.rank()));
      for (std::size_t i = 0; i < own.x.size(); ++i)
        own.x[i] = p.x[first + i], own.y[i] = p.y[first + i], own.z[i] = p.z[first + i],
        own.mass[i] = p.mass[first + i], own.id[i] = p.id[first + i];
      EXPECT_EQ(large_waves(*show_particles(device(1), own), side, communicator), found);
    });
}

// A contrast c cos(k x) has the wave c/2; others are zero.
TEST_P(LargeWavesOn, AreThoseOfAKnownField) {
  const RunConfig config = configuration(256, "omega_matter = 1\nomega_lambda = 0\nomega_baryon = 0", 1, 0.1);
  const Particles p = plane_wave(config, 256, 0.01, 1);
  const LargeWaves one = waves_of(p, 1, 1);
  EXPECT_NEAR(std::abs(one[0]), 0.005, 1e-6);
  EXPECT_NEAR(std::abs(one[1]), 0, 1e-12);
  EXPECT_NEAR(std::abs(one[12]), 0, 1e-12);
  EXPECT_EQ(waves_of(p, 1, 2), one);
  LargeWaves later = one;
  for (auto& wave : later) wave = std::abs(wave) > 1e-6 ? 3.0 * wave : wave;
  const LargeWaveGrowth growth = wave_growth(one, later, 3);
  EXPECT_NEAR(growth.ratio[0], 1, 1e-12);
  EXPECT_NEAR(growth.mean, 1, 1e-12);
  EXPECT_NEAR(growth.scatter, 0, 1e-9);
  later[1] = 0.1 * later[0];
  EXPECT_NEAR(wave_growth(one, later, 3).scatter, 0.1, 1e-9);
}

}  // namespace

}  // namespace pergola

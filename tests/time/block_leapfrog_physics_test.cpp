#include <gtest/gtest.h>

#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class BlockLeapfrog : public DeviceTest {};

// Large enough that the field is smooth: one particle's m / ε² is small against the mean acceleration.
constexpr double epsilon = 0.1;

Particles plummer(std::int64_t n, std::uint64_t seed = 1) {
  ModelOptions options;
  options.n = n;
  options.seed = seed;
  return make_model("plummer", options);
}

TimeOptions blocks(double eta, double step_max = 0.125) {
  auto time = leapfrog(1);
  time.steps = "block";
  time.eta = eta;
  time.step_max = step_max;
  return time;
}

double rms_distance(const Particles& a, const Particles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.id.size(); ++i) {
    const auto d = position(a, i) - position(b, i);
    sum += dot(d, d);
  }
  return std::sqrt(sum / static_cast<double>(a.id.size()));
}

void expect_same_bits(const Particles& a, const Particles& b) {
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.z, b.z);
  EXPECT_EQ(a.vx, b.vx);
  EXPECT_EQ(a.vz, b.vz);
}

SolverOptions gravity(const std::string& solver, Precision precision) {
  SolverOptions options;
  options.solver = solver;
  options.precision = precision;
  options.softening = Softening::same(epsilon);
  options.mesh.cells = {16, 16, 16};
  options.mesh.box = {{-16, -16, -16}, {32, 32, 32}, solver == "treepm" ? Boundary::periodic : Boundary::isolated};
  return options;
}

std::unique_ptr<Integrator> make(const SolverOptions& options, const Device& device, double eta = 0.02) {
  return make_integrator(blocks(eta), options, {device, serial_communicator(), nullptr});
}

// Reference: the 4th-order Hermite scheme with small steps. A step is proportional to √η, and the error of a scheme of
// second order to the square of the step: a quarter of η, a quarter of the error.
TEST_P(BlockLeapfrog, ErrorIsProportionalToEta) {
  const auto before = plummer(500);
  for (const double end : {0.5, 0.4321}) {
    const auto exact = run(before, end, hermite(1e-3), device(1), Precision::double_, epsilon);
    double last = 0;
    for (const double eta : {0.08, 0.02, 0.005}) {
      const double error = rms_distance(run(before, end, blocks(eta), device(1), Precision::double_, epsilon), exact);
      if (last > 0) {
        EXPECT_NEAR(last / error, 4, 1) << "eta " << eta << " end " << end;
      }
      last = error;
    }
    EXPECT_LT(last, 2e-4);
  }
}

// Reference: conservation of energy. The mean square over four systems and two crossing times, for the error of one sum
// may vanish by chance.
TEST_P(BlockLeapfrog, EnergyErrorIsProportionalToEta) {
  const auto mean_square = [&](double eta) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto before = plummer(300, seed);
      const auto system = integrator(blocks(eta), device(1), Precision::double_, epsilon);
      system->start(before, 0);
      for (int k = 1; k <= 48; ++k) {
        system->advance(0.125 * k, nullptr);
        const double error = total_energy(system->state_at(0.125 * k), epsilon) / total_energy(before, epsilon) - 1;
        sum += error * error / (4 * 48);
      }
    }
    return sum;
  };
  const double coarse = std::sqrt(mean_square(0.04)), fine = std::sqrt(mean_square(0.0025));
  EXPECT_GT(coarse / fine, 8);
  EXPECT_LT(coarse / fine, 32);
  EXPECT_LT(fine, 1e-4);
}

// Reference: the leapfrog with a shared step, shorter than any block step here.
TEST_P(BlockLeapfrog, SmallBlockStepsAgreeWithASmallSharedStep) {
  const auto before = plummer(300);
  const auto shared = run(before, 0.5, leapfrog(0x1p-10), device(1), Precision::double_, epsilon);
  const auto block = run(before, 0.5, blocks(0.002), device(1), Precision::double_, epsilon);
  EXPECT_LT(rms_distance(block, shared), 2e-4);
  EXPECT_GT(rms_distance(block, before), 0.1);
}

/// A star cluster with a small and dense one at its centre: steps of two very different lengths.
Particles nested_clusters() {
  ModelOptions options;
  options.n = 900;
  auto both = make_model("plummer", options);
  options.n = 100;
  options.seed = 2;
  auto inner = make_model("plummer", options);
  const double mass = 0.1, size = 0.02, speed = std::sqrt(mass / size);
  for (std::size_t i = 0; i < 100; ++i) {
    inner.id[i] += 900;
    inner.mass[i] *= mass;
    inner.x[i] *= size, inner.y[i] *= size, inner.z[i] *= size;
    inner.vx[i] *= speed, inner.vy[i] *= speed, inner.vz[i] *= speed;
  }
  both.append(inner);
  return both;
}

// Reference: the same criterion with one step for all, the shortest that any particle wants.
TEST_P(BlockLeapfrog, BlockStepsDoLessWorkForTheSameError) {
  const auto before = nested_clusters();
  const double start = total_energy(before, 0.01);
  auto adaptive = leapfrog(1);
  adaptive.adaptive = true;
  adaptive.eta = 0.0125;
  const auto shared = integrator(adaptive, device(1), Precision::mixed, 0.01);
  const auto block = integrator(blocks(0.0125), device(1), Precision::mixed, 0.01);
  for (auto* system : {shared.get(), block.get()}) system->start(before, 0), system->finish(0.25);
  EXPECT_LT(3 * block->counts().particle_steps, shared->counts().particle_steps);
  const double shared_error = std::abs(total_energy(shared->state_at(0.25), 0.01) / start - 1);
  const double block_error = std::abs(total_energy(block->state_at(0.25), 0.01) / start - 1);
  EXPECT_LT(block_error, 1.2 * shared_error);
  EXPECT_LT(shared_error, 1e-3);
}

// Reference: Hermite with small steps. Between two steps a particle is predicted to second order from its own last one.
TEST_P(BlockLeapfrog, StatesBetweenStepsAreOfSecondOrder) {
  const auto before = plummer(500);
  const auto errors = [&](const TimeOptions& time) {
    const auto system = integrator(time, device(1), Precision::double_, epsilon);
    system->start(before, 0);
    Vec3<double> squares{};
    for (const double t : {0.03, 0.071, 0.1, 0.149, 0.2001, 0.236, 0.29, 0.33}) {
      system->advance(t, nullptr);
      const auto exact = run(before, t, hermite(1e-2), device(1), Precision::double_, epsilon);
      const auto seen = system->state_at(t);
      for (std::size_t i = 0; i < 500; ++i) {
        const auto dx = position(seen, i) - position(exact, i), dv = velocity(seen, i) - velocity(exact, i);
        squares.x += dot(dx, dx), squares.y += dot(dv, dv);
      }
    }
    return squares;
  };
  const auto coarse = errors(blocks(0.02)), fine = errors(blocks(0.005));
  EXPECT_NEAR(std::sqrt(coarse.x / fine.x), 4, 1);
  EXPECT_NEAR(std::sqrt(coarse.y / fine.y), 4, 1);
  // As large as the errors at the ends of the steps, not more.
  EXPECT_LT(std::sqrt(fine.x / (8 * 500)), 6e-5);
}

TEST_P(BlockLeapfrog, ResultsHaveTheSameBitsForAnyThreadCount) {
  for (const char* solver : {"direct", "tree", "mesh", "treepm"})
    for (const auto precision : {Precision::single, Precision::mixed, Precision::double_}) {
      std::vector<Particles> results;
      for (const int threads : {1, 2, 7}) {
        const auto system = make(gravity(solver, precision), device(threads));
        system->start(plummer(2000), 0);
        system->finish(0.15);
        results.push_back(system->state_at(0.15));
      }
      expect_same_bits(results[0], results[1]);
      expect_same_bits(results[0], results[2]);
    }
}

TEST_P(BlockLeapfrog, RestoredRunGoesOnWithTheSameBits) {
  for (const char* solver : {"direct", "tree", "mesh", "treepm"})
    for (const auto precision : {Precision::single, Precision::mixed})
      for (const double at : {0.0, 0.02, 0.1}) {
        const auto whole = make(gravity(solver, precision), device(1));
        whole->start(plummer(1500), 0);
        whole->advance(at, nullptr);
        const auto resumed = make(gravity(solver, precision), device(1));
        resumed->restore(whole->save());
        expect_same_bits(whole->state_at(at), resumed->state_at(at));
        whole->finish(0.2);
        resumed->finish(0.2);
        expect_same_bits(whole->state_at(0.2), resumed->state_at(0.2));
        EXPECT_EQ(whole->counts().particle_steps, resumed->counts().particle_steps);
      }
}

TEST_P(BlockLeapfrog, LookingAtTheStateDoesNotChangeTheSteps) {
  for (const char* solver : {"tree", "treepm"}) {
    const auto quiet = make(gravity(solver, Precision::mixed), device(1));
    const auto watched = make(gravity(solver, Precision::mixed), device(1));
    for (auto* system : {quiet.get(), watched.get()}) system->start(plummer(1500), 0);
    for (const double t : {0.01, 0.0333, 0.1, 0.17}) {
      watched->advance(t, nullptr);
      const auto seen = watched->state_at(t);
      if (AnySolver* idle = watched->idle_solver()) evaluate_forces(*idle, device(1), seen, want_potential);
    }
    quiet->finish(0.2);
    watched->finish(0.2);
    expect_same_bits(quiet->state_at(0.2), watched->state_at(0.2));
  }
}

// Reference: the same run with a tree of its own for every step; errors of forces move neighbouring orbits apart.
TEST_P(BlockLeapfrog, TreesThatAreBroughtUpToDateServeAsWellAsNewOnes) {
  const auto before = plummer(4000);
  const auto direct = make(gravity("direct", Precision::double_), device(2), 0.01);
  const auto tree = make(gravity("tree", Precision::double_), device(2), 0.01);
  for (auto* system : {direct.get(), tree.get()}) system->start(before, 0), system->finish(0.5);
  EXPECT_LT(rms_distance(direct->state_at(0.5), tree->state_at(0.5)), 1e-4);
}

// Reference: straight lines. Without forces all particles take the longest step.
TEST_P(BlockLeapfrog, FreeParticlesMoveOnStraightLines) {
  auto free = plummer(10);
  for (double& m : free.mass) m = 0;
  const auto system = integrator(blocks(0.02), device(1), Precision::double_, epsilon);
  system->start(free, 0);
  system->finish(1.1);
  EXPECT_EQ(system->counts().particle_steps, 10 * 9);
  const auto after = system->state_at(1.1);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_LT(length(position(after, i) - position(free, i) - 1.1 * velocity(free, i)), 1e-14);
}

// Reference: a particle in the field of a fixed potential, whose energy is conserved.
TEST_P(BlockLeapfrog, ExternalPotentialsActOnBlockSteps) {
  auto options = gravity("tree", Precision::double_);
  options.external = {{.kind = physics::ExternalKind::plummer, .mass = 1, .radius = 0.5}};
  auto light = plummer(200);
  for (double& m : light.mass) m = 0;
  const auto system = make(options, device(1), 0.005);
  system->start(light, 0);
  system->finish(1);
  const auto after = system->state_at(1);
  const auto energy = [](const Particles& p, std::size_t i) {
    const auto x = position(p, i), v = velocity(p, i);
    return 0.5 * dot(v, v) - 1 / std::sqrt(dot(x, x) + 0.25);
  };
  for (std::size_t i = 0; i < 200; ++i) EXPECT_NEAR(energy(after, i), energy(light, i), 2e-3);
}

std::string refusal(const TimeOptions& time, const SolverOptions& options, const Device& device) {
  try {
    make_integrator(time, options, {device, serial_communicator(), nullptr});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Reference: the energy −m₁ m₂/2 of the Kepler orbit. Steps are η |a| / |j|, shortest at the pericentre, and the
// leapfrog is of second order in them.
TEST_P(BlockLeapfrog, WithoutSofteningStepsComeFromTheJerk) {
  SolverOptions options;
  options.precision = Precision::double_;
  options.softening = Softening::same(0);
  const auto error = [&](double eta) {
    const auto system = make(options, device(1), eta);
    system->start(kepler(0.7), 0);
    system->finish(2 * std::numbers::pi);
    EXPECT_GT(system->counts().steps, 40);
    return std::abs(total_energy(system->state_at(2 * std::numbers::pi)) / (-0.75 * 0.25 / 2) - 1);
  };
  const double coarse = error(0.04), fine = error(0.005);
  EXPECT_LT(coarse, 5e-3);
  EXPECT_LT(fine, coarse / 16);
}

TEST_P(BlockLeapfrog, WhatCannotBeChosenTogetherIsRefused) {
  auto hard = gravity("tree", Precision::mixed);
  hard.softening = Softening::same(0);
  EXPECT_NE(refusal(blocks(0.02), hard, device(1)).find("gravity.softening > 0"), std::string::npos);
  auto unknown = blocks(0.02);
  unknown.steps = "blocks";
  EXPECT_NE(
      refusal(unknown, gravity("direct", Precision::mixed), device(1)).find("expected shared, block, found \"blocks\""),
      std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, BlockLeapfrog, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

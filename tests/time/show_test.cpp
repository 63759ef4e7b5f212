#include <gtest/gtest.h>

#include <cmath>

#include "analysis/energy.hpp"
#include "analysis/shown_potential.hpp"
#include "gravity/solver_entry.hpp"
#include "marks.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"
#include "time/systems.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*ShownRun.GoesOnWithTheSameBits*");
PERGOLA_MARK(heavy, "*ShownRun.HasTheEnergiesOfItsParticlesOnTheHost*");

class ShownRun : public DeviceTest {};

/// A cluster of unequal masses.
Particles cluster(std::int64_t n) {
  ModelOptions options;
  options.n = n;
  Particles p = make_model("plummer", options);
  for (std::size_t k = 0; k < p.mass.size(); ++k) p.mass[k] *= 0.5 + static_cast<double>(k % 7) / 6;
  return p;
}

TimeOptions steps_of(const std::string& kind) {
  TimeOptions time = kind == "hermite" ? hermite(0.02) : leapfrog(1.0 / 64);
  if (kind == "block") time.steps = "block", time.step_max = 1.0 / 16;
  return time;
}

// Reference: textbook sums over the particles on the host. Times between steps, so that all is predicted.
TEST_P(ShownRun, HasTheEnergiesOfItsParticlesOnTheHost) {
  const Particles start = cluster(300);
  const double epsilon = 0.05;
  for (const std::string kind : {"leapfrog", "block", "hermite"})
    for (const Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
      SolverOptions gravity;
      gravity.precision = precision;
      gravity.softening = Softening::same(epsilon);
      const auto system = make_integrator(steps_of(kind), gravity, {device(2), serial_communicator(), nullptr});
      system->start(start, 0);
      for (const double time : {0.0, 0.21, 0.4}) {
        system->advance(time, nullptr);
        const Energies found = measure_energies(*system->show(time), gravity, system->idle_solver());
        const Particles host = system->state_at(time);
        EXPECT_NEAR(found.total(), total_energy(host, epsilon), 1e-12) << kind << " at " << time;
        EXPECT_NEAR(found.momentum.x, momentum(host).x, 1e-13);
        EXPECT_NEAR(found.angular_momentum.z, angular_momentum(host).z, 1e-13);
      }
    }
}

// Reference: the same run with nobody looking.
TEST_P(ShownRun, GoesOnWithTheSameBits) {
  const Particles start = cluster(500);
  for (const std::string solver : {"direct", "tree", "mesh"})
    for (const std::string kind : {"leapfrog", "block"}) {
      SolverOptions gravity;
      gravity.solver = solver;
      gravity.softening = Softening::same(0.05);
      gravity.mesh.box = {{-32, -32, -32}, {64, 64, 64}, Boundary::isolated};
      gravity.mesh.cells = {32, 32, 32};
      const IntegratorContext context{device(2), serial_communicator(), nullptr};
      const auto watched = make_integrator(steps_of(kind), gravity, context);
      const auto quiet = make_integrator(steps_of(kind), gravity, context);
      watched->start(start, 0), quiet->start(start, 0);
      for (double time = 0; time < 0.4; time += 0.07) {
        watched->advance(time, nullptr);
        measure_energies(*watched->show(time), gravity, watched->idle_solver());
      }
      watched->advance(0.4, nullptr), quiet->advance(0.4, nullptr);
      const Particles one = watched->state_at(0.4), other = quiet->state_at(0.4);
      EXPECT_EQ(one.x, other.x) << solver << " " << kind;
      EXPECT_EQ(one.vz, other.vz) << solver << " " << kind;
    }
}

// Reference: the particles' own masses. A mesh keeps particles in its own order in memory.
TEST_P(ShownRun, OnAMeshStandsInTheOrderOfTheInput) {
  Particles start = cluster(400);
  for (std::size_t k = 0; k < start.id.size(); ++k) start.id[k] = 1000 - 2 * k;
  SolverOptions gravity;
  gravity.solver = "mesh";
  gravity.mesh.box = {{-32, -32, -32}, {64, 64, 64}, Boundary::isolated};
  gravity.mesh.cells = {32, 32, 32};
  gravity.precision = Precision::double_;
  const auto system = make_integrator(leapfrog(1e-6), gravity, {device(2), serial_communicator(), nullptr});
  system->start(start, 0);
  const Particles shown = system->state_at(0);
  EXPECT_EQ(shown.id, start.id);
  EXPECT_EQ(shown.mass, start.mass);
  EXPECT_EQ(shown.x, start.x);
}

// Reference: the energies of copies of the particles, with another solver. At the end of a step the particles are
// sources where they lie, on a mesh in its own order; between steps they are copied.
TEST_P(ShownRun, IsMeasuredWhereItLiesWithTheSameBits) {
  Particles start = cluster(6000);
  for (auto* axis : {&start.x, &start.y, &start.z})
    for (double& x : *axis) x = 0.5 + 0.05 * x - std::floor(0.5 + 0.05 * x);
  for (const std::string solver : {"treepm", "mesh"})
    for (const Precision precision : {Precision::single, Precision::mixed}) {
      SolverOptions gravity;
      gravity.solver = solver;
      gravity.precision = precision;
      gravity.softening = Softening::same(0.002);
      set_box(gravity, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic});
      gravity.mesh.cells = {32, 32, 32};
      const auto system = make_integrator(leapfrog(1.0 / 4096), gravity, {device(2), serial_communicator(), nullptr});
      system->start(start, 0);
      system->advance(3.0 / 4096, nullptr);
      for (const double time : {3.0 / 4096, 3.5 / 4096}) {
        const auto shown = system->show(time);
        EXPECT_EQ(stored_as_shown(*shown), time == 3.0 / 4096) << solver;
        const Energies here = measure_energies(*shown, gravity, system->idle_solver());
        const Energies copied = measure_energies(fetch(*shown), device(2), gravity);
        EXPECT_EQ(here.potential, copied.potential) << solver;
        EXPECT_EQ(here.kinetic, copied.kinetic) << solver;
      }
    }
}

// Reference: the ids in the input; they are no places.
TEST_P(ShownRun, NamesCoincidentParticlesByTheirIds) {
  Particles three = bodies({{1, {0, 0, 0}, {}}, {1, {1, 0, 0}, {}}, {1, {1, 0, 0}, {}}});
  three.id = {900, 71, 72};
  for (const std::string kind : {"leapfrog", "hermite"}) {
    const auto system = integrator(steps_of(kind), device(1));
    try {
      system->start(three, 0);
      FAIL() << kind << ": expected an error";
    } catch (const CoincidentParticles& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("ids 71 and 72"), std::string::npos) << kind << ": " << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ShownRun, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

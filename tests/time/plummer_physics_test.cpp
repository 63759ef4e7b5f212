#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/energy.hpp"
#include "analysis/radii.hpp"
#include "marks.hpp"
#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
PERGOLA_MARK(slow, "*Equilibrium*");

namespace {

class StarCluster : public DeviceTest {};

SolverOptions gravity(double epsilon) {
  SolverOptions options;
  options.softening = Softening::same(epsilon);
  return options;
}

Particles plummer(std::int64_t n, std::uint64_t seed) {
  ModelOptions options;
  options.n = n;
  options.seed = seed;
  return make_model("plummer", options);
}

// Reference: a Plummer model is an equilibrium: over 10 crossing times (2√2 each in N-body units; about one relaxation
// time for N = 1024) the virial ratio stays at 1/2 and the half-mass radius where it was.
TEST_P(StarCluster, PlummerModelStaysInEquilibrium) {
  const auto before = plummer(1024, 1);
  const auto d = device();
  const auto system = make_integrator({}, gravity(1.0 / 256), {d, serial_communicator(), nullptr});
  system->start(before, 0);
  const double end = 10 * 2 * std::sqrt(2.0);
  system->finish(end);
  const auto after = system->state_at(end);
  EXPECT_NEAR(half_mass_radius(after) / half_mass_radius(before), 1, 0.1);
  const auto start_energy = measure_energies(before, d, gravity(1.0 / 256));
  const auto end_energy = measure_energies(after, d, gravity(1.0 / 256));
  EXPECT_NEAR(end_energy.virial_ratio(), 0.5, 0.05);
  EXPECT_LT(std::abs(end_energy.total() / start_energy.total() - 1), 1e-4);
}

/// The particles that cannot leave the others, and how their kinetic and potential energies compare.
double bound_virial_ratio(const Particles& all, const Device& device, const SolverOptions& options) {
  const auto solver = make_solver(options, device);
  const auto potential = evaluate_forces(*solver, device, all, want_potential).potential;
  Particles bound;
  for (std::size_t i = 0; i < all.id.size(); ++i) {
    if (0.5 * dot(velocity(all, i), velocity(all, i)) + potential[i] >= 0) continue;
    auto one = bodies({{all.mass[i], position(all, i), velocity(all, i)}});
    one.id[0] = all.id[i];
    bound.append(one);
  }
  EXPECT_GT(bound.size(), all.size() / 2);
  return measure_energies(bound, device, options).virial_ratio();
}

// Reference: a cold sphere of even density, mass and radius 1 collapses in its free-fall time π / √8 = 1.11; violent
// relaxation throws some particles out and leaves the bound ones in virial equilibrium (van Albada 1982).
TEST_P(StarCluster, ColdSphereCollapsesInItsFreeFallTimeAndVirializes) {
  ModelOptions options;
  options.n = 1024;
  const auto before = make_model("sphere", options);
  const auto d = device();
  const auto system = make_integrator({}, gravity(0.02), {d, serial_communicator(), nullptr});
  system->start(before, 0);
  double smallest = 1e300, when = 0;
  for (double t = 0.02; t <= 2; t += 0.02) {
    system->advance(t, nullptr);
    const auto now = system->state_at(t);
    const double radius = lagrangian_radii(now, mass_center(now), {0.5})[0];
    if (radius < smallest) smallest = radius, when = t;
  }
  EXPECT_NEAR(when, std::numbers::pi / std::sqrt(8.0), 0.1);
  EXPECT_LT(smallest, 0.2);
  system->finish(5);
  const auto after = system->state_at(5);
  const auto energies = measure_energies(after, d, gravity(0.02));
  EXPECT_NEAR(bound_virial_ratio(after, d, gravity(0.02)), 0.5, 0.05);
  EXPECT_LT(std::abs(energies.total() / measure_energies(before, d, gravity(0.02)).total() - 1), 1e-4);
}

/// Median |ΔE/E| of five seeds over 0.5 time units with default settings.
double median_energy_error(std::int64_t n, const Device& device) {
  std::vector<double> errors;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto before = plummer(n, seed);
    const auto system = make_integrator({}, gravity(1.0 / 256), {device, serial_communicator(), nullptr});
    system->start(before, 0);
    system->finish(0.5);
    const double start = measure_energies(before, device, gravity(1.0 / 256)).total();
    const double end = measure_energies(system->state_at(0.5), device, gravity(1.0 / 256)).total();
    errors.push_back(std::abs((end - start) / start));
  }
  std::sort(errors.begin(), errors.end());
  return errors[2];
}

// Reference: the GRAPE-6A column of table 2 of Belleman, Bédorf & Portegies Zwart 2008 ("kirin").
TEST_P(StarCluster, EnergyErrorIsNotLargerThanThatOfTheGrape) {
  EXPECT_LE(median_energy_error(256, device()), 2.271e-7);
  EXPECT_LE(median_energy_error(512, device()), 2.388e-7);
  EXPECT_LE(median_energy_error(1024, device()), 0.866e-7);
  EXPECT_LE(median_energy_error(2048, device()), 1.261e-7);
}

INSTANTIATE_TEST_SUITE_P(Devices, StarCluster, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include "app/plasma_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/bench.hpp"
#include "base/error.hpp"
#include "device/parallel.hpp"
#include "device/step_graph.hpp"
#include "models/sampling.hpp"
#include "plasma/field.hpp"
#include "plasma/particle_in_cell.hpp"

namespace pergola::app {

namespace {

[[noreturn]] void refuse(const PlasmaCase& which, const char* what, double found, double allowed) {
  throw Error(ErrorKind::numerics, fmt::format("bench: pic {}: {} changed by {:.1e}, expected below {:.1e}", which.name,
                                               what, found, allowed));
}

/// Shortest time of a step over batches that take about a tenth of the budget.
template <class Steps>
double fastest_step(const Device& device, double budget, const Steps& steps) {
  const auto timed = [&](std::int64_t count) {
    return fastest(0, 1, [&] {
      steps(count);
      device.synchronize();
    });
  };
  const double first = std::min(timed(1), timed(1));
  const auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.1 * budget / first));
  return fastest(budget, 2,
                 [&] {
                   steps(batch);
                   device.synchronize();
                 }) /
         static_cast<double>(batch);
}

/// Energy and momentum after the steps in which the plasma settles.
void check_conservation(const PlasmaCase& which, const PlasmaEnergies& before, const PlasmaEnergies& after) {
  const double drift = std::fabs(after.total() - before.total()), energy = 1e-3 * before.total();
  if (!(drift <= energy)) refuse(which, "the energy", drift, energy);
  // The mass is the number of cells, the thermal velocity 1.
  const Vec3<double> change = after.momentum() - before.momentum();
  const double size = std::sqrt(dot(change, change));
  const double momentum = 1e-5 * static_cast<double>(plasma_options(which).cell_count());
  if (!(size <= momentum)) refuse(which, "the momentum", size, momentum);
}

double whole_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons,
                          double budget) {
  const auto system = make_particle_in_cell(device, plasma_options(which), Precision::single);
  system->start({electrons});
  const PlasmaEnergies before = system->energies();
  system->advance(device.is_cuda() ? 100 : 4, which.step);
  check_conservation(which, before, system->energies());
  const double seconds = fastest_step(device, budget, [&](std::int64_t count) { system->advance(count, which.step); });
  if (system->count() != which.n) refuse(which, "the number of particles", 1, 0);
  return seconds;
}

double particle_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons,
                        double budget) {
  const PlasmaOptions options = plasma_options(which);
  const auto field = make_plasma_field<float>(device, options);
  const auto particles = make_tiled_particles<float>(device, options, {which.n});
  particles->load(0, electrons);
  field->solve();  // of no charge: a field that stays as it is would heat the particles
  StepGraph graph(device);
  const auto steps = [&](std::int64_t count) {
    graph.run(count, {which.step, particles->layout_version()}, [&] {
      particles->push(field->electric(), {which.step, which.step});
      particles->charge_density(field->density());
      particles->join();
    });
    particles->check();
  };
  steps(device.is_cuda() ? 100 : 4);
  const double seconds = fastest_step(device, budget, steps);
  if (particles->count(0) != which.n) refuse(which, "the number of particles", 1, 0);
  return seconds;
}

}  // namespace

PlasmaCase decyk_case() { return {"256x512", 2, {256, 512, 1}, 4718592, 0.025}; }

PlasmaOptions plasma_options(const PlasmaCase& which) {
  PlasmaOptions options;
  options.dimensions = which.dimensions;
  options.cells = which.cells;
  options.velocities = which.dimensions;
  options.smoothing = 0.912871;  // that of the UPIC skeleton codes
  const double weight = static_cast<double>(options.cell_count()) / static_cast<double>(which.n);
  options.species = {{"electrons", -1, 1, weight}};
  return options;
}

PlasmaParticles thermal_electrons(const PlasmaCase& which, int threads) {
  PlasmaParticles all;
  const auto n = static_cast<std::size_t>(which.n);
  const bool volume = which.dimensions == 3;
  all.id.resize(n);
  for (auto* values : {&all.x, &all.y, &all.vx, &all.vy}) values->resize(n);
  if (volume) all.z.resize(n), all.vz.resize(n);
  parallel_chunks(threads, which.n, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Philox random(1, 0, i);
      all.id[i] = i;
      all.x[i] = which.cells[0] * random.uniform(), all.y[i] = which.cells[1] * random.uniform();
      all.vx[i] = random_normal(random), all.vy[i] = random_normal(random);
      if (volume) all.z[i] = which.cells[2] * random.uniform(), all.vz[i] = random_normal(random);
    }
  });
  return all;
}

double plasma_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons, bool whole,
                           double budget) {
  return whole ? whole_step_seconds(device, which, electrons, budget)
               : particle_seconds(device, which, electrons, budget);
}

}  // namespace pergola::app

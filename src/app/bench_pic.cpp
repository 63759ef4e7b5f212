// Suite `pic`: steps of a thermal plasma, whole and without the field. Suite `em`: the same with light.
//
// The case is the benchmark of Decyk, Singh & Friedman 2010 (decyk_case()): electrons on a uniform background. Whole
// steps run the code of `pergola run`; the other cases push particles and deposit charge only. Checks: energy and
// momentum after the plasma has settled, and the number of particles. Units of the plasma: cells, thermal velocities
// and inverse plasma frequencies. Rates are particle steps/s.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/bench.hpp"
#include "base/error.hpp"
#include "device/parallel.hpp"
#include "device/step_graph.hpp"
#include "gravity/mesh.hpp"
#include "models/sampling.hpp"
#include "plasma/field.hpp"
#include "plasma/particle_in_cell.hpp"

namespace pergola::app {

namespace {

std::string suite_of(const PlasmaCase& which) { return which.light_speed > 0 ? "em" : "pic"; }

[[noreturn]] void refuse_plasma(const PlasmaCase& which, const char* what, double found, double allowed) {
  throw Error(ErrorKind::numerics, fmt::format("bench: {} {}: {} changed by {:.1e}, expected below {:.1e}",
                                               suite_of(which), which.name, what, found, allowed));
}

/// The particles by species: all, or two beams.
std::vector<PlasmaParticles> by_species(const PlasmaCase& which, const PlasmaParticles& electrons) {
  if (which.beam == 0) return {electrons};
  std::vector<PlasmaParticles> beams(2);
  const std::ptrdiff_t half = electrons.size() / 2;
  for (const std::ptrdiff_t b : {0, 1}) {
    const auto cut = [&](const auto& from, auto& to) {
      if (!from.empty()) to.assign(from.begin() + b * half, b == 0 ? from.begin() + half : from.end());
    };
    PlasmaParticles& to = beams[static_cast<std::size_t>(b)];
    cut(electrons.id, to.id);
    for (const PlasmaCoordinate one : plasma_coordinates) cut(electrons.*one, to.*one);
    for (double& vz : to.vz) vz += b == 0 ? which.beam : -which.beam;
  }
  return beams;
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

/// Checks energy and momentum after the steps in which the plasma settles.
void check_plasma_conservation(const PlasmaCase& which, const PlasmaEnergies& before, const PlasmaEnergies& after) {
  const double drift = std::fabs(after.total() - before.total()), energy = 1e-3 * before.total();
  if (!(drift <= energy)) refuse_plasma(which, "the energy", drift, energy);
  if (which.light_speed > 0) return;  // its gather keeps the energy only
  // The mass is the number of cells, the thermal velocity 1.
  const Vec3<double> change = after.momentum() - before.momentum();
  const double size = std::sqrt(dot(change, change));
  const double momentum = 1e-5 * static_cast<double>(plasma_options(which).cell_count());
  if (!(size <= momentum)) refuse_plasma(which, "the momentum", size, momentum);
}

/// Steps with field and order, by the class that a run uses. Checks conservation before it measures.
double whole_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons,
                          double budget) {
  const auto system = make_particle_in_cell(device, plasma_options(which), Precision::single);
  system->start(by_species(which, electrons));
  const PlasmaEnergies before = system->energies();
  system->advance(device.is_cuda() ? 100 : 4, which.step);
  check_plasma_conservation(which, before, system->energies());
  const double seconds = fastest_step(device, budget, [&](std::int64_t count) { system->advance(count, which.step); });
  if (system->count() != which.n) refuse_plasma(which, "the number of particles", 1, 0);
  return seconds;
}

/// Push, charge and order without the field. Steps run as one graph on a GPU, as in a run.
double particle_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons,
                        double budget) {
  const PlasmaOptions options = plasma_options(which);
  const auto field = make_plasma_field<float>(device, options);
  const auto starts = by_species(which, electrons);
  std::vector<std::int64_t> counts;
  for (const auto& one : starts) counts.push_back(one.size());
  const auto particles = make_tiled_particles<float>(device, options, counts);
  for (std::size_t s = 0; s < starts.size(); ++s) particles->load(static_cast<int>(s), starts[s]);
  field->start();  // without charge: a constant field would heat the particles
  StepGraph graph(device);
  const auto steps = [&](std::int64_t count) {
    graph.run(count, {which.step, particles->layout_version()}, [&] {
      particles->push(field->gathered(), {which.step, which.step});
      particles->deposit(field->deposited());
      particles->join();
    });
    particles->check();
  };
  steps(device.is_cuda() ? 100 : 4);
  const double seconds = fastest_step(device, budget, steps);
  std::int64_t left = 0;
  for (int s = 0; s < static_cast<int>(starts.size()); ++s) left += particles->count(s);
  if (left != which.n) refuse_plasma(which, "the number of particles", 1, 0);
  return seconds;
}

}  // namespace

PlasmaCase decyk_case() { return {"256x512", 2, {256, 512, 1}, 4718592, 0.025, 0, 0}; }

PlasmaOptions plasma_options(const PlasmaCase& which) {
  PlasmaOptions options;
  options.dimensions = which.dimensions;
  options.cells = which.cells;
  options.velocities = which.dimensions;
  options.smoothing = 0.912871;  // that of the UPIC skeleton codes
  const double weight = static_cast<double>(options.cell_count()) / static_cast<double>(which.n);
  options.species = {{"electrons", -1, 1, weight}};
  if (which.beam != 0) options.species.push_back({"other electrons", -1, 1, weight});
  if (which.light_speed > 0)
    options.field = electromagnetic_entry().name, options.light_speed = which.light_speed, options.velocities = 3,
    options.smoothing = 0;
  return options;
}

/// Places are uniform, velocities normal with spread 1. Each particle has its own random stream: any number of threads
/// makes the same particles.
PlasmaParticles thermal_electrons(const PlasmaCase& which, int threads) {
  PlasmaParticles all;
  const auto n = static_cast<std::size_t>(which.n);
  const bool volume = which.dimensions == 3, three = plasma_options(which).velocities == 3;
  all.id.resize(n);
  for (auto* values : {&all.x, &all.y, &all.vx, &all.vy}) values->resize(n);
  if (volume) all.z.resize(n);
  if (three) all.vz.resize(n);
  parallel_chunks(threads, which.n, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Philox random(1, 0, i);
      all.id[i] = i;
      all.x[i] = which.cells[0] * random.uniform(), all.y[i] = which.cells[1] * random.uniform();
      all.vx[i] = random_normal(random), all.vy[i] = random_normal(random);
      if (volume) all.z[i] = which.cells[2] * random.uniform();
      if (three) all.vz[i] = random_normal(random);
    }
  });
  return all;
}

double plasma_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons, bool whole,
                           double budget) {
  return whole ? whole_step_seconds(device, which, electrons, budget)
               : particle_seconds(device, which, electrons, budget);
}

namespace {

/// The least traffic of a step in single precision: position and velocity of a particle read and written.
double plasma_particle_bytes(const PlasmaCase& which) {
  return 2.0 * (which.dimensions + plasma_options(which).velocities) * sizeof(float);
}

/// Without --full a CPU takes at most 40 s.
std::vector<PlasmaCase> plasma_cases(const BenchTask& task) {
  PlasmaCase paper = decyk_case();
  if (task.n > 0) {  // as many particles per cell as in the paper, 36
    const int side = nearest_mesh_size(static_cast<int>(std::lround(std::sqrt(static_cast<double>(task.n) / 72))));
    paper.cells = {std::max(side, 4), 2 * std::max(side, 4), 1};
    paper.name = fmt::format("{}x{}", paper.cells[0], paper.cells[1]);
    paper.n = task.n;
    return {paper};
  }
  std::vector<PlasmaCase> all{paper, {"512x512", 2, {512, 512, 1}, 9437184, 0.1, 0, 0}};
  if (task.full) {
    all.push_back({"2048x2048", 2, {2048, 2048, 1}, 150994944, 0.1, 0, 0});
    all.push_back({"128x128x128", 3, {128, 128, 128}, 134217728, 0.1, 0, 0});
  }
  return all;
}

/// With light: 64 particles per cell (and beam) at a tenth of its speed. Beams filament: Weibel 1959. Peers' cases, and
/// smaller ones for a CPU.
std::vector<PlasmaCase> light_cases(const BenchTask& task) {
  const auto flat = [](const char* kind, int side, double beam) {
    return PlasmaCase{fmt::format("{}/{}x{}", kind, side, side),
                      2,
                      {side, side, 1},
                      std::int64_t{beam > 0 ? 128 : 64} * side * side,
                      0.05,
                      10,
                      beam};
  };
  const auto cube = [](int side) {
    return PlasmaCase{fmt::format("warm/{}x{}x{}", side, side, side),
                      3,
                      {side, side, side},
                      std::int64_t{64} * side * side * side,
                      0.05,
                      10,
                      0};
  };
  if (task.n > 0) {
    const double half = 0.5 * std::sqrt(static_cast<double>(task.n) / 64);
    return {flat("warm", 2 * nearest_mesh_size(static_cast<int>(std::lround(half))), 0)};
  }
  if (!task.device.is_cuda() && !task.full) return {flat("warm", 128, 0), flat("weibel", 128, 6), cube(24)};
  return {flat("warm", 1024, 0), flat("weibel", 2048, 6), cube(128)};
}

}  // namespace

namespace {

void bench_cases(const BenchTask& task, const std::vector<PlasmaCase>& cases) {
  for (const PlasmaCase& which : cases) {
    const PlasmaParticles electrons = thermal_electrons(which, task.device.threads());
    const double budget = task.device.is_cuda() || task.n > 0 ? 0.3 : 3.0;
    for (const bool whole : {false, true}) {
      const double seconds = plasma_step_seconds(task.device, which, electrons, whole, budget);
      task.report({suite_of(which) + (whole ? "/step/" : "/particles/") + which.name, Precision::single, which.n,
                   seconds, static_cast<double>(which.n) / seconds, "particle steps/s", 0,
                   plasma_particle_bytes(which)});
    }
  }
}

}  // namespace

void bench_pic(const BenchTask& task) { bench_cases(task, plasma_cases(task)); }
void bench_em(const BenchTask& task) { bench_cases(task, light_cases(task)); }

}  // namespace pergola::app

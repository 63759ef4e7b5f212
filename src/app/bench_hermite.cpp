#include <fmt/core.h>

#include <cmath>

#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

constexpr unsigned want_all = want_acceleration | want_jerk | want_potential;
constexpr double softening = 1.0 / 256;  // kirin, section 4.1

double total_energy(const Device& device, const Particles& p, const SolverOptions& options) {
  BenchSystem<double> system(device, p);
  double kinetic = 0;
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    kinetic += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
  return kinetic + potential_energy(device, system.sources, options);
}

/// A Plummer model with block steps. The first eighth of a time unit warms up, then the clock runs until time 1/2 or
/// for `seconds`.
void measure_run(const BenchTask& task, std::int64_t n, double seconds) {
  SolverOptions gravity;
  gravity.softening = Softening::same(softening);
  const auto particles = bench_particles(n, task.device.threads());
  const auto integrator =
      make_integrator(TimeOptions{}, gravity, IntegratorContext{task.device, serial_communicator(), nullptr});
  const auto begin = Clock::now();
  const auto since_begin = [&] { return seconds_since(begin); };
  integrator->start(particles, 0);
  integrator->advance(0.125, [&] { return since_begin() > seconds / 2; });
  task.device.synchronize();
  const auto before = integrator->counts();
  const double from = since_begin();
  integrator->advance(0.5, [&] { return since_begin() > from + seconds; });
  task.device.synchronize();
  const double spent = since_begin() - from;
  const auto after = integrator->counts();

  const std::string name = fmt::format("hermite/plummer/{}", n);
  const double start_energy = total_energy(task.device, particles, gravity);
  const double energy = total_energy(task.device, integrator->state_at(integrator->time()), gravity);
  const double error = std::abs((energy - start_energy) / start_energy);
  // The default accuracy keeps the energy to about 1e-6 over half a time unit.
  if (!(error < 1e-4))
    throw Error(ErrorKind::numerics,
                fmt::format("bench: {}: relative energy error {:.2e}, expected below 1e-4", name, error));

  const double pairs = static_cast<double>(after.interactions - before.interactions) / spent;
  task.report({"", name, "", gravity.precision, n, spent, pairs, "interactions/s",
               instructions_per_pair(task.device, want_all, gravity.precision), std::nullopt});
  task.report({"", fmt::format("hermite/block-steps/{}", n), "", gravity.precision, n, spent,
               static_cast<double>(after.steps - before.steps) / spent, "steps/s", 0, std::nullopt});
}

/// A small block: predict all particles and sum the forces on a few of them; the answer stays on the device. Without a
/// wait between one block and the next, as long as the device needs none.
void measure_small_block(const BenchTask& task, std::int64_t n, std::int64_t active) {
  const std::string name = fmt::format("hermite/small-block/{}", n);
  SolverOptions gravity;
  gravity.softening = Softening::same(softening);
  const auto particles = bench_particles(n, task.device.threads());
  BenchSystem<double> system(task.device, particles);
  // Acceleration and jerk of zero and a time that is now: the predicted places are the given ones and can be checked.
  Buffer<double> zero(task.device, n);
  zero.zero();
  const Buffer<std::int64_t> tick(task.device, std::vector<std::int64_t>(static_cast<std::size_t>(n), 5));
  auto& s = system.sources;
  s.ax = s.ay = s.az = s.jx = s.jy = s.jz = zero.data();
  s.tick = tick.data(), s.now = 5, s.tick_length = 0x1p-20;
  const auto places = sample_places(n, active);
  active = std::ssize(places);
  const Buffer<std::int64_t> index(task.device, places);
  const auto solver = make_solver<double>(gravity, task.device);
  const int blocks = task.device.is_cuda() ? 100 : 5;
  const auto once = [&] {
    for (int k = 0; k < blocks; ++k) {
      solver->prepare(s);
      solver->evaluate({index.data(), active, active}, want_all, system.forces);
    }
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(1.0, 3, once) / blocks;
  std::vector<std::vector<double>> results;
  for (int row = 0; row < 7; ++row) results.push_back(system.result(row));
  check_against_double(name, gravity, particles, want_all, places, [&](int row, std::int64_t k) {
    return results[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)];
  });
  const double pairs = static_cast<double>(active) * static_cast<double>(n) / seconds;
  task.report({"", name, "", gravity.precision, n, seconds, pairs, "interactions/s",
               instructions_per_pair(task.device, want_all, gravity.precision), std::nullopt});
}

}  // namespace

void bench_hermite(const BenchTask& task) {
  if (task.n > 0) {
    measure_run(task, task.n, 3.0);
    return measure_small_block(task, task.n, 32);
  }
  for (std::int64_t n : {1024, 4096, 16384}) measure_run(task, n, 3.0);
  if (task.full || task.device.is_cuda()) measure_run(task, 65536, 20.0);
  measure_small_block(task, 65536, 32);
}

}  // namespace pergola::app

// Suites `direct`, `hermite` and `g6`: sums over all pairs.
//
// direct: one evaluation of all forces, for each precision and set of results. hermite: block steps of a Plummer model,
// and small blocks. g6: the same sums through the GRAPE-6 library, next to the solver alone. Each case is checked: a
// sample of forces against a double-precision sum, or the energy of the run. Model units (G = 1, mass 1); rates are
// interactions/s, i.e. ordered pairs per second of wall clock.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "app/g6_client.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "g6/interface.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

struct DirectCase {
  const char* name;
  unsigned want;
};
constexpr DirectCase direct_cases[] = {{"direct/acc", want_acceleration},
                                       {"direct/acc+pot", want_acceleration | want_potential},
                                       {"direct/acc+jerk+pot", want_acceleration | want_jerk | want_potential}};
constexpr double plummer_softening = 0.01;
constexpr std::int64_t compared_particles = 64;

/// All pairs of n particles through the same interface as a run: prepare() and evaluate().
template <class Real>
void measure_direct(const BenchTask& task, const DirectCase& which, const SolverOptions& options,
                    const Particles& particles) {
  const std::int64_t n = particles.size();
  BenchSystem<Real> system(task.device, particles);
  const auto solver = make_solver<Real>(options, task.device);
  const auto once = [&] {
    solver->prepare(system.sources);
    solver->evaluate({nullptr, n, n}, which.want, system.forces);
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(0.3, 2, once);

  const auto places = sample_places(n, compared_particles);
  std::vector<std::vector<Real>> results;
  for (int k = 0; k < 7; ++k) results.push_back(system.result(k));
  check_against_double(which.name, options, particles, which.want, places, [&](int row, std::int64_t k) {
    return static_cast<double>(
        results[static_cast<std::size_t>(row)][static_cast<std::size_t>(places[static_cast<std::size_t>(k)])]);
  });
  const double rate = static_cast<double>(n) * static_cast<double>(n) / seconds;
  task.report({which.name, options.precision, n, seconds, rate, "interactions/s",
               instructions_per_pair(task.device, which.want, options.precision)});
}

/// Without --full a CPU takes at most 40 s.
std::vector<std::int64_t> direct_sizes(const BenchTask& task) {
  if (task.n > 0) return {task.n};
  if (task.device.is_cuda())
    return task.full ? std::vector<std::int64_t>{4096, 16384, 65536, 262144, 1048576, 4194304}
                     : std::vector<std::int64_t>{16384, 65536, 262144, 1048576};
  return task.full ? std::vector<std::int64_t>{1024, 4096, 16384, 65536, 131072}
                   : std::vector<std::int64_t>{1024, 4096, 16384};
}

}  // namespace

void bench_direct(const BenchTask& task) {
  for (std::int64_t n : direct_sizes(task)) {
    const auto particles = bench_particles(n, task.device.threads());
    for (const auto& which : direct_cases)
      for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
        SolverOptions options;
        options.softening = Softening::same(plummer_softening);
        options.precision = precision;
        if (precision == Precision::single)
          measure_direct<float>(task, which, options, particles);
        else
          measure_direct<double>(task, which, options, particles);
      }
  }
}

namespace {

constexpr unsigned want_all = want_acceleration | want_jerk | want_potential;
constexpr double kirin_softening = 1.0 / 256;  // section 4.1

/// Kinetic and potential energy by a direct sum, in model units: O(n²) work outside the timed part.
double total_energy(const Device& device, const Particles& p, const SolverOptions& options) {
  BenchSystem<double> system(device, p);
  double kinetic = 0;
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    kinetic += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
  return kinetic + potential_energy(device, system.sources, options);
}

/// A Plummer model with block steps. The first eighth of a time unit warms up; timed is the rest until time 1/2, at
/// most `seconds`.
void measure_run(const BenchTask& task, std::int64_t n, double seconds) {
  SolverOptions gravity;
  gravity.softening = Softening::same(kirin_softening);
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
  task.report({name, gravity.precision, n, spent, pairs, "interactions/s",
               instructions_per_pair(task.device, want_all, gravity.precision)});
  task.report({fmt::format("hermite/block-steps/{}", n), gravity.precision, n, spent,
               static_cast<double>(after.steps - before.steps) / spent, "steps/s"});
}

/// A small block: predict all particles and sum the forces on a few; the results stay on the device. Blocks follow each
/// other without waiting.
void measure_small_block(const BenchTask& task, std::int64_t n, std::int64_t active) {
  const std::string name = fmt::format("hermite/small-block/{}", n);
  SolverOptions gravity;
  gravity.softening = Softening::same(kirin_softening);
  const auto particles = bench_particles(n, task.device.threads());
  BenchSystem<double> system(task.device, particles);
  // Without acceleration and jerk, at the present time, the predicted positions are the given ones: they can be
  // checked.
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
  task.report({name, gravity.precision, n, seconds, pairs, "interactions/s",
               instructions_per_pair(task.device, want_all, gravity.precision)});
}

}  // namespace

/// Runs of growing size, then one small block. Each run has a limit of seconds, so that slow machines finish too.
void bench_hermite(const BenchTask& task) {
  if (task.n > 0) {
    measure_run(task, task.n, 3.0);
    return measure_small_block(task, task.n, 32);
  }
  for (std::int64_t n : {1024, 4096, 16384}) measure_run(task, n, 3.0);
  if (task.full || task.device.is_cuda()) measure_run(task, 65536, 20.0);
  measure_small_block(task, 65536, 32);
}

namespace {

constexpr int bench_cluster = 0, pipes = 16384, small_block = 32;

/// The functions of the GRAPE-6 library as a client calls them, with its arrays.
/// Opens the library in its constructor and closes it in its destructor. A failed call throws Error(numerics).
class LibraryClient {
 public:
  LibraryClient(const Device& device, const Particles& p) : n_(static_cast<int>(p.size())) {
    open_g6_library(device, pipes);
    const auto size = static_cast<std::size_t>(n_);
    for (auto* values : {&x_, &v_, &acc_, &jerk_}) values->resize(3 * size);
    pot_.resize(size), index_.resize(size);
    const double zero[3] = {0, 0, 0};
    for (int i = 0; i < n_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      index_[k] = i;
      double* const x = &x_[3 * k];
      double* const v = &v_[3 * k];
      x[0] = p.x[k], x[1] = p.y[k], x[2] = p.z[k];
      v[0] = p.vx[k], v[1] = p.vy[k], v[2] = p.vz[k];
      require(g6::set_j_particle(bench_cluster, i, i, 0, p.mass[k], zero, zero, zero, v, x));
    }
  }
  ~LibraryClient() { g6::close(bench_cluster); }
  LibraryClient(const LibraryClient&) = delete;
  LibraryClient& operator=(const LibraryClient&) = delete;

  /// Forces on the particles begin … end − 1, in blocks of the number of pipes.
  void forces(int begin, int end) {
    // As in a block step all j-particles are predicted again, to one of two times that do not move them.
    time_ = time_ > 0 ? 0 : 1e-12;
    require(g6::set_ti(bench_cluster, time_));
    for (; begin < end; begin += pipes) {
      const int ni = std::min(pipes, end - begin);
      const auto k = static_cast<std::size_t>(begin);
      g6::firsthalf(bench_cluster,
                    {n_, ni, &index_[k], at(x_, k), at(v_, k), kirin_softening * kirin_softening, nullptr});
      require(g6::lasthalf(bench_cluster, {ni, at(acc_, k), at(jerk_, k), &pot_[k]}));
    }
  }
  double result(int which, std::int64_t i) const {
    const auto k = static_cast<std::size_t>(i);
    if (which == 6) return pot_[k];
    return which < 3 ? acc_[3 * k + static_cast<std::size_t>(which)]
                     : jerk_[3 * k + static_cast<std::size_t>(which - 3)];
  }

 private:
  static void require(int result) {
    if (result != 0) throw Error(ErrorKind::numerics, "bench: g6: the library reported an error");
  }
  static double (*at(std::vector<double>& values, std::size_t k))[3] {
    return reinterpret_cast<double(*)[3]>(&values[3 * k]);
  }
  int n_;
  double time_ = 0;
  std::vector<double> x_, v_, acc_, jerk_, pot_;
  std::vector<int> index_;
};

/// The direct solver by itself, for comparison with the library.
void measure_solver_alone(const BenchTask& task, const Particles& particles, const SolverOptions& options) {
  const std::int64_t n = particles.size();
  BenchSystem<double> system(task.device, particles);
  const auto solver = make_solver<double>(options, task.device);
  const auto once = [&] {
    solver->prepare(system.sources);
    solver->evaluate({nullptr, n, n}, want_all, system.forces);
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(0.3, 2, once);
  task.report({"g6/direct-solver", options.precision, n, seconds,
               static_cast<double>(n) * static_cast<double>(n) / seconds, "interactions/s",
               instructions_per_pair(task.device, want_all, options.precision)});
}

/// The sweep is one force on every particle; the block repeats a call with few i-particles, where latency decides.
void measure_g6(const BenchTask& task, std::int64_t n) {
  const auto particles = bench_particles(n, task.device.threads());
  SolverOptions options;
  options.softening = Softening::same(kirin_softening);
  measure_solver_alone(task, particles, options);
  LibraryClient client(task.device, particles);
  const int count = static_cast<int>(n);

  client.forces(0, count);
  const double seconds = fastest(0.3, 2, [&] { client.forces(0, count); });
  const auto places = sample_places(n, compared_particles);
  check_against_double("g6/sweep", options, particles, want_all, places, [&](int which, std::int64_t k) {
    return client.result(which, places[static_cast<std::size_t>(k)]);
  });
  task.report({"g6/sweep", options.precision, n, seconds, static_cast<double>(n) * static_cast<double>(n) / seconds,
               "interactions/s", instructions_per_pair(task.device, want_all, options.precision)});

  const int block = std::min(small_block, count);
  const double block_seconds = fastest(0.2, 20, [&] { client.forces(0, block); });
  task.report({fmt::format("g6/block/{}", block), options.precision, n, block_seconds, 1 / block_seconds, "blocks/s"});
}

}  // namespace

void bench_g6(const BenchTask& task) {
  std::vector<std::int64_t> sizes{4096, 16384};
  if (task.device.is_cuda()) sizes = {65536, 1048576};
  if (task.full && !task.device.is_cuda()) sizes.push_back(65536);
  if (task.n > 0) sizes = {task.n};
  for (const std::int64_t n : sizes) measure_g6(task, n);
}

}  // namespace pergola::app

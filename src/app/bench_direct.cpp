#include <fmt/core.h>

#include "analysis/force_audit.hpp"
#include "app/bench.hpp"

namespace pergola::app {

namespace {

struct DirectCase {
  const char* name;
  unsigned want;
};
constexpr DirectCase cases[] = {{"direct/acc", want_acceleration},
                                {"direct/acc+pot", want_acceleration | want_potential},
                                {"direct/acc+jerk+pot", want_acceleration | want_jerk | want_potential}};
constexpr double softening = 0.01;
constexpr std::int64_t sample = 64;

/// All pairs of n particles through the seam that a run uses: prepare() and evaluate().
template <class Real>
void measure(const BenchTask& task, const DirectCase& which, const SolverOptions& options, const Particles& particles) {
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

  const auto places = sample_places(n, sample);
  std::vector<std::vector<Real>> results;
  for (int k = 0; k < 7; ++k) results.push_back(system.result(k));
  check_against_double(which.name, options, particles, which.want, places, [&](int row, std::int64_t k) {
    return static_cast<double>(
        results[static_cast<std::size_t>(row)][static_cast<std::size_t>(places[static_cast<std::size_t>(k)])]);
  });
  const double rate = static_cast<double>(n) * static_cast<double>(n) / seconds;
  task.report({"", which.name, "", options.precision, n, seconds, rate, "interactions/s",
               instructions_per_pair(task.device, which.want, options.precision), std::nullopt});
}

/// Without --full a CPU is done within 40 s.
std::vector<std::int64_t> sizes(const BenchTask& task) {
  if (task.n > 0) return {task.n};
  if (task.device.is_cuda())
    return task.full ? std::vector<std::int64_t>{4096, 16384, 65536, 262144, 1048576, 4194304}
                     : std::vector<std::int64_t>{16384, 65536, 262144, 1048576};
  return task.full ? std::vector<std::int64_t>{1024, 4096, 16384, 65536, 131072}
                   : std::vector<std::int64_t>{1024, 4096, 16384};
}

}  // namespace

void bench_direct(const BenchTask& task) {
  for (std::int64_t n : sizes(task)) {
    const auto particles = bench_particles(n, task.device.threads());
    for (const auto& which : cases)
      for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
        SolverOptions options;
        options.softening = Softening::same(softening);
        options.precision = precision;
        if (precision == Precision::single)
          measure<float>(task, which, options, particles);
        else
          measure<double>(task, which, options, particles);
      }
  }
}

}  // namespace pergola::app

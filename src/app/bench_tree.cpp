#include <fmt/core.h>

#include <string>
#include <vector>

#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "base/error.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola::app {

namespace {

constexpr double softening = 0.01;
constexpr std::int64_t sample = 2000;

/// A double-precision direct sum on a sample that is large enough for a 99th percentile.
struct Reference {
  std::vector<std::int64_t> places;
  ForceResult forces;

  Reference(const Device& device, const Particles& particles) : places(sample_places(particles.size(), sample)) {
    SolverOptions options;
    options.solver = direct_entry().name;
    options.softening = Softening::same(softening);
    options.precision = Precision::double_;
    forces = evaluate_forces(*make_solver(options, device), device, particles, want_acceleration, places);
  }
};

/// One force evaluation of a Plummer model from particles in any order, through the seam that a run uses: keys, sort,
/// cells, moments, walk. Beside it the part before the walk.
template <class Real>
void measure(const BenchTask& task, const Particles& particles, const Reference& reference, double accuracy,
             Precision precision) {
  const std::int64_t n = particles.size();
  SolverOptions options;
  options.solver = tree_entry().name;
  options.softening = Softening::same(softening);
  options.precision = precision;
  options.tree.accuracy = accuracy;
  BenchSystem<Real> system(task.device, particles);
  const auto solver = make_solver<Real>(options, task.device);
  const auto prepare = [&] {
    solver->prepare(system.sources);
    task.device.synchronize();
  };
  const auto once = [&] {
    solver->prepare(system.sources);
    solver->evaluate({nullptr, n, n}, want_acceleration, system.forces);
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(0.5, 2, once), build = fastest(0.1, 2, prepare);

  const std::string name = fmt::format("tree/plummer/{}/{:.0e}", n, accuracy);
  const auto x = system.result(0), y = system.result(1), z = system.result(2);
  ForceResult found;
  for (std::int64_t place : reference.places) {
    const auto i = static_cast<std::size_t>(place);
    found.ax.push_back(x[i]), found.ay.push_back(y[i]), found.az.push_back(z[i]);
  }
  const auto errors = force_errors(found, reference.forces);
  if (!(errors.median <= accuracy && errors.p99 <= 6 * accuracy))
    throw Error(ErrorKind::numerics, fmt::format("bench: {}: force error median {:.2e}, p99 {:.2e}, expected at most "
                                                 "{:.0e} and {:.0e}",
                                                 name, errors.median, errors.p99, accuracy, 6 * accuracy));
  const auto rate = static_cast<double>(n);
  task.report({"", name, "", precision, n, seconds, rate / seconds, "particles/s", 0, std::nullopt, 0,
               BenchResult::Error{errors.median, errors.p99}});
  task.report({"", fmt::format("tree/build/{}/{:.0e}", n, accuracy), "", precision, n, build, rate / build,
               "particles/s", 0, std::nullopt});
}

std::vector<std::int64_t> sizes(const BenchTask& task) {
  if (task.n > 0) return {task.n};
  if (task.device.is_cuda())
    return task.full ? std::vector<std::int64_t>{1048576, 4194304, 16777216, 67108864}
                     : std::vector<std::int64_t>{1048576, 16777216};
  return task.full ? std::vector<std::int64_t>{100000, 1000000, 4000000} : std::vector<std::int64_t>{100000, 1000000};
}

}  // namespace

void bench_tree(const BenchTask& task) {
  for (std::int64_t n : sizes(task)) {
    const auto particles = bench_particles(n, task.device.threads());
    const Reference reference(task.device, particles);
    for (double accuracy : {3e-3, 1e-3, 3e-4, 1e-4}) {
      measure<float>(task, particles, reference, accuracy, Precision::single);
      if (accuracy == 1e-3) measure<double>(task, particles, reference, accuracy, Precision::mixed);
    }
  }
}

}  // namespace pergola::app

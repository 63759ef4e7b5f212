#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "app/bench_boxes.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"

namespace pergola::app {

namespace {

/// Ewald's sum for a sample of the particles.
struct Reference {
  std::vector<std::int64_t> places;
  ForceResult forces;
};

BenchResult::Error compare(const ForceResult& found, const ForceResult& exact) {
  const auto errors = force_errors(found, exact);
  double differences = 0, squares = 0;
  for (std::size_t i = 0; i < exact.ax.size(); ++i) {
    const double dx = found.ax[i] - exact.ax[i], dy = found.ay[i] - exact.ay[i], dz = found.az[i] - exact.az[i];
    differences += dx * dx + dy * dy + dz * dz;
    squares += exact.ax[i] * exact.ax[i] + exact.ay[i] * exact.ay[i] + exact.az[i] * exact.az[i];
  }
  return {errors.median, errors.p99, std::sqrt(differences / squares)};
}

/// One force evaluation of particles in any order, through the seam that a run uses: mesh, tree, walk.
template <class Real>
void measure(const BenchTask& task, const BoxCase& box, const Reference& reference, SolverOptions options,
             double accuracy, Precision precision) {
  const std::int64_t n = box.particles.size();
  options.tree.accuracy = accuracy, options.precision = precision;
  BenchSystem<Real> system(task.device, box.particles);
  // As a run's integrator does, which looks at the masses once.
  system.sources.mass_quantum = mass_quantum(task.device, system.sources.mass, n);
  const auto solver = make_solver<Real>(options, task.device);
  const auto once = [&] {
    solver->prepare(system.sources);
    solver->evaluate({nullptr, n, n}, want_acceleration, system.forces);
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(0.5, 1, once);
  const auto x = system.result(0), y = system.result(1), z = system.result(2);
  ForceResult found;
  for (const std::int64_t place : reference.places) {
    const auto i = static_cast<std::size_t>(place);
    found.ax.push_back(x[i]), found.ay.push_back(y[i]), found.az.push_back(z[i]);
  }
  const auto error = compare(found, reference.forces);
  const std::string name = fmt::format("treepm/{}/{}/{:.0e}", box.name, n, accuracy);
  // Whether the accuracy is kept is there to see; what is wrong by ten times that is no measurement.
  if (const double found_error = box.cancels ? error.rms : error.median; !(found_error <= 10 * accuracy))
    throw Error(ErrorKind::numerics, fmt::format("bench: {}: force error {:.2e}, expected about {:.0e} at most", name,
                                                 found_error, accuracy));
  task.report({"", name, "", precision, n, seconds, static_cast<double>(n) / seconds, "particles/s", 0, std::nullopt, 0,
               error});
}

void measure_all(const BenchTask& task, BoxCase box) {
  SolverOptions options;
  if (!task.sets.empty()) {
    auto sets = task.sets;
    sets.push_back("gravity.solver=" + treepm_entry().name);
    options = parse_force_config(sets).solver_options();
  }
  options.solver = treepm_entry().name;
  set_box(options, bench_cube);
  const auto soften = [&](std::int64_t n) {
    options.softening = Softening::same(1.0 / 30 / std::cbrt(static_cast<double>(n)));
  };
  const std::int64_t n = box.particles.size();
  soften(n);
  // The reference takes time in proportion to both; a GPU is done soon.
  const std::int64_t sample = task.sample > 0         ? task.sample
                              : task.device.is_cuda() ? 4000
                                                      : std::clamp<std::int64_t>((std::int64_t{1} << 26) / n, 100, 400);
  Reference reference{sample_places(n, sample), {}};
  reference.forces = ewald_sum(box.particles, reference.places, bench_cube, options.softening, 1, task.device);
  if (task.tiles > 1) {  // in a cube of side and mass 1 again, accelerations are those of one box over their number
    box = {box.name + "-tiled", tiled(box.particles, task.tiles)};
    for (auto* of : {&reference.forces.ax, &reference.forces.ay, &reference.forces.az})
      for (double& value : *of) value /= task.tiles;
    soften(box.particles.size());
  }
  if (!task.sets.empty()) {
    if (options.precision == Precision::single)
      return measure<float>(task, box, reference, options, options.tree.accuracy, options.precision);
    return measure<double>(task, box, reference, options, options.tree.accuracy, options.precision);
  }
  measure<float>(task, box, reference, options, 1e-2, Precision::single);
  if ((task.full || !task.file.empty() || !task.device.is_cuda()) && !box.cancels)
    for (const double accuracy : {5e-3, 4e-3})
      measure<float>(task, box, reference, options, accuracy, Precision::single);
  // Near a lattice the numbers of a float are not enough for more.
  if (!box.cancels) measure<float>(task, box, reference, options, 1e-3, Precision::single);
  measure<double>(task, box, reference, options, 1e-3, Precision::mixed);
  measure<double>(task, box, reference, options, 1e-4, Precision::mixed);
}

}  // namespace

void bench_treepm(const BenchTask& task) {
  if (!task.file.empty()) return measure_all(task, box_of_file(task.file));
  const std::int64_t per_side = task.device.is_cuda() ? 128 : 64;
  std::vector<std::int64_t> sizes{per_side * per_side * per_side};
  if (task.full) sizes.push_back(8 * sizes[0]);
  if (task.n > 0) sizes = {task.n};
  for (const std::int64_t n : sizes) {
    measure_all(task, clustered_box(n, task.device.threads()));
    measure_all(task, early_box(n, task.device.threads()));
  }
}

}  // namespace pergola::app

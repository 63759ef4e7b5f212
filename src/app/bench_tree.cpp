// Suites `tree`, `treepm`, `power` and `groups`: the tree on a Plummer model; the others on periodic boxes.
//
// A case of forces has an accuracy. Its errors are measured on a sample, against a direct sum or Ewald's sum, and a
// case with larger errors than its accuracy allows throws Error(numerics). Boxes are cubes of side 1 and mass 1 (G =
// 1): clustered, early (cosmological initial conditions), or a given snapshot. Rates are particles per second of wall
// clock for one evaluation or one analysis.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "analysis/groups.hpp"
#include "analysis/power_spectrum.hpp"
#include "app/bench.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "device/parallel.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"

namespace pergola::app {

namespace {

constexpr double bench_tree_softening = 0.01;
constexpr std::int64_t tree_sample = 2000;

/// A double-precision direct sum for a sample that is large enough for a 99th percentile.
struct TreeReference {
  std::vector<std::int64_t> places;
  ForceResult forces;

  TreeReference(const Device& device, const Particles& particles)
      : places(sample_places(particles.size(), tree_sample)) {
    SolverOptions options;
    options.solver = direct_entry().name;
    options.softening = Softening::same(bench_tree_softening);
    options.precision = Precision::double_;
    forces = evaluate_forces(*make_solver(options, device), device, particles, want_acceleration, places);
  }
};

/// One force evaluation of a Plummer model from particles in any order, through the same interface as a run: keys,
/// sort, cells, moments, walk; and the part before the walk alone.
template <class Real>
void measure_tree(const BenchTask& task, const Particles& particles, const TreeReference& reference, double accuracy,
                  Precision precision) {
  const std::int64_t n = particles.size();
  SolverOptions options;
  options.solver = tree_entry().name;
  options.softening = Softening::same(bench_tree_softening);
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
  task.report({name, precision, n, seconds, rate / seconds, "particles/s", 0, 0,
               BenchResult::Error{errors.median, errors.p99}});
  task.report({fmt::format("tree/build/{}/{:.0e}", n, accuracy), precision, n, build, rate / build, "particles/s"});
}

std::vector<std::int64_t> tree_sizes(const BenchTask& task) {
  if (task.n > 0) return {task.n};
  if (task.device.is_cuda())
    return task.full ? std::vector<std::int64_t>{1048576, 4194304, 16777216, 67108864}
                     : std::vector<std::int64_t>{1048576, 16777216};
  return task.full ? std::vector<std::int64_t>{100000, 1000000, 4000000} : std::vector<std::int64_t>{100000, 1000000};
}

}  // namespace

void bench_tree(const BenchTask& task) {
  for (std::int64_t n : tree_sizes(task)) {
    const auto particles = bench_particles(n, task.device.threads());
    const TreeReference reference(task.device, particles);
    for (double accuracy : {3e-3, 1e-3, 3e-4, 1e-4}) {
      measure_tree<float>(task, particles, reference, accuracy, Precision::single);
      if (accuracy == 1e-3) measure_tree<double>(task, particles, reference, accuracy, Precision::mixed);
    }
  }
}

namespace {

constexpr Box bench_cube{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};

/// Particles in the cube, with total mass 1. `cancels`: forces are small differences, so the rms of errors over that of
/// forces counts.
struct BoxCase {
  std::string name;
  Particles particles;
  bool cancels = false;
};

/// A float within the box: every precision starts from the same numbers.
double within(double x) { return static_cast<double>(static_cast<float>(x - std::floor(x)) * 0.999999f); }

/// A box like a late universe: a quarter of the particles uniform, the others in clumps of 800 on average, with masses
/// over three decades, ρ ∝ 1/(r (r + a)³), 200 times the mean density within 10 a.
BoxCase clustered_box(std::int64_t n, int threads) {
  Particles p;
  p.resize(n);
  const std::int64_t clumps = std::max<std::int64_t>(1, n / 800);
  const auto draw = [&](std::size_t i) {
    Philox random(12, 0, i);
    double at[3] = {random.uniform(), random.uniform(), random.uniform()};
    if (random.uniform() > 0.25) {
      // The clump at the fraction s of the list has a mass ∝ (1 − s)³, and is drawn in proportion to it.
      const double s = 1 - std::pow(random.uniform(), 1.0 / 4);
      const auto c = static_cast<std::int64_t>(s * static_cast<double>(clumps));
      const double part = 4 * std::pow(1 - s, 3) / static_cast<double>(clumps);
      const double a = 0.1 * std::cbrt(part / (200 * 4.18879));
      const double q = std::sqrt(0.8 * random.uniform()), r = a * q / (1 - q);
      const double cosine = 2 * random.uniform() - 1, angle = 6.283185307179586 * random.uniform();
      const double sine = std::sqrt(1 - cosine * cosine);
      Philox place(12, 1, static_cast<std::uint64_t>(c));
      at[0] = place.uniform() + r * sine * std::cos(angle);
      at[1] = place.uniform() + r * sine * std::sin(angle);
      at[2] = place.uniform() + r * cosine;
    }
    p.x[i] = within(at[0]), p.y[i] = within(at[1]), p.z[i] = within(at[2]);
    p.mass[i] = 1 / static_cast<double>(n);
    p.id[i] = i;
  };
  parallel_chunks(threads, n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) draw(static_cast<std::size_t>(i));
  });
  return {"clustered", std::move(p)};
}

/// The start of a cosmological run: a box of 50 Mpc/h at z = 63.
BoxCase early_box(std::int64_t n, int threads) {
  const auto per_side = std::max<std::int64_t>(2, std::lround(std::cbrt(static_cast<double>(n))));
  ModelOptions options;
  options.n = per_side * per_side * per_side;
  options.values = {{"box", 50.0}, {"redshift", 63.0}};
  options.gravitational_constant = find_unit_system("cosmology")->gravitational_constant;
  BoxCase box{"early", make_model("cosmology", options, threads), true};
  Particles& p = box.particles;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    p.x[i] = within(p.x[i] / 50), p.y[i] = within(p.y[i] / 50), p.z[i] = within(p.z[i] / 50);
    p.mass[i] = 1 / static_cast<double>(options.n);
  }
  return box;
}

/// The box repeated `tiles` times along each axis, as a cube of side and mass 1; the first copy comes first.
Particles tiled(const Particles& from, int tiles) {
  const std::size_t n = from.x.size(), t = static_cast<std::size_t>(tiles), copies = t * t * t;
  Particles p;
  p.resize(static_cast<std::int64_t>(n * copies));
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const std::size_t copy = i / n, k = i % n;
    const auto place = [&](double x, std::size_t of) { return within((x + static_cast<double>(of)) / tiles); };
    p.x[i] = place(from.x[k], copy % t), p.y[i] = place(from.y[k], copy / t % t);
    p.z[i] = place(from.z[k], copy / t / t);
    p.mass[i] = from.mass[k] / static_cast<double>(copies);
    p.id[i] = i;
  }
  return p;
}

/// A snapshot of a cube with periodic sides.
BoxCase box_of_file(const std::string& file) {
  Snapshot snapshot = read_snapshot(file);
  const double side = snapshot.header.box_size;
  if (!(side > 0))
    throw Error(ErrorKind::input, fmt::format("{}: expected a box with periodic sides, found none", file));
  Particles& p = snapshot.particles;
  const double mass = std::accumulate(p.mass.begin(), p.mass.end(), 0.0);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    p.x[i] = within(p.x[i] / side), p.y[i] = within(p.y[i] / side), p.z[i] = within(p.z[i] / side);
    p.mass[i] /= mass;
  }
  return {"file", std::move(p)};
}

/// Ewald's sum for a sample of the particles.
struct PeriodicReference {
  std::vector<std::int64_t> places;
  ForceResult forces;
};

/// Relative errors per particle (median, 99th percentile), and the rms difference over the rms acceleration.
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

/// One force evaluation of particles in any order, through the same interface as a run: mesh, tree, walk.
template <class Real>
void measure_treepm(const BenchTask& task, const BoxCase& box, const PeriodicReference& reference,
                    SolverOptions options, double accuracy, Precision precision) {
  const std::int64_t n = box.particles.size();
  options.tree.accuracy = accuracy, options.precision = precision;
  BenchSystem<Real> system(task.device, box.particles);
  // As the integrator of a run does once.
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
  // The error is reported; ten times the accuracy is no measurement.
  if (const double found_error = box.cancels ? error.rms : error.median; !(found_error <= 10 * accuracy))
    throw Error(ErrorKind::numerics, fmt::format("bench: {}: force error {:.2e}, expected about {:.0e} at most", name,
                                                 found_error, accuracy));
  task.report({name, precision, n, seconds, static_cast<double>(n) / seconds, "particles/s", 0, 0, error});
}

/// All cases of one box: the reference first, then single and mixed precision with falling error. With --set only that
/// configuration is measured.
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
  // The time of the reference is proportional to both.
  const std::int64_t sample = task.sample > 0         ? task.sample
                              : task.device.is_cuda() ? 4000
                                                      : std::clamp<std::int64_t>((std::int64_t{1} << 26) / n, 100, 400);
  PeriodicReference reference{sample_places(n, sample), {}};
  reference.forces = ewald_sum(box.particles, reference.places, bench_cube, options.softening, 1, task.device);
  if (task.tiles > 1) {  // in a cube of side and mass 1 again, accelerations are divided by the number of tiles
    box = {box.name + "-tiled", tiled(box.particles, task.tiles)};
    for (auto* of : {&reference.forces.ax, &reference.forces.ay, &reference.forces.az})
      for (double& value : *of) value /= task.tiles;
    soften(box.particles.size());
  }
  if (!task.sets.empty()) {
    if (options.precision == Precision::single)
      return measure_treepm<float>(task, box, reference, options, options.tree.accuracy, options.precision);
    return measure_treepm<double>(task, box, reference, options, options.tree.accuracy, options.precision);
  }
  measure_treepm<float>(task, box, reference, options, 1e-2, Precision::single);
  if ((task.full || !task.file.empty() || !task.device.is_cuda()) && !box.cancels)
    for (const double accuracy : {5e-3, 4e-3})
      measure_treepm<float>(task, box, reference, options, accuracy, Precision::single);
  // Near a lattice floats are not accurate enough.
  if (!box.cancels) measure_treepm<float>(task, box, reference, options, 1e-3, Precision::single);
  measure_treepm<double>(task, box, reference, options, 1e-3, Precision::mixed);
  measure_treepm<double>(task, box, reference, options, 1e-4, Precision::mixed);
}

}  // namespace

/// A given file alone, or a clustered and an early box of each size.
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

namespace {

/// The box of the file, if there is one, else a clustered one with `per_side` particles per side.
BoxCase box_for(const BenchTask& task, std::int64_t per_side) {
  if (task.file.empty())
    return clustered_box(task.n > 0 ? task.n : per_side * per_side * per_side, task.device.threads());
  BoxCase box = box_of_file(task.file);
  if (task.tiles > 1) box = {box.name + "-tiled", tiled(box.particles, task.tiles)};
  return box;
}

void report_particles(const BenchTask& task, const std::string& name, std::int64_t n, double seconds) {
  task.report({name, Precision::double_, n, seconds, static_cast<double>(n) / seconds, "particles/s"});
}

}  // namespace

/// The analysis alone: particles are on the device, as in a run, and nothing is written.
void bench_power(const BenchTask& task) {
  constexpr int folds = 3;
  const BoxCase box = box_for(task, task.device.is_cuda() ? 512 : 64);
  const std::int64_t n = box.particles.size();
  const int cells = usual_power_cells(n);
  const auto shown = show_particles(task.device, box.particles);
  PowerSpectrum found;
  const auto once = [&] { found = power_spectrum(*shown, bench_cube, cells, folds); };
  once();
  const double seconds = fastest(0.5, 2, once);
  // On the smallest scales of a box of points there is at least about their own noise.
  if (const double last = found.bins.back().power; !(last > 0.5 * found.shot_noise))
    throw Error(ErrorKind::numerics, fmt::format("bench: power: {:.2e} at the largest wave number, expected more than "
                                                 "half the shot noise, {:.2e}",
                                                 last, found.shot_noise));
  report_particles(task, fmt::format("power/{}/{}", box.name, n), n, seconds);
}

/// The analysis alone: particles are on the host, as from a file or a run.
void bench_groups(const BenchTask& task) {
  BoxCase box = box_for(task, task.device.is_cuda() ? 256 : 64);
  AnalysisSnapshot snapshot;
  snapshot.name = box.name;
  snapshot.box = bench_cube;
  snapshot.matter_part = 0.3;
  snapshot.particles = std::move(box.particles);
  const std::int64_t n = snapshot.particles.size();
  std::vector<GroupProperties> groups;
  const auto once = [&] {
    const FoundGroups found(snapshot, AnalysisOptions{}, task.device);
    groups = found.properties(snapshot, 0, found.count());
  };
  once();
  const double seconds = fastest(0.5, 2, once);
  if (groups.empty()) throw Error(ErrorKind::numerics, "bench: groups: expected some, found none");
  report_particles(task, fmt::format("groups/{}/{}", box.name, n), n, seconds);
}

}  // namespace pergola::app

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/unit_systems.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"

namespace pergola::app {

namespace {

constexpr Box cube{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};

/// Particles in the cube. `cancels`: forces are small differences, and what counts is the rms of
/// their errors over that of the forces.
struct BoxCase {
  std::string name;
  Particles particles;
  bool cancels = false;
};

/// Numbers that are floats, within the box: every precision starts from the same ones.
double within(double x) { return static_cast<double>(static_cast<float>(x - std::floor(x)) * 0.999999f); }

/// A box like a late universe: a quarter of the particles anywhere, the others in clumps of 800 on average, with masses
/// over three decades, ρ ∝ 1/(r (r + a)³), 200 times denser than the mean within 10 a.
BoxCase clustered_box(std::int64_t n) {
  Particles p;
  p.resize(n);
  const std::int64_t clumps = std::max<std::int64_t>(1, n / 800);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    Philox random(12, 0, i);
    double at[3] = {random.uniform(), random.uniform(), random.uniform()};
    if (random.uniform() > 0.25) {
      // The clump at the part s of their list has a mass ∝ (1 − s)³, and is drawn in proportion to it.
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
  }
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

/// The box `tiles` times along each axis, as a cube of side and mass 1; the first copy comes first.
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
  options.solver = treepm_entry().name;
  set_box(options, cube);
  const auto soften = [&](std::int64_t n) {
    options.softening = Softening::same(1.0 / 30 / std::cbrt(static_cast<double>(n)));
  };
  const std::int64_t n = box.particles.size();
  soften(n);
  // The reference takes time in proportion to both.
  Reference reference{sample_places(n, std::clamp<std::int64_t>((std::int64_t{1} << 26) / n, 100, 400)), {}};
  reference.forces = ewald_sum(box.particles, reference.places, cube, options.softening, 1, task.device.threads());
  if (task.tiles > 1) {  // in a cube of side and mass 1 again, accelerations are those of one box over their number
    box = {box.name + "-tiled", tiled(box.particles, task.tiles)};
    for (auto* of : {&reference.forces.ax, &reference.forces.ay, &reference.forces.az})
      for (double& value : *of) value /= task.tiles;
    soften(box.particles.size());
  }
  measure<float>(task, box, reference, options, 1e-2, Precision::single);
  if ((task.full || !task.file.empty()) && !box.cancels)
    measure<float>(task, box, reference, options, 4e-3, Precision::single);
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
    measure_all(task, clustered_box(n));
    measure_all(task, early_box(n, task.device.threads()));
  }
}

}  // namespace pergola::app

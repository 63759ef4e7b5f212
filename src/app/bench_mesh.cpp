// Suite `mesh`: whole steps of the mesh solver, Poisson solvers alone, and the pair of transforms that bounds them.
//
// Each case states the least number of bytes it must move; bench.cpp compares that with the measured copy rate. Checks:
// energy and momentum of the steps, the residual of ∇²φ = 4π(ρ − mean), and that a pair of transforms restores its
// values. All meshes are periodic unit boxes in single precision, with G = 1. Rates are particle steps/s or cells/s.
#include <fftw3.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <type_traits>

#include "analysis/energy.hpp"
#include "app/bench.hpp"
#include "base/error.hpp"
#include "base/profile.hpp"
#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "device/parallel.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "mesh/poisson.hpp"
#include "models/model.hpp"
#include "models/sampling.hpp"
#include "physics/mesh_stencils.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double residual_tolerance = 1e-5;

/// Least traffic in single precision. A transform along three axes is two passes over the mesh, planes and lines, each
/// of which reads and writes it: four for the pair.
constexpr double pair_bytes = 4 * 2 * sizeof(float);
/// A step: for every particle position and velocity read and written and mass read; for every cell density written, the
/// pair, potential read, three components of the force written, and read by the particles.
constexpr double particle_bytes = (6 + 6 + 1) * sizeof(float);
constexpr double cell_bytes = pair_bytes + (1 + 1 + 3 + 3) * sizeof(float);

/// `count` particles or cells in `seconds`, each with at least `bytes` of traffic (0: not known).
BenchResult result_of(const std::string& name, std::int64_t count, double seconds, const char* unit, double bytes) {
  return {name, Precision::single, count, seconds, static_cast<double>(count) / seconds, unit, 0, bytes};
}

std::int64_t cube_of(int n) { return std::int64_t{n} * n * n; }

/// The distribution of particles in the periodic unit box; a particle crosses 0.1 to 0.2 cells in a step.
enum class Filling { uniform, disc, one_cell };

/// 90 % of the particles in 1 % of the volume: an exponential disc of 1/64 of the box's height that rotates with about
/// its circular speed. It is wrapped into the box.
Particles clustered_disc(std::int64_t n, int threads) {
  constexpr double height = 1.0 / 64, ninety_percent = 3.8897;  // in scale lengths, of an exponential disc
  const double scale = std::sqrt(0.01 / (pi * height)) / ninety_percent;
  Particles particles = equal_masses(n, 1);
  draw_particles(particles, 1, threads, [=](Philox& random) {
    // The mass within x scale lengths, 1 − (1 + x) e^−x, is that of a product of two uniform numbers.
    const double x = -std::log(random.uniform() * random.uniform()), radius = scale * x;
    const double angle = 2 * pi * random.uniform();
    const double speed = std::sqrt((1 - (1 + x) * std::exp(-x)) / radius);
    const auto wrapped = [](double value) { return value - std::floor(value); };
    return PhaseSpacePoint{{wrapped(0.5 + radius * std::cos(angle)), wrapped(0.5 + radius * std::sin(angle)),
                            0.5 + height * (random.uniform() - 0.5)},
                           {-speed * std::sin(angle), speed * std::cos(angle), 0.1 * (random.uniform() - 0.5)}};
  });
  return particles;
}

/// Particles for a case; of `one_cell` all are in one cell, the worst case for adding mass to the mesh.
Particles filled(Filling filling, std::int64_t n, int cells, int threads) {
  if (filling == Filling::disc) return clustered_disc(n, threads);
  ModelOptions options;
  options.n = n;
  options.values["speed"] = 1.0;
  if (filling == Filling::one_cell) {
    // Light enough that all stay in the cell.
    options.values["side"] = 1.0 / cells;
    options.values["speed"] = 0.0;
    options.values["mass"] = 1e-12;
  }
  return make_model("cube", options, threads);
}

struct StepCase {
  std::string name;
  Filling filling = Filling::uniform;
  Poisson poisson = Poisson::fft;
  int cells = 0;
  std::int64_t n = 0;
};

/// Checks momentum and energy after `elapsed` time against the start; `mass`: total.
void check_conservation(const StepCase& which, double mass, double step, double elapsed, const Energies& before,
                        const Energies& after) {
  const auto refuse = [&](const char* what, double found, double allowed) {
    throw Error(ErrorKind::numerics, fmt::format("bench: {}: {} changed by {:.1e}, expected below {:.1e}", which.name,
                                                 what, found, allowed));
  };
  const Vec3<double> change = after.momentum - before.momentum;
  const double drift = std::sqrt(dot(change, change)), scale = mass / (which.cells * step);
  if (!(drift <= 1e-5 * scale)) refuse("the momentum", drift, 1e-5 * scale);
  // The disc is thinner than a cell of small meshes.
  const double error = std::abs(after.total() - before.total());
  const double allowed =
      (which.filling == Filling::disc ? 0.05 : 1e-3) * std::max(1.0, elapsed) * (before.kinetic - before.potential);
  if (!(error <= allowed)) refuse("the energy", error, allowed);
}

/// Seconds that the profile has counted for sorting so far.
double sort_seconds(const Profile& profile) {
  for (const auto& stage : profile.stages())
    if (stage.name == "sort") return stage.seconds;
  return 0;
}

/// Seconds per step: the median over steps (on a GPU, over batches of steps) without the sorting of particles, whose
/// mean is added.
double time_steps(Integrator& integrator, const Profile& profile, double budget) {
  const auto begin = Clock::now();
  const auto since_begin = [&] { return seconds_since(begin); };
  const auto first = integrator.counts().steps;
  const double sorted_before = sort_seconds(profile);
  std::vector<double> each;
  double clock = 0, sorted = sorted_before;
  std::int64_t steps = first;
  integrator.advance(1e9, [&] {
    const double now = since_begin(), sorted_now = sort_seconds(profile);
    const std::int64_t steps_now = integrator.counts().steps;
    each.push_back((now - clock - (sorted_now - sorted)) / static_cast<double>(steps_now - steps));
    clock = now, sorted = sorted_now, steps = steps_now;
    return now > budget && each.size() >= 8;
  });
  const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
  std::nth_element(each.begin(), middle, each.end());
  return *middle + (sorted - sorted_before) / static_cast<double>(steps - first);
}

/// Whole steps as in `run`, with profile and sorting, after the particles have settled.
void measure_steps(const BenchTask& task, const StepCase& which) {
  const bool gpu = task.device.is_cuda();
  SolverOptions gravity;
  gravity.solver = mesh_entry().name;
  gravity.precision = Precision::single;
  gravity.mesh.cells = {which.cells, which.cells, which.cells};
  gravity.mesh.poisson = which.poisson;
  gravity.mesh.multigrid.tolerance = residual_tolerance;
  gravity.mesh.box.side = {1, 1, 1};
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = 0.12 / which.cells;  // velocities are about 1
  const auto particles = filled(which.filling, which.n, which.cells, task.device.threads());
  Profile profile;
  const auto integrator = make_integrator(time, gravity, {task.device, serial_communicator(), &profile});
  const auto energies = [&] {
    const auto state = integrator->state_at(integrator->time());
    return measure_energies(state, task.device, gravity, integrator->idle_solver());
  };
  integrator->start(particles, 0);
  const auto before = energies();
  integrator->advance(time.step * (gpu ? 40 : 4), nullptr);
  const double seconds = time_steps(*integrator, profile, gpu || task.n > 0 ? 0.5 : 3.0);
  check_conservation(which, static_cast<double>(which.n) * particles.mass[0], time.step, integrator->time(), before,
                     energies());
  const double cells_per_particle = static_cast<double>(cube_of(which.cells)) / static_cast<double>(which.n);
  task.report(result_of(which.name, which.n, seconds, "particle steps/s",
                        which.poisson == Poisson::fft ? particle_bytes + cell_bytes * cells_per_particle : 0));
}

/// ‖r‖ / (‖f‖ + ‖A‖ ‖φ‖) of ∇²φ = f = 4π(ρ − mean) with the seven-point Laplacian on a periodic mesh of the unit box.
double relative_residual(int n, const Field<const float>& density, const Field<const float>& potential, int threads) {
  struct Sums {
    double mass = 0, residual = 0, source = 0, potential = 0;
  };
  std::vector<Sums> planes(static_cast<std::size_t>(n));
  const double weight = static_cast<double>(n) * n;
  const physics::PoissonStencil<double> stencil{weight, weight, weight};
  double mean = 0;
  const auto plane = [&](std::int64_t z, bool solved) {
    auto& sums = planes[static_cast<std::size_t>(z)];
    const int iz = static_cast<int>(z), below = (iz + n - 1) % n, above = (iz + 1) % n;
    const auto at = [&](int ix, int iy, int k) {
      return static_cast<double>(potential.data[potential.index(ix, iy, k)]);
    };
    for (int iy = 0; iy < n; ++iy)
      for (int ix = 0; ix < n; ++ix) {
        const double rho = density.data[density.index(ix, iy, iz)];
        sums.mass += rho;
        if (!solved) continue;
        const double value = at(ix, iy, iz), source = 4 * pi * (rho - mean);
        const double around =
            stencil.neighbours(at((ix + n - 1) % n, iy, iz), at((ix + 1) % n, iy, iz), at(ix, (iy + n - 1) % n, iz),
                               at(ix, (iy + 1) % n, iz), at(ix, iy, below), at(ix, iy, above));
        const double residual = stencil.residual(value, around, source, stencil.diagonal(0, 0, 0));
        sums.residual += residual * residual, sums.source += source * source, sums.potential += value * value;
      }
  };
  parallel_for(threads, n, [&](std::int64_t z) { plane(z, false); });
  for (const auto& sums : planes) mean += sums.mass / std::pow(n, 3);
  parallel_for(threads, n, [&](std::int64_t z) { plane(z, true); });
  Sums all;
  for (const auto& s : planes) all.residual += s.residual, all.source += s.source, all.potential += s.potential;
  return std::sqrt(all.residual) / (std::sqrt(all.source) + stencil.norm() * std::sqrt(all.potential));
}

/// Noise in [0, 2), the same on every machine: one stream of random numbers per plane.
std::vector<float> random_density(const Field<float>& layout, int threads) {
  std::vector<float> values(static_cast<std::size_t>(layout.size()));
  parallel_for(threads, layout.nz, [&](std::int64_t z) {
    Philox random(1, 0, static_cast<std::uint64_t>(z));
    for (int iy = 0; iy < layout.ny; ++iy)
      for (int ix = 0; ix < layout.nx; ++ix)
        values[static_cast<std::size_t>(layout.index(ix, iy, static_cast<int>(z)))] =
            static_cast<float>(2 * random.uniform());
  });
  return values;
}

/// One solution of Poisson's equation for noise in a periodic box, as in a step.
void measure_poisson(const BenchTask& task, Poisson method, int n) {
  const std::string name = fmt::format("mesh/poisson/{}/{}", poisson_names[static_cast<std::size_t>(method)], n);
  const Grid grid{3, {n, n, n}, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic}};
  MultigridOptions multigrid;
  multigrid.tolerance = residual_tolerance;
  const auto solver = method == Poisson::fft ? make_poisson_fft<float>(task.device, grid, {})
                                             : make_poisson_multigrid<float>(task.device, grid, multigrid);
  Field<float> field = solver->layout();
  const auto density = random_density(field, task.device.threads());
  const Buffer<float> given(task.device, density);
  Buffer<float> values(task.device, field.size());
  Buffer<std::byte> scratch(task.device, solver->scratch_bytes());
  field.data = values.data();
  double best = INFINITY;
  const auto once = [&] {
    task.device.memory().copy(values.data(), given.data(), values.bytes());
    task.device.synchronize();
    best = std::min(best, fastest(0, 1, [&] {
                      solver->solve(field, 4 * pi, scratch.data());
                      task.device.synchronize();
                    }));
  };
  once();
  best = INFINITY;
  fastest(task.device.is_cuda() || task.n > 0 ? 0.3 : 1.0, 3, once);
  const auto potential = values.to_host();
  auto rho = field.read_only(), phi = field.read_only();
  rho.data = density.data(), phi.data = potential.data();
  const double residual = relative_residual(n, rho, phi, task.device.threads());
  // The solver measures its residual in single precision.
  if (!(residual < 1.5 * residual_tolerance))
    throw Error(ErrorKind::numerics, fmt::format("bench: {}: relative residual {:.1e}, expected below {:.1e}", name,
                                                 residual, 1.5 * residual_tolerance));
  task.report(result_of(name, cube_of(n), best, "cells/s", method == Poisson::fft ? pair_bytes : 0));
}

/// The pair of transforms alone: the floor for any solver that uses them.
void measure_pair(const BenchTask& task, int n) {
  const double seconds = fft_pair_seconds(task.device, n, task.device.is_cuda() ? 0.3 : 1.0);
  task.report(result_of(fmt::format("mesh/fft-pair/{}", n), cube_of(n), seconds, "cells/s", pair_bytes));
}

/// As many particles as cells; without --full a CPU takes at most 40 s.
std::vector<int> sides(const BenchTask& task) {
  if (task.n > 0) return {nearest_mesh_size(static_cast<int>(std::lround(std::cbrt(static_cast<double>(task.n)))))};
  if (task.device.is_cuda()) return task.full ? std::vector<int>{128, 256, 512} : std::vector<int>{128, 256};
  return task.full ? std::vector<int>{128, 256} : std::vector<int>{128};
}

}  // namespace

/// For each side: the transforms, then solvers and steps by FFT, then by multigrid.
void bench_mesh(const BenchTask& task) {
  for (const int cells : sides(task)) {
    const std::int64_t n = task.n > 0 ? task.n : cube_of(cells);
    measure_pair(task, cells);
    measure_poisson(task, Poisson::fft, cells);
    measure_steps(task, {fmt::format("mesh/step/cic/fft/{}", cells), Filling::uniform, Poisson::fft, cells, n});
    measure_steps(task, {fmt::format("mesh/step-disc/cic/fft/{}", cells), Filling::disc, Poisson::fft, cells, n});
    measure_steps(task, {fmt::format("mesh/one-cell/cic/fft/{}", cells), Filling::one_cell, Poisson::fft, cells, n});
    measure_poisson(task, Poisson::multigrid, cells);
    measure_steps(task,
                  {fmt::format("mesh/step/cic/multigrid/{}", cells), Filling::uniform, Poisson::multigrid, cells, n});
  }
}

namespace {

struct DestroyPlan {
  void operator()(fftwf_plan plan) const { fftwf_destroy_plan(plan); }
};
using Plan = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, DestroyPlan>;
struct FreeMemory {
  void operator()(float* memory) const { fftwf_free(memory); }
};

/// FFTW on all threads. FFTW_MEASURE overwrites its arrays: the values are copied in after planning.
double fft_pair_seconds_cpu(const Device& device, int n, double budget) {
  static std::once_flag once;
  std::call_once(once, [] { fftwf_init_threads(); });
  fftwf_plan_with_nthreads(device.threads());
  const auto given = fft_pair_values(n);
  const std::unique_ptr<float, FreeMemory> memory(fftwf_alloc_real(given.size()));
  if (!memory) throw Error(ErrorKind::device, fmt::format("bench: no memory for a transform of {}^3 values", n));
  float* values = memory.get();
  auto* modes = reinterpret_cast<fftwf_complex*>(values);
  const Plan forward(fftwf_plan_dft_r2c_3d(n, n, n, values, modes, FFTW_MEASURE));
  const Plan back(fftwf_plan_dft_c2r_3d(n, n, n, modes, values, FFTW_MEASURE));
  // The plans of the mesh solver are for one thread and without measuring: reset both.
  fftwf_plan_with_nthreads(1);
  fftwf_forget_wisdom();
  const auto pair = [&] {
    fftwf_execute(forward.get());
    fftwf_execute(back.get());
  };
  std::copy(given.begin(), given.end(), values);
  pair();
  check_fft_pair(n, std::vector<float>(values, values + given.size()));
  std::fill(values, values + given.size(), 0.0f);  // a pair multiplies by n³, and these stay finite
  return fastest(budget, 3, pair);
}

}  // namespace

std::vector<float> fft_pair_values(int n) {
  std::vector<float> values(static_cast<std::size_t>(fft_pair_row(n)) * static_cast<std::size_t>(n) *
                            static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<float>((k * 2654435761u >> 8) % 1024) / 1024 - 0.5f;
  return values;
}

void check_fft_pair(int n, const std::vector<float>& back) {
  const auto given = fft_pair_values(n);
  const auto row = static_cast<std::size_t>(fft_pair_row(n));
  const double modes = std::pow(n, 3);
  double worst = 0;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (k % row < static_cast<std::size_t>(n))
      worst = std::max(worst, std::abs(static_cast<double>(back[k]) / modes - static_cast<double>(given[k])));
  if (!(worst < 1e-4))
    throw Error(ErrorKind::numerics,
                fmt::format("bench: mesh/fft-pair/{}: values come back with an error of {:.1e}", n, worst));
}

double fft_pair_seconds(const Device& device, int n, double budget) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return fft_pair_seconds_cuda(device, n, budget);
  }
  return fft_pair_seconds_cpu(device, n, budget);
}

}  // namespace pergola::app

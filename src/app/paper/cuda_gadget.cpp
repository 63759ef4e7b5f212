// The experiment of cuda-gadget, section 5.2 and figure 8: a galaxy of halo, bulge and disc with the tree, the same
// steps on the CPU and on the GPU, how long a step takes and how far apart the two runs end.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/paper/session.hpp"
#include "base/stopwatch.hpp"
#include "base/units.hpp"
#include "models/model.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

constexpr int encounter_steps = 8;
constexpr double encounter_step = 0.001;  // kpc/(km/s), about a million years
constexpr double accuracy = 1e-3, median_bar = 1e-5;

/// A run's end and its median seconds per step.
struct Run {
  Particles end;
  double step_seconds = unknown;
};

std::optional<Run> run_steps(const PaperSession& session, const Device& device, const Particles& particles,
                             const SolverOptions& gravity) {
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = encounter_step;
  const auto integrator = make_integrator(time, gravity, {device, session.context().communicator, nullptr});
  integrator->start(particles, 0);
  device.synchronize();
  std::vector<double> seconds;
  for (int k = 0; k < encounter_steps && !interrupted; ++k) {
    const auto begin = Clock::now();
    integrator->advance((k + 1.25) * encounter_step, nullptr);
    device.synchronize();
    seconds.push_back(seconds_since(begin));
  }
  if (interrupted) return std::nullopt;
  std::nth_element(seconds.begin(), seconds.begin() + encounter_steps / 2, seconds.end());
  return Run{integrator->state_at(encounter_steps * encounter_step), seconds[encounter_steps / 2]};
}

/// Relative differences of the accelerations on two devices: their median and the 99th percentile.
struct Difference {
  double median = 0, p99 = 0;
};

Difference compare_forces(const Device& cpu, const Device& gpu, const Particles& particles,
                          const SolverOptions& gravity) {
  const auto forces = [&](const Device& device) {
    const auto solver = make_solver(gravity, device);
    return evaluate_forces(*solver, device, particles, want_acceleration);
  };
  const auto a = forces(cpu), b = forces(gpu);
  std::vector<double> differences(a.ax.size());
  for (std::size_t i = 0; i < differences.size(); ++i)
    differences[i] =
        std::hypot(a.ax[i] - b.ax[i], a.ay[i] - b.ay[i], a.az[i] - b.az[i]) / std::hypot(a.ax[i], a.ay[i], a.az[i]);
  std::sort(differences.begin(), differences.end());
  const auto last = static_cast<double>(differences.size() - 1);
  return {differences[static_cast<std::size_t>(0.5 * last)], differences[static_cast<std::size_t>(0.99 * last)]};
}

struct Displacement {
  double mean = 0, largest = 0;
  double displaced = 0;  // farther than a softening length
};

Displacement compare_places(const Particles& a, const Particles& b, double softening) {
  Displacement found;
  for (std::size_t i = 0; i < a.id.size(); ++i) {
    const double d = std::hypot(a.x[i] - b.x[i], a.y[i] - b.y[i], a.z[i] - b.z[i]);
    found.mean += d / static_cast<double>(a.id.size());
    found.largest = std::max(found.largest, d);
    found.displaced += d > softening;
  }
  return found;
}

std::optional<std::vector<double>> measure_encounter(const PaperSession& session, PaperTable& table, std::int64_t n) {
  const Device& device = session.device();
  const Device cpu = device.is_cuda() ? Device::open("cpu", session.context().threads) : device;
  ModelOptions options;
  options.n = n;
  SolverOptions gravity;
  gravity.solver = "tree";
  gravity.tree.accuracy = accuracy;
  gravity.gravitational_constant = options.gravitational_constant = gadget_units().gravitational_constant;
  const double softening = model_softening("m81", options)[2];
  gravity.softening = Softening::same(softening);
  const Particles start = make_model("m81", options, cpu.threads());
  const auto on_cpu = run_steps(session, cpu, start, gravity);
  if (!on_cpu) return std::nullopt;
  std::vector<double> row{on_cpu->step_seconds, unknown, unknown, unknown, unknown, unknown, unknown, unknown};
  if (!device.is_cuda()) return row;
  const auto on_gpu = run_steps(session, device, start, gravity);
  if (!on_gpu) return std::nullopt;
  Difference forces;
  for (const Particles* state : {&start, &on_gpu->end}) {
    const auto found = compare_forces(cpu, device, *state, gravity);
    forces = {std::max(forces.median, found.median), std::max(forces.p99, found.p99)};
  }
  const auto places = compare_places(on_cpu->end, on_gpu->end, softening);
  add_paper_check(table, n, "median difference of the forces", forces.median, median_bar);
  add_paper_check(table, n, "99th percentile of it", forces.p99, accuracy);
  add_paper_check(table, n, "largest displacement (kpc), against the softening,", places.largest, softening);
  return std::vector<double>{on_cpu->step_seconds,
                             on_gpu->step_seconds,
                             on_cpu->step_seconds / on_gpu->step_seconds,
                             places.mean,
                             places.largest,
                             places.displaced,
                             forces.median,
                             forces.p99};
}

}  // namespace

void add_paper_check(PaperTable& table, std::int64_t n, const std::string& name, double measured, double tolerance) {
  const bool passed = measured <= tolerance;
  table.notes.push_back(fmt::format("Check, N = {}: {} {:.2g}, at most {:.2g}: {}", n, name, measured, tolerance,
                                    passed ? "passed" : "FAILED"));
  table.details["checks"].push_back({{"name", name},
                                     {"n", n},
                                     {"measured", measured},
                                     {"expected", 0},
                                     {"tolerance", tolerance},
                                     {"passed", passed}});
}

PaperTable run_cuda_gadget(const PaperSession& session, const std::string& name) {
  PaperTable table = load_table("cuda-gadget", name);
  const auto& options = session.options();
  if (options.max_n > 0) {  // this number, and no other
    const std::vector<double> nothing(table.published.size(), unknown);
    const auto published = table.published_rows.find(options.max_n);
    table.published_rows = {{options.max_n, published != table.published_rows.end() ? published->second : nothing}};
  }
  const bool gpu = session.device().is_cuda();
  const int threads = gpu ? Device::open("cpu", session.context().threads).threads() : session.device().threads();
  table.ours = {fmt::format("Pergola on cpu, {} threads (s/step)", threads)};
  table.details["checks"] = nlohmann::json::array();
  if (!gpu) table.notes.push_back("No GPU in this run: its columns and the comparison with it are left out.");
  if (name == "cosmology") return run_cuda_gadget_cosmology(session, std::move(table));
  table.ours.insert(table.ours.end(), {"on one GPU (s/step)", "cpu/GPU", "mean displacement (kpc)", "largest (kpc)",
                                       "displaced", "median difference of forces", "p99"});
  session.run_sizes(table, {1, 1.1}, [&](std::int64_t n) { return measure_encounter(session, table, n); });
  return table;
}

}  // namespace pergola::app

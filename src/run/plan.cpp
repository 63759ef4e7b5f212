#include "run/plan.hpp"
#include "base/stopwatch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "models/model_source.hpp"
#include "outputs/output.hpp"
#include "sim/simulation.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

constexpr std::int64_t trial_particles = 1024;
constexpr double trial_seconds = 0.5;
/// Up to so many particles of a file, or of a run with the tree, the trial is the run itself: how they cluster decides.
constexpr std::int64_t whole_trial_particles = 65536;
constexpr double whole_trial_seconds = 3;
constexpr std::int64_t rate_sources = 16384, rate_targets = 2048;
constexpr int mesh_trial_cells = 64;
constexpr std::int64_t mesh_trial_particles = 131072, tree_trial_particles = 65536;

/// Particle and block steps of Hermite per time unit of a Plummer model with 1024 particles, η = 0.02.
constexpr double plummer_particle_steps = 165, plummer_block_steps = 2900, plummer_eta = 0.02;

/// Steps per unit of time.
struct Pace {
  double particle_steps = 0;  // per particle
  double steps = 0;
  double seconds_per_step = 0;  // beyond the pairs
};

struct Count {
  std::int64_t n = 0;
  double start_time = 0;
};

Count count_particles(const RunConfig& config) {
  if (config.particles.file.empty())
    return {model_count(find_model(config.particles.model), config.particles.options.n), 0};
  const auto summary = inspect_snapshot(config.particles.file);
  Count count{0, summary.header.time};
  for (const std::int64_t species : summary.counts) count.n += species;
  return count;
}

/// Particles on the host, each with id, species and eight reals: a piece on its way to the device and what waits to be
/// written; and all of them where a box is found from the whole, or the model knows no pieces.
double host_bytes_of(const RunConfig& config, std::int64_t n) {
  constexpr double each = sizeof(std::uint64_t) + sizeof(std::uint8_t) + 8 * sizeof(double), piece = 1 << 22;
  const bool whole = solver_entry(config.gravity.solver).box != nullptr ||
                     (config.particles.file.empty() && !can_be_made_in_pieces(config.particles.model));
  const double all = static_cast<double>(n) * each;
  const double waiting = std::min(all, static_cast<double>(most_bytes_waiting()));
  return waiting + (whole ? all : std::min(all, piece * each));
}

/// Pairs per second of a force evaluation of the kind that the integrator asks for.
double measure_rate(const RunConfig& config, const Device& device, std::int64_t n) {
  const std::int64_t sources = std::clamp<std::int64_t>(n, 2, rate_sources);
  ModelOptions options;
  options.n = sources;
  const Particles particles = make_model("plummer", options, device.threads());
  auto gravity = config.solver_options();
  gravity.softening = Softening::same(0.01);
  const auto solver = make_solver(gravity, device);
  std::vector<std::int64_t> targets(static_cast<std::size_t>(std::min(sources, rate_targets)));
  for (std::size_t t = 0; t < targets.size(); ++t) targets[t] = static_cast<std::int64_t>(t);
  const bool jerk = integrator_entry(config.time.integrator).needs_with(config.time, gravity).jerk;
  double best = 1e300;
  const auto begin = Clock::now();
  for (int trial = 0; trial < 5 && seconds_since(begin) < trial_seconds; ++trial) {
    const auto result =
        evaluate_forces(*solver, device, particles, want_acceleration | (jerk ? unsigned{want_jerk} : 0u), targets);
    best = std::min(best, result.evaluate_seconds);
  }
  return static_cast<double>(targets.size()) * static_cast<double>(sources) / std::max(best, 1e-9);
}

/// Runs the configuration with n particles for some seconds.
Pace measure_pace(RunConfig config, std::int64_t n, double rate, double longest) {
  if (config.particles.file.empty()) config.particles.options.n = n;
  Simulation trial(config);
  const auto begin = Clock::now();
  trial.advance(config.run.end_time, [&] { return seconds_since(begin) > longest; });
  const double seconds = seconds_since(begin), time = std::max(trial.step_time() - trial.start_time(), 1e-300);
  const auto counts = trial.counts();
  Pace pace;
  pace.particle_steps = static_cast<double>(counts.particle_steps) / static_cast<double>(n) / time;
  pace.steps = static_cast<double>(counts.steps) / time;
  pace.seconds_per_step = std::max(0.0, seconds - (rate > 0 ? static_cast<double>(counts.interactions) / rate : 0)) /
                          std::max(1.0, static_cast<double>(counts.steps));
  return pace;
}

/// Seconds of one step where the particles that ask decide: measured with at most tree_trial_particles, and in
/// proportion beyond.
double measure_target_step(const RunConfig& config, const Device& device, std::int64_t n, RunPlan& plan) {
  const std::int64_t trial = std::min(n, tree_trial_particles);
  ModelOptions options;
  options.n = trial;
  const auto particles = make_model("plummer", options, device.threads());
  auto gravity = config.solver_options();
  gravity.external.clear();
  const auto solver = make_solver(gravity, device);
  double best = 1e300;
  for (int k = 0; k < 2; ++k) {
    const auto result = evaluate_forces(*solver, device, particles, want_acceleration);
    best = std::min(best, result.prepare_seconds + result.evaluate_seconds);
  }
  plan.rate_basis = fmt::format("measured with the forces of {} particles on {}", trial, device.spec());
  return best * static_cast<double>(n) / static_cast<double>(trial);
}

/// Seconds of one step on a mesh: measured with few and with more random particles on at most mesh_trial_cells per
/// side, taken as a part for the cells and a part for the particles.
double measure_cell_step(const RunConfig& config, const Device& device, std::int64_t n, RunPlan& plan) {
  double shrink = 1;
  auto gravity = solver_entry(config.gravity.solver).trial(config.solver_options(), mesh_trial_cells, shrink);
  set_box(gravity, {{-0.25, -0.25, -0.25}, {1, 1, 1}, box_of(gravity).boundary});
  TimeOptions time = config.time;
  time.adaptive = false;
  time.steps = "shared";
  time.step = 1e-6;
  const auto measure = [&](std::int64_t count) {
    ModelOptions options;
    options.n = count;
    options.values["side"] = 0.5;
    const Particles particles = make_model("cube", options, device.threads());
    const auto integrator = make_integrator(time, gravity, {device, serial_communicator(), nullptr});
    integrator->start(particles, 0);
    integrator->advance(2 * time.step, nullptr);
    const auto begin = Clock::now();
    const auto before = integrator->counts().steps;
    integrator->advance(1, [&] { return seconds_since(begin) > trial_seconds; });
    return seconds_since(begin) / static_cast<double>(integrator->counts().steps - before);
  };
  const std::int64_t few = std::min<std::int64_t>(n, 1024), more = std::min<std::int64_t>(n, mesh_trial_particles);
  const double with_few = measure(few);
  const double per_particle =
      more > few ? std::max(0.0, measure(more) - with_few) / static_cast<double>(more - few) : 0;
  plan.rate_basis = fmt::format("measured with up to {} random particles on {} x {} x {} cells on {}", more,
                                gravity.mesh.cells[0], gravity.mesh.cells[1], gravity.mesh.cells[2], device.spec());
  return shrink * with_few + static_cast<double>(n - few) * per_particle;
}

Pace scaled(Pace pace, const StepGrowth& growth, double factor) {
  pace.particle_steps *= std::pow(factor, growth.particle_steps);
  pace.steps *= std::pow(factor, growth.steps);
  return pace;
}

/// What the integrator has to say about a step that was given, from the start of a small trial. A mesh is not small.
void warn_of_step(RunConfig config, const Count& count, RunPlan& plan) {
  if (solver_entry(config.gravity.solver).cost == StepCost::cells) return;
  if (!config.particles.file.empty() && count.n > trial_particles) return;
  if (config.particles.file.empty()) config.particles.options.n = std::min(count.n, trial_particles);
  const std::string remark = Simulation(config).remark();
  if (!remark.empty()) plan.warnings.push_back(remark);
}

/// Whether a trial takes the run's own particles, all of them.
bool whole_trial(const RunConfig& config, std::int64_t n) {
  if (n <= trial_particles) return true;
  const bool clusters = solver_entry(config.gravity.solver).cost == StepCost::targets || !config.particles.file.empty();
  return clusters && solver_entry(config.gravity.solver).cost != StepCost::cells && n <= whole_trial_particles;
}

Pace estimate_pace(const RunConfig& config, const Count& count, RunPlan& plan) {
  const IntegratorEntry& entry = integrator_entry(config.time.integrator);
  if (const double step = entry.step_of(config.time); step > 0) {
    plan.steps_basis = "exact: a fixed step";
    warn_of_step(config, count, plan);
    Pace pace{1 / step, 1 / step, 0};
    if (solver_entry(config.gravity.solver).cost == StepCost::targets && whole_trial(config, count.n))
      pace.seconds_per_step = measure_pace(config, count.n, 0, trial_seconds).seconds_per_step;
    return pace;
  }
  if (whole_trial(config, count.n)) {
    plan.steps_basis = "measured in a trial from the start";
    const double longest = count.n <= trial_particles ? trial_seconds : whole_trial_seconds;
    return measure_pace(config, count.n, plan.interactions_per_second, longest);
  }
  if (config.particles.file.empty()) {
    const Pace pace = measure_pace(config, trial_particles, plan.interactions_per_second, trial_seconds);
    plan.steps_basis = fmt::format("measured in a trial with {} particles and scaled to {}", trial_particles, count.n);
    return scaled(pace, entry.growth, static_cast<double>(count.n) / static_cast<double>(trial_particles));
  }
  plan.steps_basis = "assumed: as in a Plummer model in N-body units";
  const double eta_factor = std::sqrt(plummer_eta / config.time.eta);
  return scaled({plummer_particle_steps * eta_factor, plummer_block_steps * eta_factor, 0}, hermite_entry().growth,
                static_cast<double>(count.n) / 1024);
}

}  // namespace

RunPlan plan_run(const RunConfig& config) {
  if (config.is_plasma()) return plan_plasma(config);
  config.check();
  config.require_particles();
  const Count count = count_particles(config);
  const Device device = Device::open(config.run.device, config.run.threads);
  RunPlan plan;
  plan.n = count.n;
  plan.device = device.spec();
  plan.device_name = device.name();
  const auto integrator =
      make_integrator(config.time, config.solver_options(), {device, serial_communicator(), nullptr});
  plan.device_bytes = static_cast<double>(integrator->device_bytes(count.n));
  plan.host_bytes = host_bytes_of(config, count.n);
  plan.device_free_bytes = static_cast<double>(device.memory().free_bytes());
  plan.host_free_bytes = static_cast<double>(Device::open("cpu").memory().free_bytes());
  plan.fits = device.is_cuda() ? plan.device_bytes <= plan.device_free_bytes && plan.host_bytes <= plan.host_free_bytes
                               : plan.device_bytes + plan.host_bytes <= plan.host_free_bytes;

  const StepCost cost = solver_entry(config.gravity.solver).cost;
  if (cost == StepCost::pairs) {
    plan.interactions_per_second = measure_rate(config, device, count.n);
    plan.rate_basis =
        fmt::format("measured with a force evaluation of up to {} particles on {}", rate_sources, device.spec());
  }
  Pace pace = estimate_pace(config, count, plan);
  if (cost == StepCost::cells) pace.seconds_per_step = measure_cell_step(config, device, count.n, plan);
  // The walk takes the time of the particles that ask.
  const double asking = pace.steps > 0 ? pace.particle_steps / pace.steps : 0;
  if (cost == StepCost::targets) {
    if (pace.seconds_per_step > 0 && whole_trial(config, count.n))
      plan.rate_basis = fmt::format("measured in the same trial on {}", device.spec());
    else
      pace.seconds_per_step = asking * measure_target_step(config, device, count.n, plan);
  }
  const double time = std::max(0.0, config.run.end_time - count.start_time), n = static_cast<double>(count.n);
  plan.steps = std::ceil(pace.steps * time);
  plan.particle_steps = pace.particle_steps * time * n;
  plan.seconds = plan.steps * pace.seconds_per_step;
  if (cost != StepCost::pairs) return plan;
  plan.interactions = plan.particle_steps * n * config.time.corrector_iterations;
  plan.seconds += plan.interactions / plan.interactions_per_second;
  return plan;
}

}  // namespace pergola

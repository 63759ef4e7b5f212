#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "device/device.hpp"
#include "plasma/tiles.hpp"
#include "run/plan_parts.hpp"
#include "run/rank_report.hpp"
#include "sim/plasma_preflight.hpp"
#include "sim/plasma_system.hpp"

// The plan of a plasma. Its steps are fixed, so their number is exact; a trial measures what one takes. The trial is
// the run itself if that is small enough, else the same plasma in a smaller box: cells and particles shrink alike as
// far as possible, so that a particle's step takes about as long. All costs then grow with the number of particles.
namespace pergola {

namespace {

/// The largest number of particles that are made and started within some seconds.
constexpr double most_particles_cpu = 4194304, most_particles_gpu = 67108864;
/// Particles of a trial that has to be smaller than the run: enough to keep the device busy.
constexpr double small_particles_cpu = 262144, small_particles_gpu = 4194304;
constexpr int fewest_trial_cells = 8;
/// Typical particle steps per second of a core and of a GPU, and a range for a guess.
constexpr double rate_core = 2e7, rate_gpu = 5e9, plasma_guess_factor = 10;

/// The same plasma in a smaller box, for a trial: axes are halved in turn until it has few enough particles.
RunConfig smaller(RunConfig config, double particles, double most) {
  auto& plasma = config.plasma;
  for (bool halved = true; halved && particles > most;) {
    halved = false;
    for (int& cells : plasma.cells)
      if (particles > most && cells >= 2 * fewest_trial_cells && cells % 4 == 0)
        cells /= 2, particles /= 2, halved = true;
  }
  for (auto& species : plasma.species) {
    species.profile = {};  // may not fit into that box
    species.particles_per_cell = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(species.particles_per_cell) * std::min(1.0, most / particles)));
  }
  plasma.background = true;
  return config;
}

/// Measures steps and outputs of a trial, and adds them to the plan, scaled to all particles.
void try_plasma(RunPlan& plan, const RunConfig& config, const Device& device, const PlasmaMemory& memory) {
  const Clock::time_point begin = Clock::now();
  const double free = trial_memory * memory.host_free_bytes, device_free = trial_memory * memory.device_free_bytes;
  const bool whole = memory.particles <= (device.is_cuda() ? most_particles_gpu : most_particles_cpu) &&
                     (device.is_cuda() ? memory.device_bytes <= device_free && memory.host_bytes <= free
                                       : memory.device_bytes + memory.host_bytes <= free);
  const RunConfig trial_config =
      whole ? config : smaller(config, memory.particles, device.is_cuda() ? small_particles_gpu : small_particles_cpu);
  const CostClock start;
  PlasmaSystem trial(trial_config);
  PartCosts costs;
  costs.start = start.passed();
  const auto left = [&] { return longest_trial_seconds - seconds_since(begin); };
  const TrialSteps steps = try_steps(trial, trial_config, std::clamp(left() - 0.5, 0.1, longest_fixed_steps_seconds));
  const TrialOutputs outputs = try_outputs(trial, config, left() - 1);
  const double more = memory.particles / static_cast<double>(trial.size());
  costs.start = more * costs.start;
  costs.start += Cost{opening_seconds(device), opening_seconds(device)};
  const StepFit::Parts fit = steps.fit.parts();
  const double seconds = plan.steps * fit.per_step * more + plan.particle_steps * fit.per_particle_step;
  costs.steps = (seconds / std::max(device.is_cuda() ? steps.cost.wall : steps.cost.processor, 1e-12)) * steps.cost;
  costs.energy = more * outputs.energy, costs.spectrum = more * outputs.spectrum;
  costs.snapshot = more * outputs.snapshot, costs.checkpoint = more * outputs.checkpoint;
  add_parts(plan, config, costs, config.run.end_time);
  plan.tried.push_back(fmt::format("{} of {:.0f} particles, {} of {:.0f} steps in {:.1f} s",
                                   whole ? "all" : std::to_string(trial.size()), memory.particles, steps.counts.steps,
                                   plan.steps, steps.cost.wall));
  plan.tried.push_back(
      outputs.not_written.empty()
          ? "one energy line, one snapshot and one checkpoint, written to the folder for temporary files"
          : fmt::format("one energy line; no file: {}", outputs.not_written));
  if (!whole) plan.assumed.push_back("time grows with the number of particles: the trial had a smaller box");
  if (!steps.complete) plan.assumed.push_back("all steps take as long as those of the trial");
  plan.rate_basis = fmt::format("measured with {} of its particles on {}", trial.size(), device.spec());
  set_range(plan, whole ? 1.3 : 2);
  if (const double peak = most_resident_bytes(); whole && peak > 0) {
    plan.host_bytes = (device.is_cuda() ? peak : std::max(0.0, peak - plan.device_bytes)) + outputs.waiting_bytes;
    plan.tried.push_back("its memory, measured");
  } else {
    plan.assumed.push_back("memory from the sizes of all arrays");
  }
}

/// A plan without a trial, at typical rates. A start and a file are taken to last as long as ten steps.
void guess_plasma(RunPlan& plan, const RunConfig& config, const Device& device, const PlasmaMemory& memory) {
  const double rate = device.is_cuda() ? rate_gpu : rate_core * device.threads();
  const double step = memory.particles / rate, cores = device.is_cuda() ? 1 : device.threads();
  PartCosts costs;
  costs.start = {10 * step, 10 * step * cores};
  costs.steps = {plan.steps * step, plan.steps * step * cores};
  costs.energy = {step, step * cores};
  costs.snapshot = costs.checkpoint = {10 * step, 10 * step};
  add_parts(plan, config, costs, config.run.end_time);
  plan.rate_basis = fmt::format("assumed: {:.0e} particle steps a second", rate);
  plan.assumed.push_back(fmt::format("{:.0e} particle steps a second, a typical number; no trial was made", rate));
  set_range(plan, plasma_guess_factor);
}

}  // namespace

RunPlan plan_plasma(const RunConfig& config, const PlanOptions& options) {
  RunPlan plan;
  plan.warnings = check_plasma(config);
  const Device device = Device::open(config.run.device, config.run.threads);
  const PlasmaMemory memory = plasma_memory(config, device);
  plan.n = static_cast<std::int64_t>(std::min(memory.particles, 9e18));
  plan.device = device.spec();
  plan.device_name = device.name();
  plan.device_bytes = memory.device_bytes;
  plan.program_bytes = resident_bytes();
  plan.host_bytes = memory.host_bytes + plan.program_bytes;
  plan.device_free_bytes = memory.device_free_bytes;
  plan.host_free_bytes = memory.host_free_bytes;
  plan.fits = memory.fits;
  const auto whole = static_cast<double>(whole_plasma_steps(config));
  // If the end is no multiple of the step, a last and shorter step follows.
  const bool shorter = config.run.end_time - whole * config.time.step > 1e-9 * config.time.step;
  plan.steps = whole + (shorter ? 1 : 0);
  plan.steps_basis = "exact: a fixed step";
  plan.particle_steps = plan.steps * memory.particles;
  if (options.begins && options.trial) options.begins(fmt::format("a trial with {} particles", plan.n));
  if (options.trial)
    try_plasma(plan, config, device, memory);
  else
    guess_plasma(plan, config, device, memory);
  return plan;
}

}  // namespace pergola

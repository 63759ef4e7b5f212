#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "run/plan.hpp"
#include "sim/plasma_preflight.hpp"
#include "sim/plasma_simulation.hpp"

namespace pergola {

namespace {

constexpr double trial_seconds = 0.5;
/// Enough to keep the device busy.
constexpr double trial_particles_cpu = 262144, trial_particles_gpu = 4194304;
constexpr int fewest_trial_cells = 8;

/// The same plasma in a smaller box, for a trial: axes are halved in turn until it has few enough particles.
RunConfig trial_of(RunConfig config, double particles, double most) {
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
  config.run.end_time = 1e9 * config.time.step;
  config.output.spectrum_every = 0;
  return config;
}

}  // namespace

RunPlan plan_plasma(const RunConfig& config) {
  using Clock = std::chrono::steady_clock;
  RunPlan plan;
  plan.warnings = check_plasma(config);
  const Device device = Device::open(config.run.device, config.run.threads);
  const PlasmaMemory memory = plasma_memory(config, device);
  plan.n = static_cast<std::int64_t>(std::min(memory.particles, 9e18));
  plan.device = device.spec();
  plan.device_name = device.name();
  plan.device_bytes = memory.device_bytes;
  plan.host_bytes = memory.host_bytes;
  plan.device_free_bytes = memory.device_free_bytes;
  plan.host_free_bytes = memory.host_free_bytes;
  plan.fits = memory.fits;
  const auto whole = static_cast<double>(whole_plasma_steps(config));
  const bool shorter = config.run.end_time - whole * config.time.step > 1e-9 * config.time.step;
  plan.steps = whole + (shorter ? 1 : 0);
  plan.steps_basis = "exact: a fixed step";
  plan.particle_steps = plan.steps * memory.particles;

  PlasmaSimulation trial(
      trial_of(config, memory.particles, device.is_cuda() ? trial_particles_gpu : trial_particles_cpu));
  trial.advance(2 * config.time.step, nullptr);
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::int64_t before = trial.counts().steps;
  trial.advance(1e9 * config.time.step, [&] { return seconds() > trial_seconds; });
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, trial.counts().steps - before));
  const double each = seconds() / (steps * static_cast<double>(trial.size()));
  plan.seconds = plan.particle_steps * each;
  plan.rate_basis = fmt::format("measured with {} of its particles on {}", trial.size(), device.spec());
  return plan;
}

}  // namespace pergola

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "device/opening.hpp"
#include "plasma/tiles.hpp"
#include "run/plan_parts.hpp"
#include "run/process_memory.hpp"
#include "sim/plasma_preflight.hpp"
#include "sim/plasma_system.hpp"

namespace pergola {

namespace {

/// Particles that are made and started within some seconds.
constexpr double most_particles_cpu = 4194304, most_particles_gpu = 67108864;
/// Enough to keep the device busy, where a trial has to be smaller than the run.
constexpr double small_particles_cpu = 262144, small_particles_gpu = 4194304;
constexpr int fewest_trial_cells = 8;
/// Typical particle steps per second of a core and of a GPU, and a range for a guess.
constexpr double rate_core = 2e7, rate_gpu = 5e9, guess_factor = 10;

/// The same plasma in a smaller box, for a trial: axes are halved in turn until it has few enough particles. The last
/// axis, across which ranks share the box out, keeps a row of tiles for each.
RunConfig smaller(RunConfig config, double particles, double most, int ranks = 1) {
  auto& plasma = config.plasma;
  const int row = pergola::plasma::slab_unit(static_cast<int>(plasma.cells.size()));
  for (bool halved = true; halved && particles > most;) {
    halved = false;
    for (int& cells : plasma.cells) {
      const int fewest = &cells == &plasma.cells.back() && ranks > 1 ? ranks * row : fewest_trial_cells;
      if (particles > most && cells >= 2 * fewest && cells % 4 == 0) cells /= 2, particles /= 2, halved = true;
    }
  }
  for (auto& species : plasma.species) {
    species.profile = {};  // may not fit into that box
    species.particles_per_cell = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(species.particles_per_cell) * std::min(1.0, most / particles)));
  }
  plasma.background = true;
  return config;
}

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
  plan.stages = stages_of(steps);
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
  set_range(plan, guess_factor);
}

constexpr std::int64_t dry_steps = 2;
/// In a step of a GPU rank: counts of particles that leave and arrive, and messages of charge, field and particles.
constexpr int host_waits = 7;

DryRun dry_run(RunConfig config, int ranks) {
  config.run.device = "cpu", config.run.threads = 1;
  return count_traffic(ranks, dry_steps, 1, config.run.end_time, [&](std::shared_ptr<Communicator> rank) {
    return std::make_unique<PlasmaSystem>(config, nullptr, std::move(rank));
  });
}

SlabPlasma slabs_of(const RunConfig& config, bool on_gpus) {
  const PlasmaOptions options = config.plasma.options();
  return {.cells = options.cells,
          .dimensions = options.dimensions,
          .around = 2 * static_cast<int>(options.shape) - 3,
          .species = static_cast<int>(options.species.size()),
          .value_bytes = config.precision() == Precision::single ? 4 : 8,
          .on_gpus = on_gpus,
          .whole_field = on_gpus && plasma::has_whole_field(options)};
}

/// What GPUs send each other, in place of what the ranks of the samples do, who are CPUs; particles that leave a slab
/// are the same. How much longer CPUs work for being several says nothing of GPUs.
void set_gpu_traffic(RankPlan& found, RunShape& shape, const RunConfig& config, const std::vector<RunConfig>& samples) {
  const double largest = plasma::largest_slab_share(plasma::TileGrid(config.plasma.options()), found.ranks);
  shape.by_rule = plasma_traffic(slabs_of(config, true), largest, found.ranks, found.network.ranks_per_node);
  for (std::size_t k = 0; k < samples.size(); ++k) {
    DryRun& counted = found.counted[k];
    counted.added_work = 0;
    shape.of_counted.push_back(
        sum_of(plasma_traffic(slabs_of(samples[k], false), 1.0 / counted.ranks, counted.ranks, 1)));
  }
  shape.whole = false;
}

RankPlan plan_plasma_ranks(const RunConfig& config, const RunPlan& plan, const PlanOptions& options, int wanted,
                           const Device& device) {
  RankPlan found{.ranks = wanted, .network = options.network};
  found.one_rank_seconds = step_seconds(plan);
  found.device_bytes = plan.device_bytes, found.host_bytes = plan.host_bytes;
  RunShape shape{.n = static_cast<double>(plan.n), .whole = true, .stages = plan.stages};
  if (wanted > 1) {
    const PlasmaMemory memory = plasma_memory(config, device, wanted);
    found.device_bytes = memory.device_bytes, found.host_bytes = memory.host_bytes + plan.program_bytes;
    found.on_gpu = device.is_cuda();
    found.constant_bytes = bytes_beyond_share(found, plan, 1.0 / wanted);
    const auto all = static_cast<double>(plan.n);
    const int ranks = std::min(wanted, most_dry_ranks);
    const bool fits = ranks * plasma_memory(config, device, ranks).device_bytes <= trial_memory * plan.host_free_bytes;
    const bool complete = all <= small_particles_cpu && fits;
    shape.whole = complete && ranks == wanted;
    std::vector<RunConfig> samples{complete ? config : smaller(config, all, small_particles_cpu, ranks)};
    if (!shape.whole) samples.push_back(smaller(config, all, small_particles_cpu / 8, ranks));
    for (const RunConfig& sample : samples) found.counted.push_back(dry_run(sample, ranks));
    set_added_work(found.counted.front(), dry_run(samples.front(), 1));
    // Samples are even: their clocks would tell how unlike the cores are.
    found.counted.front().imbalance =
        wanted * plasma::largest_slab_share(plasma::TileGrid(config.plasma.options()), wanted);
    if (device.is_cuda()) {
      found.network.staging_bytes_per_second = staging_of(options, device, wanted);
      set_gpu_traffic(found, shape, config, samples);
      shape.host_waits_seconds = host_waits * host_wait_of(device);
    }
  }
  foretell_ranks(found, shape);
  return found;
}

}  // namespace

RunPlan plan_plasma(const RunConfig& config, const PlanOptions& options) {
  if (options.weak || options.rates)
    throw Error(ErrorKind::input, fmt::format("--{}: expected particles under gravity, found a run with [plasma]",
                                              options.weak ? "weak" : "rates"));
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
  const bool shorter = config.run.end_time - whole * config.time.step > 1e-9 * config.time.step;
  plan.steps = whole + (shorter ? 1 : 0);
  plan.steps_basis = "exact: a fixed step";
  plan.particle_steps = plan.steps * memory.particles;
  if (options.begins && options.trial) options.begins(fmt::format("a trial with {} particles", plan.n));
  if (options.trial)
    try_plasma(plan, config, device, memory);
  else
    guess_plasma(plan, config, device, memory);
  for (const int ranks : options.ranks) {
    if (options.begins) options.begins(fmt::format("what {} ranks send", ranks));
    plan.ranks.push_back(plan_plasma_ranks(config, plan, options, ranks, device));
  }
  return plan;
}

}  // namespace pergola

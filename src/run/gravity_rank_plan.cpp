#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gravity/solver_entry.hpp"
#include "run/plan_parts.hpp"
#include "run/plan_sample.hpp"
#include "sim/gravity_system.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

constexpr std::int64_t most_dry_particles = 1 << 18, fewest_dry_particles = 4096;
constexpr int most_dry_side = 256, fewest_dry_side = 8;
/// Shared steps are alike; of block steps some are of few particles.
constexpr std::int64_t dry_shared_steps = 2, dry_block_steps = 8;

/// The run with fewer particles.
struct Smaller {
  RunConfig config;
  std::int64_t n = 0;
};

/// At most `most` particles, and a mesh that has fewer cells by the same factor. A mesh that is chosen by the number of
/// particles shrinks by itself.
Smaller smaller_run(const RunConfig& config, std::int64_t n, std::int64_t most) {
  Smaller found{config, n};
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  for (int side = most_dry_side; solver.trial && side >= fewest_dry_side; side /= 2) {
    double fewer = 1;
    const SolverOptions mesh = solver.trial(config.gravity, side, fewer);
    if (fewer <= 1) continue;
    found.config.gravity = mesh;
    found.n = static_cast<std::int64_t>(std::llround(static_cast<double>(n) / fewer));
    if (found.n <= most) break;
  }
  found.n = std::max<std::int64_t>(1, std::min(found.n, most));
  return found;
}

bool fits(const Smaller& run, const Device& device, int ranks, double free) {
  return ranks * device_bytes_of(run.config, device, run.n, ranks) + host_bytes_of(run.config, run.n) <=
         trial_memory * free;
}

DryRun dry_run(const Smaller& run, int ranks) {
  RunConfig config = run.config;
  config.run.device = "cpu", config.run.threads = 1;
  const std::int64_t steps =
      integrator_entry(config.time.integrator).in_blocks(config.time) ? dry_block_steps : dry_shared_steps;
  const Sample sample = thinned(config, run.n, 1);
  return count_traffic(ranks, steps, config.run.end_time, [&](std::shared_ptr<Communicator> rank) {
    return std::make_unique<GravitySystem>(config, sample.particles, sample.time, std::move(rank));
  });
}

}  // namespace

RankPlan plan_gravity_ranks(const RunConfig& config, const RunPlan& plan, const PlanOptions& options,
                            double program_bytes) {
  RankPlan found{.ranks = options.ranks, .network = options.network};
  found.one_rank_seconds = step_seconds(plan);
  found.device_bytes = plan.device_bytes, found.host_bytes = plan.host_bytes;
  if (options.ranks == 1) {
    foretell_ranks(found, {});
    return found;
  }
  const Device device = Device::open(config.run.device, config.run.threads);
  const auto rank =
      make_integrator(config.time_options(), config.solver_options(), {device, lone_rank_of(options.ranks), nullptr});
  if (!rank->spread()) {
    found.spread = false;
    return found;
  }
  found.device_bytes = device_bytes_of(config, device, plan.n, options.ranks);
  found.host_bytes = program_bytes + host_bytes_of(config, plan.n, options.ranks);

  // A plain mesh is cheap, and each rank should have some of its planes in the sample too.
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  const bool mesh_is_shared = solver.cost != StepCost::cells ||
                              (box_of(config.gravity).periodic() && config.gravity.mesh.poisson == Poisson::fft);
  int ranks = std::min(options.ranks, mesh_is_shared ? most_dry_ranks : most_dry_whole_meshes);
  std::int64_t most = most_dry_particles;
  if (solver.can.smooths) most = std::max<std::int64_t>(most, 8LL * ranks * ranks * ranks);
  Smaller tried = plan.n <= most ? Smaller{config, plan.n} : smaller_run(config, plan.n, most);
  while (!fits(tried, device, ranks, plan.host_free_bytes) && (tried.n > fewest_dry_particles || ranks > 2)) {
    if (tried.n > fewest_dry_particles)
      tried = smaller_run(config, plan.n, tried.n / 8);
    else
      ranks /= 2;
  }
  const RunShape shape{static_cast<double>(plan.n), tried.n == plan.n && ranks == options.ranks, mesh_is_shared};
  found.counted.push_back(dry_run(tried, ranks));
  set_added_work(found.counted.front(), dry_run(tried, 1));
  if (!shape.whole)
    found.counted.push_back(dry_run(smaller_run(config, plan.n, std::max<std::int64_t>(1, tried.n / 8)), ranks));
  foretell_ranks(found, shape);
  return found;
}

}  // namespace pergola

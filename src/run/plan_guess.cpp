#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gravity/solver_entry.hpp"
#include "outputs/output.hpp"
#include "run/plan_parts.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

/// Particle and block steps of Hermite per time unit of a Plummer model with 1024 particles, η = 0.02.
constexpr double plummer_particle_steps = 165, plummer_block_steps = 2900, plummer_eta = 0.02, plummer_n = 1024;
/// Typical rates per second of one core and of a GPU: pairs, particles of a tree or a mesh, bytes of a file.
constexpr double pairs_core = 1e9, pairs_gpu = 5e11, targets_core = 5e5, targets_gpu = 2e8, mesh_core = 5e6,
                 mesh_gpu = 1e9, file_rate = 2e8;
constexpr double bytes_each = 73;       // of a particle in a file
constexpr double radii_seconds = 2e-6;  // a particle's share of a line of radii
constexpr double guess_factor = 10;

}  // namespace

void guess_gravity(RunPlan& plan, const RunConfig& config, const Device& device, double length) {
  const auto n = static_cast<double>(plan.n), cores = static_cast<double>(device.threads());
  const IntegratorEntry& integrator = integrator_entry(config.time.integrator);
  const StepCost cost = solver_entry(config.gravity.solver).cost;
  double per_particle = 0;
  if (const double step = integrator.step_of(config.time); step > 0) {
    plan.steps_basis = "exact: a fixed step";
    plan.steps = per_particle = std::ceil(length / step * (1 - 1e-12));
  } else {
    plan.steps_basis = "assumed: as in a Plummer model in N-body units";
    const double eta = std::sqrt(plummer_eta / config.time.eta), more = n / plummer_n;
    const bool blocks = integrator.in_blocks(config.time);
    per_particle = plummer_particle_steps * eta * std::pow(more, integrator.growth.particle_steps) * length;
    plan.steps =
        std::ceil(blocks ? plummer_block_steps * eta * std::pow(more, integrator.growth.steps) * length : per_particle);
    plan.assumed.push_back("steps as those of a Plummer model in N-body units");
  }
  plan.particle_steps = per_particle * n;
  const bool gpu = device.is_cuda(), pairs = cost == StepCost::pairs;
  const double rate = pairs                       ? (gpu ? pairs_gpu : pairs_core * cores)
                      : cost == StepCost::targets ? (gpu ? targets_gpu : targets_core * cores)
                                                  : (gpu ? mesh_gpu : mesh_core * cores);
  const double evaluation = (pairs ? n * n : n) / rate;
  const auto seconds = [&](double wall) { return Cost{wall, gpu ? wall : wall * cores}; };
  PartCosts costs;
  costs.start = seconds(2 * evaluation);
  costs.steps = seconds(per_particle * evaluation);
  costs.energy = seconds(evaluation);
  if (radii_interval(config) && !box_of(config.gravity).periodic() && !config.cosmology) {
    const double line = radii_seconds * std::min(n, static_cast<double>(most_particles_for_radii));
    costs.radii = {line, line};
  }
  const Cost file{bytes_each * n / file_rate, bytes_each * n / file_rate};
  costs.checkpoint = file;
  if (const auto most = static_cast<double>(config.output.particles_most); most > 0 && most < n) {
    costs.snapshot = (most / n) * file;
  } else {
    costs.snapshot = seconds(evaluation);
    costs.snapshot += file;
  }
  plan.rate_basis = fmt::format("assumed: {:.0e} {} a second", rate, pairs ? "pairs" : "particle steps");
  plan.assumed.push_back(fmt::format("{:.0e} {} and {:.0e} bytes of files a second, typical numbers; no trial was made",
                                     rate, pairs ? "pairs" : "particle steps", file_rate));
  add_parts(plan, config, costs, length);
  set_range(plan, guess_factor);
  if (!pairs) return;
  plan.interactions = plan.particle_steps * n * config.time.corrector_iterations;
  plan.interactions_per_second = rate;
}

}  // namespace pergola

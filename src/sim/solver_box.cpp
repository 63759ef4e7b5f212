#include "sim/solver_box.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

Box find_solver_box(const RunConfig& config, ParticleSource& particles, double stated_side) {
  const SolverEntry& entry = solver_entry(config.gravity.solver);
  if (!entry.find_box) return box_of(config.gravity);
  try {
    return entry.find_box(config.gravity, particles, stated_side);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", config.source, error.what()));
  }
}

bool box_is_for_all(const SolverOptions& options) {
  const SolverEntry& entry = solver_entry(options.solver);
  return entry.box && (entry.cost == StepCost::cells || box_of(options).periodic());
}

Box find_solver_box(const RunConfig& config, const Particles& particles, double stated_side) {
  HostParticles source(particles);
  return find_solver_box(config, source, stated_side);
}

}  // namespace pergola

#pragma once
#include <string>

#include "config/config.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Throws Error(input) where a shared step, of this key of the configuration, is too short to change the time of the
/// run: it would go on for ever. `start` is the run's; 0: no such step.
void check_shared_step(const RunConfig& config, double start, const char* key, double step);

/// An isolated mesh of which one cell, or little more, has half of the mass: what to say then; empty: nothing. One
/// particle far from all others makes the box as wide as that. `gravity`: with the box; asks for some thousand
/// particles.
std::string crowded_mesh_remark(const SolverOptions& gravity, ParticleSource& particles);

}  // namespace pergola

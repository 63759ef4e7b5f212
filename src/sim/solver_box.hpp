#pragma once
#include "config/config.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The box that the configured solver works in, with all that is left open found from the particles; open space where
/// it has none. `stated_side`: BoxSize of the file or the model's own; 0: none. Throws Error(input) that names the file
/// and the key when a periodic box has no side or the box does not hold the particles.
PERGOLA_API Box find_solver_box(const RunConfig& config, ParticleSource& particles, double stated_side);
PERGOLA_API Box find_solver_box(const RunConfig& config, const Particles& particles, double stated_side);

/// Whether all particles are looked at for that, so that they are best kept on the host until they are on the device.
bool box_is_for_all(const SolverOptions& options);

}  // namespace pergola

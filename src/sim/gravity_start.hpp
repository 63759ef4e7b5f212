#pragma once
#include <string>

#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "config/config.hpp"
#include "particles/particle_source.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// What is added to the particles' forces at comoving places in open space: what acts there is the contrast to the mean
/// density, which is the particles' density less a homogeneous one about the origin, and pushes outwards with
/// Ω_m H₀² x/2. Springel 2005, MNRAS 364, 1105, section 2.1; GADGET-2 does so too.
ExternalPotential homogeneous_background(const RunConfig& config);

/// Refuses particles without a scale factor, snapshots at redshifts before theirs, matter that is not that of the
/// universe of [cosmology] in a periodic box, and a box that the particles state (its side; 0: none) in open space.
/// `gravity`: with the box of the run.
void check_universe(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles,
                    double scale_factor, double stated_side);

/// Throws Error(input) where a shared step, of this key of the configuration, is too short to change the time of the
/// run: it would go on for ever. `start` is the run's; 0: no such step.
void check_shared_step(const RunConfig& config, double start, const char* key, double step);

/// An isolated mesh of which one cell, or little more, has half of the mass: what to say then; empty: nothing. One
/// particle far from all others makes the box as wide as that. `gravity`: with the box; asks for some thousand
/// particles.
std::string crowded_mesh_remark(const SolverOptions& gravity, ParticleSource& particles);

/// Starts the integrator with these particles, at its own time; whether they were made on its device
/// (particles/device_source.hpp), else they have been read. The making is the stage "initial conditions" of `profile`.
bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile);

/// The name of the device that they were made on, in a state; empty: none.
void put_made_on(StateSource& to, const std::string& device);
std::string get_made_on(StateInput& state);

}  // namespace pergola

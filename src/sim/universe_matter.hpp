#pragma once
#include "config/config.hpp"
#include "particles/particle_source.hpp"

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

}  // namespace pergola

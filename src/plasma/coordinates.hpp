#pragma once
#include <vector>

#include "plasma/particles.hpp"

namespace pergola {

/// The numbers of a macro-particle: places, then velocities. Some may be empty.
inline constexpr std::vector<double> PlasmaParticles::*plasma_coordinates[] = {
    &PlasmaParticles::x,  &PlasmaParticles::y,  &PlasmaParticles::z,
    &PlasmaParticles::vx, &PlasmaParticles::vy, &PlasmaParticles::vz};

}  // namespace pergola

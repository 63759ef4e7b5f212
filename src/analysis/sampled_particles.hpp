#pragma once
#include <cstdint>

#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// Masses, places and ids of at most `most` shown particles, on the host: all of them, or one out of each of `most`
/// stretches of the order of the input, the same ones every time. They are picked where the particles are; velocities
/// are not fetched.
Particles sample_of(const ShownParticles& shown, std::int64_t most);

}  // namespace pergola

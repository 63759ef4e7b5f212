#pragma once
/// Macro-particles on the host, as plain columns: for input, output and checkpoints. Steps work on tiles (tiles.hpp).
#include <cstdint>
#include <vector>

namespace pergola {

/// The macro-particles of one species on the host: positions in cells, 0 ≤ x < cells, velocities in cells ω_p. z is
/// empty in 2D, and vz if two velocities are kept. A particle is identified by its id, never by its place.
struct PlasmaParticles {
  std::vector<std::uint64_t> id;
  std::vector<double> x, y, z;
  std::vector<double> vx, vy, vz;

  std::int64_t size() const { return static_cast<std::int64_t>(id.size()); }
};

/// The coordinates of macro-particles: positions, then velocities. Some may be empty.
using PlasmaCoordinate = std::vector<double> PlasmaParticles::*;
inline constexpr PlasmaCoordinate plasma_coordinates[] = {&PlasmaParticles::x,  &PlasmaParticles::y,
                                                          &PlasmaParticles::z,  &PlasmaParticles::vx,
                                                          &PlasmaParticles::vy, &PlasmaParticles::vz};

}  // namespace pergola

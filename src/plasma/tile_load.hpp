#pragma once
// Particles of a species from the host into tiles and back.
#include <vector>

#include "plasma/particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

/// Puts the particles into the tiles of their places, in place of those that were there; the rank of a particle is its
/// place in the order of the ids. Returns the ids in that order. Throws Error(input), naming the particle, for what
/// cannot be loaded.
template <class Real>
std::vector<std::uint64_t> load_tiles(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                      const TileGrid& grid, const PlasmaParticles& from,
                                      std::vector<TileParticles<Real>>& tiles);

/// Positions and velocities by rank; `to` has the ids already.
template <class Real>
void unload_tiles(const Device& device, const PlasmaOptions& options, const TileGrid& grid,
                  const std::vector<TileParticles<Real>>& tiles, PlasmaParticles& to);

}  // namespace pergola::plasma

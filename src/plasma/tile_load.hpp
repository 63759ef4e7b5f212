#pragma once
// Particles of a species from the host into tiles and back.
#include <functional>
#include <vector>

#include "comm/communicator.hpp"
#include "plasma/particles.hpp"
#include "plasma/tile_slab.hpp"

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

/// Who has given which particles of a species: process r those from first[r] on, counted through all processes. The
/// rank of a particle, its number, is counted so too: those of a process stand in the order of their ids.
struct Stretches {
  std::vector<std::int64_t> first;  // and the end
  std::int64_t total() const { return first.back(); }
  int keeper(std::int64_t number) const;
};

/// The same two between processes, each of which gives a stretch of the particles and gets it back, and has the tiles
/// of its slab. Calls of all of them. Some particles at a time are on their way, so that messages stay small.
template <class Real>
std::vector<std::uint64_t> load_slab(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                     const TileGrid& grid, const TileSlab& slab, Communicator& ranks,
                                     const PlasmaParticles& from, Stretches& stretches,
                                     std::vector<TileParticles<Real>>& tiles);
/// `change` is applied to particles before they leave the process that has their tile: their id is their number.
template <class Real>
void unload_slab(const PlasmaOptions& options, const TileGrid& grid, const TileSlab& slab, Communicator& ranks,
                 const std::vector<TileParticles<Real>>& tiles, const Stretches& stretches,
                 const std::function<void(PlasmaParticles&)>& change, PlasmaParticles& to);

}  // namespace pergola::plasma

#pragma once
// The particles of a species that a process gives, and is given back, whoever has their tiles.
#include <functional>
#include <string>
#include <vector>

#include "plasma/tile_load.hpp"

namespace pergola::plasma {

struct GivenParticles {
  std::vector<std::uint64_t> id;  // ascending; of those that this process has given
  Stretches stretches;            // of several processes
  std::int64_t total = 0;         // given by all
};

/// Puts particles from the host into the tiles of their places, in place of those that were there. `ranks`: each has
/// the tiles of its slab, and all make the call; null: all tiles are here.
template <class Real>
GivenParticles load_given(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                          const TileSlab& slab, Communicator* ranks, const PlasmaParticles& from,
                          std::vector<TileParticles<Real>>& tiles);
/// The particles that this process has given. `change`, which may be null, is applied to each, by whoever has its tile.
template <class Real>
PlasmaParticles unload_given(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
                             Communicator* ranks, const std::vector<TileParticles<Real>>& tiles,
                             const GivenParticles& given, const std::function<void(PlasmaParticles&)>& change);

/// The first particle that could not be moved.
struct Lost {
  std::int64_t species = -1;  // none
  std::int64_t number = 0;
  double velocity[3] = {};
};
/// Says which particle could not be moved; empty where there is none. With ranks a call of all, of which the first that
/// has one speaks.
std::string name_lost(Communicator* ranks, const PlasmaOptions& options, const Lost& own,
                      const std::function<const GivenParticles&(std::size_t species)>& given);

}  // namespace pergola::plasma

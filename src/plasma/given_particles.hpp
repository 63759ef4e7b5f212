#pragma once
/// The particles of one species between the host and the tiles of a plasma.
///
/// A process gives its particles once (load_given) and gets the same ones back, in the order of their ids
/// (unload_given), whichever process has their tiles by then. On several processes the particles travel in pieces of
/// fixed size, so that messages stay small. A particle's number is its place in the order of the ids, counted through
/// all processes; tiles store that number and no id.
/// Always: positions become whole grains of a cell when they are loaded, and are unloaded without rounding.
#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "plasma/particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

/// Which numbers each process has given: process r those from first[r] to first[r + 1].
struct GivenRanges {
  std::vector<std::int64_t> first;
  std::int64_t total() const { return first.back(); }
  /// The process that has given the particle with this number.
  int owner(std::int64_t number) const;
};

/// What a process keeps of a load, to give the particles back.
struct GivenParticles {
  std::vector<std::uint64_t> id;  // of the particles that this process has given, ascending
  GivenRanges ranges;             // with several processes only
  std::int64_t total = 0;         // given by all
};

/// Replaces the particles in `tiles` by those of `from`. Throws Error(input), naming the particle, if one cannot be
/// loaded. `ranks`: each has the tiles of its slab, and the call is collective; null: all tiles are here.
template <class Real>
GivenParticles load_given(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                          const TileSlab& slab, Communicator* ranks, const PlasmaParticles& from,
                          std::vector<TileParticles<Real>>& tiles);
/// The particles that this process has given. `change` may be null; the process that has a particle's tile applies it
/// before the particle travels, and the ids that it then sees are numbers. `chosen`, with one process only: these
/// alone.
template <class Real>
PlasmaParticles unload_given(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
                             Communicator* ranks, const std::vector<TileParticles<Real>>& tiles,
                             const GivenParticles& given, const std::function<void(PlasmaParticles&)>& change,
                             const PlasmaChoice* chosen = nullptr);
/// The particles in `tiles`, tile by tile, with numbers for ids and velocities as they are stored. Several threads call
/// `use` at once.
template <class Real>
void for_tiles(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
               const std::vector<TileParticles<Real>>& tiles, const std::function<void(const PlasmaParticles&)>& use);

/// The first particle that could not be moved.
struct Lost {
  std::int64_t species = -1;  // none
  std::int64_t number = 0;
  double velocity[3] = {};
};
/// The error message for a particle that could not be moved; empty if there is none. With ranks the call is collective,
/// and the message names the particle of the first rank that has one.
std::string name_lost(Communicator* ranks, const PlasmaOptions& options, const Lost& own,
                      const std::function<const GivenParticles&(std::size_t species)>& given);

}  // namespace pergola::plasma

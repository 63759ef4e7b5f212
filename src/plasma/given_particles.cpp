#include "plasma/given_particles.hpp"

#include <fmt/core.h>

namespace pergola::plasma {

template <class Real>
GivenParticles load_given(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                          const TileSlab& slab, Communicator* ranks, const PlasmaParticles& from,
                          std::vector<TileParticles<Real>>& tiles) {
  const TileGrid grid(options);
  GivenParticles given;
  given.id = ranks ? load_slab(device, options, species, grid, slab, *ranks, from, given.stretches, tiles)
                   : load_tiles(device, options, species, grid, from, tiles);
  given.total = ranks ? given.stretches.total() : from.size();
  return given;
}

template <class Real>
PlasmaParticles unload_given(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
                             Communicator* ranks, const std::vector<TileParticles<Real>>& tiles,
                             const GivenParticles& given, const std::function<void(PlasmaParticles&)>& change) {
  const TileGrid grid(options);
  PlasmaParticles particles;
  particles.id = given.id;
  if (ranks) {
    unload_slab(options, grid, slab, *ranks, tiles, given.stretches, change, particles);
  } else {
    unload_tiles(device, options, grid, tiles, particles);
    if (change) change(particles);
  }
  return particles;
}

std::string name_lost(Communicator* ranks, const PlasmaOptions& options, const Lost& own,
                      const std::function<const GivenParticles&(std::size_t species)>& given) {
  Lost first = own;
  if (ranks) {
    std::vector<Lost> all(static_cast<std::size_t>(ranks->size()));
    all[static_cast<std::size_t>(ranks->rank())] = own;
    ranks->all_gather_in_place(all.data(), std::vector<std::size_t>(all.size(), sizeof(Lost)));
    for (const Lost& one : all)
      if (first = one; one.species >= 0) break;
  }
  if (first.species < 0) return {};
  const auto s = static_cast<std::size_t>(first.species);
  const GivenParticles& species = given(s);
  std::uint64_t id = 0;
  const int keeper = ranks ? species.stretches.keeper(first.number) : 0;
  const std::int64_t before = ranks ? species.stretches.first[static_cast<std::size_t>(keeper)] : 0;
  if (!ranks || ranks->rank() == keeper) id = species.id[static_cast<std::size_t>(first.number - before)];
  if (ranks) ranks->broadcast(&id, sizeof id, keeper);
  return fmt::format(
      "plasma: species {}: particle id {} has velocity ({}, {}, {}) cells omega_p, expected finite numbers",
      options.species[s].name, id, first.velocity[0], first.velocity[1], first.velocity[2]);
}

template GivenParticles load_given(const Device&, const PlasmaOptions&, const PlasmaSpecies&, const TileSlab&,
                                   Communicator*, const PlasmaParticles&, std::vector<TileParticles<float>>&);
template GivenParticles load_given(const Device&, const PlasmaOptions&, const PlasmaSpecies&, const TileSlab&,
                                   Communicator*, const PlasmaParticles&, std::vector<TileParticles<double>>&);
template PlasmaParticles unload_given(const Device&, const PlasmaOptions&, const TileSlab&, Communicator*,
                                      const std::vector<TileParticles<float>>&, const GivenParticles&,
                                      const std::function<void(PlasmaParticles&)>&);
template PlasmaParticles unload_given(const Device&, const PlasmaOptions&, const TileSlab&, Communicator*,
                                      const std::vector<TileParticles<double>>&, const GivenParticles&,
                                      const std::function<void(PlasmaParticles&)>&);

}  // namespace pergola::plasma

#include "plasma/tile_load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "device/parallel.hpp"
#include "plasma/host_particles.hpp"
#include "plasma/settled_particles.hpp"

namespace pergola::plasma {

/// Two passes over the host particles in the order of their ranks, in chunks: the first counts what each chunk has for
/// each tile, the second writes it there. The order in a tile is that of the ranks, however many chunks there are.
template <class Real>
std::vector<std::uint64_t> load_tiles(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                      const TileGrid& grid, const PlasmaParticles& from,
                                      std::vector<TileParticles<Real>>& tiles) {
  const std::int64_t count = from.size();
  if (count > std::int64_t{UINT32_MAX})
    throw Error(ErrorKind::input,
                fmt::format("plasma: species {}: {} particles, expected fewer than 2^32", species.name, count));
  const SettledParticles<Real> host{options, species, grid, from};
  const auto by_id = order_by_id(species.name, from.id);
  const auto at = [&](std::int64_t rank) -> std::size_t { return by_id.empty() ? rank : by_id[rank]; };

  const std::int64_t chunks = 2 * device.threads(), chunk = std::max<std::int64_t>((count + chunks - 1) / chunks, 1);
  std::vector<std::vector<std::int64_t>> next(chunks, std::vector<std::int64_t>(tiles.size()));
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& counts = next[begin / chunk];
    for (std::int64_t rank = begin; rank < end; ++rank) ++counts[host.settled(at(rank)).tile];
  });
  parallel_for(device.threads(), static_cast<std::int64_t>(tiles.size()), [&](std::int64_t tile) {
    std::int64_t held = 0;
    for (auto& counts : next) held += std::exchange(counts[tile], held);
    tiles[tile].clear();
    tiles[tile].reserve(device, held, options.dimensions, options.velocities);
    tiles[tile].set_count(held);
  });
  std::vector<std::uint64_t> id(from.id.size());
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& places = next[begin / chunk];
    for (std::int64_t rank = begin; rank < end; ++rank) {
      auto particle = host.settled(at(rank));
      particle.rank = static_cast<std::uint32_t>(rank);
      tiles[particle.tile].put(places[particle.tile]++, particle);
      id[rank] = from.id[at(rank)];
    }
  });
  return id;
}

template <class Real>
void unload_tiles(const Device& device, const PlasmaOptions& options, const TileGrid& grid,
                  const std::vector<TileParticles<Real>>& tiles, PlasmaParticles& to) {
  std::vector<double>* const place[] = {&to.x, &to.y, &to.z};
  std::vector<double>* const velocity[] = {&to.vx, &to.vy, &to.vz};
  for (int a = 0; a < options.dimensions; ++a) place[a]->resize(to.id.size());
  for (int a = 0; a < options.velocities; ++a) velocity[a]->resize(to.id.size());
  parallel_for(device.threads(), static_cast<std::int64_t>(tiles.size()), [&](std::int64_t number) {
    const auto& tile = tiles[number];
    const auto corner = grid.tile(static_cast<int>(number));
    for (int a = 0; a < options.dimensions; ++a)
      for (std::int64_t i = 0; i < tile.count(); ++i)
        (*place[a])[tile.rank()[i]] = position<Real>(grid.axis[a], corner[a], tile.place(a)[i]);
    for (int a = 0; a < options.velocities; ++a)
      for (std::int64_t i = 0; i < tile.count(); ++i) (*velocity[a])[tile.rank()[i]] = tile.velocity(a)[i];
  });
}

template std::vector<std::uint64_t> load_tiles(const Device&, const PlasmaOptions&, const PlasmaSpecies&,
                                               const TileGrid&, const PlasmaParticles&,
                                               std::vector<TileParticles<float>>&);
template std::vector<std::uint64_t> load_tiles(const Device&, const PlasmaOptions&, const PlasmaSpecies&,
                                               const TileGrid&, const PlasmaParticles&,
                                               std::vector<TileParticles<double>>&);
template void unload_tiles(const Device&, const PlasmaOptions&, const TileGrid&,
                           const std::vector<TileParticles<float>>&, PlasmaParticles&);
template void unload_tiles(const Device&, const PlasmaOptions&, const TileGrid&,
                           const std::vector<TileParticles<double>>&, PlasmaParticles&);

}  // namespace pergola::plasma

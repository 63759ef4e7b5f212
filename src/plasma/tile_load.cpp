#include "plasma/tile_load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "device/parallel.hpp"
#include "plasma/host_particles.hpp"

namespace pergola::plasma {

namespace {

/// Host particles, seen as particles of tiles.
template <class Real>
struct HostParticles {
  const PlasmaOptions& options;
  const PlasmaSpecies& species;
  const TileGrid& grid;
  const PlasmaParticles& from;

  Leaver<Real> settled(std::size_t i) const {
    const std::vector<double>* const place[] = {&from.x, &from.y, &from.z};
    const std::vector<double>* const velocity[] = {&from.vx, &from.vy, &from.vz};
    Leaver<Real> particle;
    std::array<int, 3> tile{};
    for (int a = 0; a < options.dimensions; ++a) {
      auto grains = static_cast<std::int64_t>(
          std::rint(checked_place(i, a, (*place[a])[i]) * static_cast<double>(physics::place_grains<Real>)));
      physics::settle<Real>(grid.axis[a], tile[a], grains);
      particle.place[a] = static_cast<typename physics::PlasmaCounts<Real>::Place>(grains);
    }
    for (int a = 0; a < options.velocities; ++a) {
      particle.velocity[a] = static_cast<Real>((*velocity[a])[i]);
      if (!std::isfinite(particle.velocity[a]))
        throw Error(ErrorKind::input,
                    fmt::format("plasma: species {}: particle id {} has velocity {}, expected a finite number",
                                species.name, from.id[i], (*velocity[a])[i]));
    }
    particle.tile = grid.number(tile);
    return particle;
  }

 private:
  double checked_place(std::size_t i, int axis, double x) const {
    if (!(x >= 0 && x <= options.cells[axis]))
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: particle id {} is at {} on axis {}, expected 0 to {} cells",
                              species.name, from.id[i], x, axis, options.cells[axis]));
    return x;
  }
};

}  // namespace

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
  const HostParticles<Real> host{options, species, grid, from};
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
  constexpr double cell = 1 / static_cast<double>(physics::place_grains<Real>);
  parallel_for(device.threads(), static_cast<std::int64_t>(tiles.size()), [&](std::int64_t number) {
    const auto& tile = tiles[number];
    const auto corner = grid.tile(static_cast<int>(number));
    for (int a = 0; a < options.dimensions; ++a) {
      const double low = grid.axis[a].corner(corner[a]);
      for (std::int64_t i = 0; i < tile.count(); ++i)
        (*place[a])[tile.rank()[i]] = low + cell * static_cast<double>(tile.place(a)[i]);
    }
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

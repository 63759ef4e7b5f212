// Particles of a species between the processes that give them and those that have the tiles of their places.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/agreement.hpp"
#include "device/parallel.hpp"
#include "plasma/hand_to_ranks.hpp"
#include "plasma/host_particles.hpp"
#include "plasma/settled_particles.hpp"
#include "plasma/tile_load.hpp"

namespace pergola::plasma {

namespace {

/// Particles of a process that are on their way at once.
constexpr std::int64_t piece = 1 << 16;

std::vector<int> all_of(const Communicator& ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Whether a process has more to send.
bool any(Communicator& ranks, bool more) {
  auto one = static_cast<std::int64_t>(more);
  ranks.all_reduce(&one, 1, Reduction::maximum);
  return one != 0;
}

Stretches find_stretches(Communicator& ranks, std::int64_t own) {
  const auto size = static_cast<std::size_t>(ranks.size());
  Stretches found;
  found.first.resize(size + 1);
  found.first[static_cast<std::size_t>(ranks.rank()) + 1] = own;
  ranks.all_gather_in_place(found.first.data() + 1, std::vector<std::size_t>(size, sizeof(std::int64_t)));
  std::partial_sum(found.first.begin(), found.first.end(), found.first.begin());
  return found;
}

template <class Real>
void put_into_tiles(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
                    const std::vector<Leaver<Real>>& arrived, std::vector<TileParticles<Real>>& tiles) {
  std::vector<std::int64_t> more(tiles.size());
  const auto tile_of = [&](const Leaver<Real>& one) { return static_cast<std::size_t>(one.tile - slab.first_tile); };
  for (const auto& one : arrived) ++more[tile_of(one)];
  for (std::size_t t = 0; t < tiles.size(); ++t)
    tiles[t].reserve(device, tiles[t].count() + more[t], options.dimensions, options.velocities);
  for (const auto& one : arrived) {
    auto& tile = tiles[tile_of(one)];
    tile.put(tile.count(), one);
    tile.set_count(tile.count() + 1);
  }
}

/// A particle on its way back to the process that has given it.
struct Returned {
  std::uint64_t number = 0;
  std::array<double, 6> values{};
};

/// Calls body(place of a number in Returned, values of the particles) for the numbers that are kept.
template <class Particles, class Body>
void for_values(const PlasmaOptions& options, Particles& particles, const Body& body) {
  body(std::size_t{0}, particles.x), body(std::size_t{1}, particles.y);
  if (options.dimensions == 3) body(std::size_t{2}, particles.z);
  body(std::size_t{3}, particles.vx), body(std::size_t{4}, particles.vy);
  if (options.velocities == 3) body(std::size_t{5}, particles.vz);
}

/// Adds the particles of a tile to those on the host.
template <class Real>
void add_tile(const PlasmaOptions& options, const TileGrid& grid, int number, const TileParticles<Real>& tile,
              PlasmaParticles& to) {
  const auto at = grid.tile(number);
  for (std::int64_t i = 0; i < tile.count(); ++i) {
    to.id.push_back(tile.rank()[i]);
    for_values(options, to, [&](std::size_t value, std::vector<double>& values) {
      const auto a = static_cast<int>(value % 3);
      values.push_back(value < 3 ? position<Real>(grid.axis[static_cast<std::size_t>(a)],
                                                  at[static_cast<std::size_t>(a)], tile.place(a)[i])
                                 : static_cast<double>(tile.velocity(a)[i]));
    });
  }
}

}  // namespace

int Stretches::keeper(std::int64_t number) const {
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), number) - first.begin()) - 1;
}

template <class Real>
std::vector<std::uint64_t> load_slab(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                     const TileGrid& grid, const TileSlab& slab, Communicator& ranks,
                                     const PlasmaParticles& from, Stretches& stretches,
                                     std::vector<TileParticles<Real>>& tiles) {
  const std::int64_t count = from.size();
  const SettledParticles<Real> host{options, species, grid, from};
  stretches = find_stretches(ranks, count);
  std::vector<std::uint32_t> by_id;
  on_all(ranks, [&] {  // what is wrong is said before anything is sent
    if (stretches.total() > std::int64_t{UINT32_MAX})
      throw Error(ErrorKind::input, fmt::format("plasma: species {}: {} particles, expected fewer than 2^32",
                                                species.name, stretches.total()));
    by_id = order_by_id(species.name, from.id);
    parallel_chunks(device.threads(), count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) host.settled(static_cast<std::size_t>(i));
    });
  });
  const auto at = [&](std::int64_t i) { return by_id.empty() ? static_cast<std::size_t>(i) : by_id[i]; };
  for (auto& tile : tiles) tile.clear();
  const std::vector<int> partners = all_of(ranks);
  std::vector<Leaver<Real>> settled;
  bool more = true;
  for (std::int64_t begin = 0; more; begin += piece) {
    const std::int64_t some = std::clamp<std::int64_t>(count - begin, 0, piece);
    settled.resize(static_cast<std::size_t>(some));
    parallel_chunks(device.threads(), some, 4096, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        settled[i] = host.settled(at(begin + i));
        settled[i].rank = static_cast<std::uint32_t>(stretches.first[ranks.rank()] + begin + i);
      }
    });
    std::vector<std::vector<std::vector<Leaver<Real>>>> out(partners.size(), std::vector<std::vector<Leaver<Real>>>(1));
    for (const auto& one : settled) out[static_cast<std::size_t>(slab.rank_of(one.tile))][0].push_back(one);
    put_into_tiles(device, options, slab, hand_to_ranks(ranks, partners, 1, out)[0], tiles);
    more = any(ranks, begin + piece < count);
  }
  std::vector<std::uint64_t> id(from.id.size());
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = from.id[at(static_cast<std::int64_t>(i))];
  return id;
}

template <class Real>
void unload_slab(const PlasmaOptions& options, const TileGrid& grid, const TileSlab& slab, Communicator& ranks,
                 const std::vector<TileParticles<Real>>& tiles, const Stretches& stretches,
                 const std::function<void(PlasmaParticles&)>& change, PlasmaParticles& to) {
  for_values(options, to, [&](std::size_t, std::vector<double>& values) { values.resize(to.id.size()); });
  const std::vector<int> partners = all_of(ranks);
  const std::int64_t first = stretches.first[static_cast<std::size_t>(ranks.rank())];
  bool more = true;
  for (std::size_t tile = 0; more;) {
    PlasmaParticles some;
    for (; tile < tiles.size() && some.size() < piece; ++tile)
      add_tile(options, grid, slab.first_tile + static_cast<int>(tile), tiles[tile], some);
    if (change) change(some);
    std::vector<std::vector<std::vector<Returned>>> out(partners.size(), std::vector<std::vector<Returned>>(1));
    for (std::size_t i = 0; i < some.id.size(); ++i) {
      Returned one{some.id[i], {}};
      for_values(options, some,
                 [&](std::size_t value, const std::vector<double>& values) { one.values[value] = values[i]; });
      out[static_cast<std::size_t>(stretches.keeper(static_cast<std::int64_t>(one.number)))][0].push_back(one);
    }
    const auto arrived = hand_to_ranks(ranks, partners, 1, out);
    for (const Returned& one : arrived[0]) {
      const std::size_t place = one.number - static_cast<std::uint64_t>(first);
      for_values(options, to,
                 [&](std::size_t value, std::vector<double>& values) { values[place] = one.values[value]; });
    }
    more = any(ranks, tile < tiles.size());
  }
}

template std::vector<std::uint64_t> load_slab(const Device&, const PlasmaOptions&, const PlasmaSpecies&,
                                              const TileGrid&, const TileSlab&, Communicator&, const PlasmaParticles&,
                                              Stretches&, std::vector<TileParticles<float>>&);
template std::vector<std::uint64_t> load_slab(const Device&, const PlasmaOptions&, const PlasmaSpecies&,
                                              const TileGrid&, const TileSlab&, Communicator&, const PlasmaParticles&,
                                              Stretches&, std::vector<TileParticles<double>>&);
template void unload_slab(const PlasmaOptions&, const TileGrid&, const TileSlab&, Communicator&,
                          const std::vector<TileParticles<float>>&, const Stretches&,
                          const std::function<void(PlasmaParticles&)>&, PlasmaParticles&);
template void unload_slab(const PlasmaOptions&, const TileGrid&, const TileSlab&, Communicator&,
                          const std::vector<TileParticles<double>>&, const Stretches&,
                          const std::function<void(PlasmaParticles&)>&, PlasmaParticles&);

}  // namespace pergola::plasma

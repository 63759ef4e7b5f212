// Particles between host and tiles: see given_particles.hpp.
//
// One process: load_tiles and unload_tiles write all tiles in parallel. Several: load_slab and unload_slab send pieces
// of 2¹⁶ particles, so that memory for messages does not grow with the number of particles. Errors in particles are
// found on all ranks before the first message: no rank waits for one that has thrown.
#include "plasma/given_particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "device/parallel.hpp"
#include "plasma/slab_leavers.hpp"

namespace pergola::plasma {

namespace {

/// Particles of a process that travel at once.
constexpr std::int64_t piece = 1 << 16;

/// Host particles as particles of tiles, in the order of their ids.
template <class Real>
class HostParticles {
 public:
  HostParticles(const PlasmaOptions& options, const PlasmaSpecies& species, const PlasmaParticles& from)
      : options_(options), species_(species), grid_(options), from_(from) {}

  /// Throws if `total` particles are too many to be numbered, or if two of these have the same id.
  void order(std::int64_t total) {
    if (total > std::int64_t{UINT32_MAX})
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: {} particles, expected fewer than 2^32", species_.name, total));
    const auto& id = from_.id;
    if (std::adjacent_find(id.begin(), id.end(), std::greater_equal<>()) == id.end()) return;
    by_id_.resize(id.size());
    std::iota(by_id_.begin(), by_id_.end(), 0U);
    std::sort(by_id_.begin(), by_id_.end(), [&](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; });
    for (std::size_t i = 1; i < by_id_.size(); ++i)
      if (id[by_id_[i]] == id[by_id_[i - 1]])
        throw Error(ErrorKind::input,
                    fmt::format("plasma: species {}: two particles have the id {}", species_.name, id[by_id_[i]]));
  }
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> ids = from_.id;
    for (std::size_t i = 0; i < by_id_.size(); ++i) ids[i] = from_.id[by_id_[i]];
    return ids;
  }

  /// The particle with place i in the order of ids, and with its place in the input.
  Leaver<Real> ordered(std::int64_t i) const {
    return settled(by_id_.empty() ? static_cast<std::size_t>(i) : by_id_[i]);
  }
  Leaver<Real> settled(std::size_t i) const {
    const std::vector<double>* const place[] = {&from_.x, &from_.y, &from_.z};
    const std::vector<double>* const velocity[] = {&from_.vx, &from_.vy, &from_.vz};
    Leaver<Real> particle;
    std::array<int, 3> tile{};
    for (int a = 0; a < options_.dimensions; ++a) {
      auto grains = static_cast<std::int64_t>(
          std::rint(checked_place(i, a, (*place[a])[i]) * static_cast<double>(physics::place_grains<Real>)));
      physics::settle<Real>(grid_.axis[a], tile[a], grains);
      particle.place[a] = static_cast<typename physics::PlasmaCounts<Real>::Place>(grains);
    }
    for (int a = 0; a < options_.velocities; ++a) {
      particle.velocity[a] = static_cast<Real>((*velocity[a])[i]);
      if (!std::isfinite(particle.velocity[a]))
        throw Error(ErrorKind::input,
                    fmt::format("plasma: species {}: particle id {} has velocity {}, expected a finite number",
                                species_.name, from_.id[i], (*velocity[a])[i]));
    }
    particle.tile = grid_.number(tile);
    return particle;
  }

 private:
  /// Positions are in cells; the upper side is allowed and settles as 0.
  double checked_place(std::size_t i, int axis, double x) const {
    if (!(x >= 0 && x <= options_.cells[axis]))
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: particle id {} is at {} on axis {}, expected 0 to {} cells",
                              species_.name, from_.id[i], x, axis, options_.cells[axis]));
    return x;
  }

  const PlasmaOptions& options_;
  const PlasmaSpecies& species_;
  TileGrid grid_;
  const PlasmaParticles& from_;
  std::vector<std::uint32_t> by_id_;  // empty: the input is ordered
};

/// A place in a tile as a position in the box, in cells: exact.
template <class Real>
double position(const physics::TileAxis& axis, int tile, typename physics::PlasmaCounts<Real>::Place place) {
  constexpr double cell = 1 / static_cast<double>(physics::place_grains<Real>);
  return axis.corner(tile) + cell * static_cast<double>(place);
}

/// Two passes over chunks of the host particles: the first counts the particles of each chunk in each tile, the second
/// writes them. The order in a tile is that of the ids for any number of chunks. Returns the ids in their order.
template <class Real>
std::vector<std::uint64_t> load_tiles(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                      const PlasmaParticles& from, std::vector<TileParticles<Real>>& tiles) {
  const std::int64_t count = from.size();
  HostParticles<Real> host(options, species, from);
  host.order(count);
  const std::int64_t chunks = 2 * device.threads(), chunk = std::max<std::int64_t>((count + chunks - 1) / chunks, 1);
  std::vector<std::vector<std::int64_t>> next(chunks, std::vector<std::int64_t>(tiles.size()));
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& counts = next[begin / chunk];
    for (std::int64_t i = begin; i < end; ++i) ++counts[host.ordered(i).tile];
  });
  parallel_for(device.threads(), static_cast<std::int64_t>(tiles.size()), [&](std::int64_t tile) {
    std::int64_t held = 0;
    for (auto& counts : next) held += std::exchange(counts[tile], held);
    tiles[tile].clear();
    tiles[tile].reserve(device, held, options.dimensions, options.velocities);
    tiles[tile].set_count(held);
  });
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& places = next[begin / chunk];
    for (std::int64_t i = begin; i < end; ++i) {
      auto particle = host.ordered(i);
      particle.rank = static_cast<std::uint32_t>(i);
      tiles[particle.tile].put(places[particle.tile]++, particle);
    }
  });
  return host.ids();
}

/// Positions and velocities by number, or by their place in a choice; `to` has the ids already.
template <class Real>
void unload_tiles(const Device& device, const PlasmaOptions& options, const std::vector<TileParticles<Real>>& tiles,
                  const PlasmaChoice* chosen, PlasmaParticles& to) {
  const TileGrid grid(options);
  std::vector<double>* const place[] = {&to.x, &to.y, &to.z};
  std::vector<double>* const velocity[] = {&to.vx, &to.vy, &to.vz};
  for (int a = 0; a < options.dimensions; ++a) place[a]->resize(to.id.size());
  for (int a = 0; a < options.velocities; ++a) velocity[a]->resize(to.id.size());
  parallel_for(device.threads(), static_cast<std::int64_t>(tiles.size()), [&](std::int64_t number) {
    const auto& tile = tiles[number];
    const auto corner = grid.tile(static_cast<int>(number));
    for (std::int64_t i = 0; i < tile.count(); ++i) {
      const std::int64_t at = chosen ? chosen->place(tile.rank()[i]) : tile.rank()[i];
      if (at < 0) continue;
      for (int a = 0; a < options.dimensions; ++a)
        (*place[a])[at] = position<Real>(grid.axis[a], corner[a], tile.place(a)[i]);
      for (int a = 0; a < options.velocities; ++a) (*velocity[a])[at] = tile.velocity(a)[i];
    }
  });
}

/// Any rank may have any particle, so all ranks are partners.
std::vector<int> all_of(const Communicator& ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Whether another round of messages is needed: ranks have different numbers of pieces. Collective.
bool any_has_more(Communicator& ranks, bool more) {
  auto one = static_cast<std::int64_t>(more);
  ranks.all_reduce(&one, 1, Reduction::maximum);
  return one != 0;
}

/// Numbers the particles of all ranks one rank after the other. Collective.
GivenRanges find_ranges(Communicator& ranks, std::int64_t own) {
  const auto size = static_cast<std::size_t>(ranks.size());
  GivenRanges found;
  found.first.resize(size + 1);
  found.first[static_cast<std::size_t>(ranks.rank()) + 1] = own;
  ranks.all_gather_in_place(found.first.data() + 1, std::vector<std::size_t>(size, sizeof(std::int64_t)));
  std::partial_sum(found.first.begin(), found.first.end(), found.first.begin());
  return found;
}

/// Adds received particles behind those of their tiles.
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

/// The same on several processes, each of which has the tiles of its slab. Collective.
template <class Real>
std::vector<std::uint64_t> load_slab(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                                     const TileSlab& slab, Communicator& ranks, const PlasmaParticles& from,
                                     const GivenRanges& given, std::vector<TileParticles<Real>>& tiles) {
  const std::int64_t count = from.size();
  HostParticles<Real> host(options, species, from);
  on_all(ranks, [&] {  // errors come before the first message
    host.order(given.total());
    parallel_chunks(device.threads(), count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) host.settled(static_cast<std::size_t>(i));
    });
  });
  for (auto& tile : tiles) tile.clear();
  const std::vector<int> partners = all_of(ranks);
  std::vector<Leaver<Real>> settled;
  bool more = true;
  for (std::int64_t begin = 0; more; begin += piece) {
    const std::int64_t some = std::clamp<std::int64_t>(count - begin, 0, piece);
    settled.resize(static_cast<std::size_t>(some));
    parallel_chunks(device.threads(), some, 4096, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        settled[i] = host.ordered(begin + i);
        settled[i].rank = static_cast<std::uint32_t>(given.first[ranks.rank()] + begin + i);
      }
    });
    std::vector<std::vector<std::vector<Leaver<Real>>>> out(partners.size(), std::vector<std::vector<Leaver<Real>>>(1));
    for (const auto& one : settled) out[static_cast<std::size_t>(slab.rank_of(one.tile))][0].push_back(one);
    put_into_tiles(device, options, slab, hand_to_ranks(ranks, partners, 1, out)[0], tiles);
    more = any_has_more(ranks, begin + piece < count);
  }
  return host.ids();
}

/// A particle that goes back to the process that has given it.
struct Returned {
  std::uint64_t number = 0;
  std::array<double, 6> values{};
};

/// Calls body(index in Returned::values, values of the particles) for the coordinates that are kept.
template <class Particles, class Body>
void for_values(const PlasmaOptions& options, Particles& particles, const Body& body) {
  for (std::size_t k = 0; k < 6; ++k)
    if (k == 2 ? options.dimensions == 3 : k < 5 || options.velocities == 3) body(k, particles.*plasma_coordinates[k]);
}

/// Adds the particles of a tile to those on the host.
template <class Real>
void add_tile(const PlasmaOptions& options, const TileGrid& grid, int number, const TileParticles<Real>& tile,
              PlasmaParticles& to) {
  const auto at = grid.tile(number);
  const std::int64_t before = to.size(), count = tile.count();
  to.id.insert(to.id.end(), tile.rank(), tile.rank() + count);
  for_values(options, to, [&](std::size_t value, std::vector<double>& values) {
    values.resize(to.id.size());
    double* const next = values.data() + before;
    const auto a = static_cast<int>(value % 3);
    if (value < 3)
      for (std::int64_t i = 0; i < count; ++i) next[i] = position<Real>(grid.axis[a], at[a], tile.place(a)[i]);
    else
      std::copy_n(tile.velocity(a), count, next);
  });
}

/// Positions and velocities by number, of the particles that this process has given. Collective.
template <class Real>
void unload_slab(const PlasmaOptions& options, const TileSlab& slab, Communicator& ranks,
                 const std::vector<TileParticles<Real>>& tiles, const GivenRanges& given,
                 const std::function<void(PlasmaParticles&)>& change, PlasmaParticles& to) {
  const TileGrid grid(options);
  for_values(options, to, [&](std::size_t, std::vector<double>& values) { values.resize(to.id.size()); });
  const std::vector<int> partners = all_of(ranks);
  const std::int64_t first = given.first[static_cast<std::size_t>(ranks.rank())];
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
      out[static_cast<std::size_t>(given.owner(static_cast<std::int64_t>(one.number)))][0].push_back(one);
    }
    const auto arrived = hand_to_ranks(ranks, partners, 1, out);
    for (const Returned& one : arrived[0]) {
      const std::size_t place = one.number - static_cast<std::uint64_t>(first);
      for_values(options, to,
                 [&](std::size_t value, std::vector<double>& values) { values[place] = one.values[value]; });
    }
    more = any_has_more(ranks, tile < tiles.size());
  }
}

}  // namespace

int GivenRanges::owner(std::int64_t number) const {
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), number) - first.begin()) - 1;
}

template <class Real>
GivenParticles load_given(const Device& device, const PlasmaOptions& options, const PlasmaSpecies& species,
                          const TileSlab& slab, Communicator* ranks, const PlasmaParticles& from,
                          std::vector<TileParticles<Real>>& tiles) {
  GivenParticles given;
  if (ranks) given.ranges = find_ranges(*ranks, from.size());
  given.id = ranks ? load_slab(device, options, species, slab, *ranks, from, given.ranges, tiles)
                   : load_tiles(device, options, species, from, tiles);
  given.total = ranks ? given.ranges.total() : from.size();
  return given;
}

template <class Real>
PlasmaParticles unload_given(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
                             Communicator* ranks, const std::vector<TileParticles<Real>>& tiles,
                             const GivenParticles& given, const std::function<void(PlasmaParticles&)>& change,
                             const PlasmaChoice* chosen) {
  PlasmaParticles particles;
  particles.id = chosen ? chosen->ids() : given.id;
  if (ranks) {
    unload_slab(options, slab, *ranks, tiles, given.ranges, change, particles);
  } else {
    unload_tiles(device, options, tiles, chosen, particles);
    if (change) change(particles);
  }
  return particles;
}

template <class Real>
void for_tiles(const Device& device, const PlasmaOptions& options, const TileSlab& slab,
               const std::vector<TileParticles<Real>>& tiles, const std::function<void(const PlasmaParticles&)>& use) {
  constexpr std::int64_t tiles_at_once = 8;  // that use the same memory, one after the other
  const TileGrid grid(options);
  parallel_chunks(device.threads(), std::ssize(tiles), tiles_at_once, [&](std::int64_t begin, std::int64_t end) {
    PlasmaParticles some;
    for (std::int64_t tile = begin; tile < end; ++tile) {
      some.id.clear();
      for_values(options, some, [](std::size_t, std::vector<double>& values) { values.clear(); });
      add_tile(options, grid, slab.first_tile + static_cast<int>(tile), tiles[tile], some);
      use(some);
    }
  });
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
  const int owner = ranks ? species.ranges.owner(first.number) : 0;
  const std::int64_t before = ranks ? species.ranges.first[static_cast<std::size_t>(owner)] : 0;
  if (!ranks || ranks->rank() == owner) id = species.id[static_cast<std::size_t>(first.number - before)];
  if (ranks) ranks->broadcast(&id, sizeof id, owner);
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
                                      const std::function<void(PlasmaParticles&)>&, const PlasmaChoice*);
template void for_tiles(const Device&, const PlasmaOptions&, const TileSlab&, const std::vector<TileParticles<float>>&,
                        const std::function<void(const PlasmaParticles&)>&);
template PlasmaParticles unload_given(const Device&, const PlasmaOptions&, const TileSlab&, Communicator*,
                                      const std::vector<TileParticles<double>>&, const GivenParticles&,
                                      const std::function<void(PlasmaParticles&)>&, const PlasmaChoice*);
template void for_tiles(const Device&, const PlasmaOptions&, const TileSlab&, const std::vector<TileParticles<double>>&,
                        const std::function<void(const PlasmaParticles&)>&);

}  // namespace pergola::plasma

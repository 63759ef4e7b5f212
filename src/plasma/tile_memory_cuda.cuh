#pragma once
/// CUDA only: the memory of a plasma's particles on the device, and copies from and to the host.
///
/// Particles of one tile and species form a group. A group has slots for its particles and more, an inbox for arrivals
/// and a list of holes. grow() lays all groups out anew if one was nearly full; the particles in them stay.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "plasma/options.hpp"
#include "plasma/tiles.hpp"
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

/// The tiles of the whole box, and which of them are on this device.
inline TileBox make_tile_box(const PlasmaOptions& options, const plasma::TileSlab& slab) {
  static_assert(TileWidth<2>::y == plasma::tile_width<2> && TileWidth<3>::z == plasma::tile_width<3>);
  const plasma::TileGrid grid(options);
  TileBox box;
  for (int a = 0; a < 3; ++a) {
    box.axis[a] = grid.axis[static_cast<std::size_t>(a)];
    box.tiles[a] = box.axis[a].tiles();
  }
  box.first = slab.first_tile, box.here = slab.tiles;
  return box;
}

/// Slots for a group of `count` particles: with room for fluctuations and an eighth more.
inline std::int64_t slots_for(std::int64_t count) {
  const auto spread = static_cast<std::int64_t>(4 * std::sqrt(static_cast<double>(count)));
  return (count + count / 8 + spread + 63) / 32 * 32;
}

/// Particles that a group can take in and lose in one step: an eighth of the largest group, but all inboxes together
/// take no more memory than a quarter of all particles.
inline int inbox_for(std::int64_t largest, std::int64_t all, std::int64_t groups) {
  const std::int64_t wanted = std::min(largest / 8, all / 4 / std::max<std::int64_t>(groups, 1));
  return static_cast<int>(std::clamp<std::int64_t>((wanted + 31) / 32 * 32, 128, 8192));
}

/// Copies the particles of all groups from one layout to another. A block per group.
template <class T>
__global__ void copy_groups(const T* from, const std::int64_t* old_begin, const std::uint32_t* count, T* to,
                            const std::int64_t* new_begin) {
  const std::int64_t source = old_begin[blockIdx.x], target = new_begin[blockIdx.x];
  for (std::uint32_t k = threadIdx.x; k < count[blockIdx.x]; k += blockDim.x) to[target + k] = from[source + k];
}

/// All groups of all species in shared arrays, with gaps for growth. Any call that lays memory out anew raises
/// version(): pointers from groups() and recorded graphs are void then. load(), unload() and grow() wait for the
/// device.
template <class Real>
class TileMemory {
  using Number = Place<Real>;
  using HostTiles = std::vector<plasma::TileParticles<Real>>;

 public:
  TileMemory(const Device& device, const PlasmaOptions& options, const plasma::TileSlab& slab,
             const std::vector<std::int64_t>& counts)
      : device_(device),
        dimensions_(options.dimensions),
        velocities_(options.velocities),
        species_(static_cast<int>(options.species.size())),
        box_(make_tile_box(options, slab)),
        count_host_(static_cast<std::size_t>(group_count())),
        status_(device, 1) {
    device_.make_current();
    begin_ = Buffer<std::int64_t>(device_, std::vector<std::int64_t>(static_cast<std::size_t>(group_count()) + 1, 0));
    for (auto* words : {&count_, &arrived_, &room_, &holes_}) {
      *words = Buffer<std::uint32_t>(device_, group_count());
      words->zero();
    }
    status_.zero();
    expected_ = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    lay_out(std::vector<std::int64_t>(count_host_.size(), 0), 0);
  }

  Groups<Real> groups() const {
    Groups<Real> all;
    all.box = box_;
    all.groups = group_count();
    all.begin = begin_.data();
    all.count = pointer(count_), all.arrived = pointer(arrived_), all.room = pointer(room_);
    all.holes = pointer(holes_), all.hole = pointer(hole_), all.away = pointer(away_);
    all.slots = slots_.arrays(), all.inbox = inbox_.arrays();
    all.inbox_size = inbox_size_;
    all.status = pointer(status_);
    return all;
  }
  /// Blocks that divide the particles of a group of a species.
  int parts(int species) const {
    const auto first = count_host_.begin() + std::ptrdiff_t{species} * box_.here;
    const std::int64_t largest = *std::max_element(first, first + box_.here);
    const std::int64_t enough = (528 + box_.here - 1) / box_.here;
    return static_cast<int>(
        std::max({std::int64_t{1}, (largest + part_size - 1) / part_size, std::min(enough, (largest + 511) / 512)}));
  }
  unsigned move_bytes() const { return static_cast<unsigned>(inbox_size_ + (inbox_size_ + 31) / 32) * 4; }
  std::uint64_t version() const { return version_; }
  StreamStatus read_status() const { return status_.to_host()[0]; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(begin_.bytes() + count_.bytes() + arrived_.bytes() + room_.bytes() +
                                     holes_.bytes() + hole_.bytes() + away_.bytes() + status_.bytes()) +
           slots_.bytes() + inbox_.bytes();
  }
  std::int64_t count(int species) const {
    const auto counts = count_.to_host();
    const auto first = counts.begin() + std::ptrdiff_t{species} * box_.here;
    return std::accumulate(first, first + box_.here, std::int64_t{0});
  }

  /// Replaces the particles of a species by those of the host; copies them back. Tiles are those that are here.
  void load(int species, const HostTiles& tiles);
  HostTiles unload(int species, const Device& host) const;
  /// Makes more room, after a group, an inbox or a list of holes was nearly full; `refused`: it was full.
  void grow(bool refused) {
    make_room(refused ? std::min(2 * inbox_size_, 8192) : inbox_size_);
    StreamStatus status = read_status();
    status.crowded = 0, status.refused = 0;
    status_.from_host(&status);
  }
  /// Makes room in all groups for more than their present particles.
  void make_room() { make_room(inbox_size_); }

 private:
  static constexpr std::int64_t part_size = 2400;

  /// Arrays for particles on the device.
  /// Columns that the case does not have stay empty.
  struct Store {
    std::array<Buffer<Number>, 3> place;
    std::array<Buffer<Real>, 3> velocity;
    Buffer<std::uint32_t> rank;

    ParticleArrays<Real> arrays() const {
      ParticleArrays<Real> all;
      for (std::size_t a = 0; a < 3; ++a) all.place[a] = pointer(place[a]), all.velocity[a] = pointer(velocity[a]);
      all.rank = pointer(rank);
      return all;
    }
    std::int64_t bytes() const {
      std::size_t sum = rank.bytes();
      for (std::size_t a = 0; a < 3; ++a) sum += place[a].bytes() + velocity[a].bytes();
      return static_cast<std::int64_t>(sum);
    }
  };

  template <class T>
  static T* pointer(const Buffer<T>& buffer) {
    return const_cast<T*>(buffer.data());
  }
  int group_count() const { return box_.here * species_; }
  std::size_t first_group(int species) const {
    return static_cast<std::size_t>(species) * static_cast<std::size_t>(box_.here);
  }
  /// The host's copy of the counts is stale after a push; this reads them again.
  void read_counts() {
    const auto counts = count_.to_host();
    count_host_.assign(counts.begin(), counts.end());
  }

  void make_room(int least_inbox) {
    read_counts();
    lay_out(count_host_, least_inbox);
  }
  /// Gives every group slots for `counts` particles and moves the present ones.
  void lay_out(const std::vector<std::int64_t>& counts, int least_inbox) {
    std::vector<std::int64_t> begin{0};
    std::int64_t all = 0, largest = 0;
    for (const std::int64_t count : counts) {
      begin.push_back(begin.back() + slots_for(count));
      all += count, largest = std::max(largest, count);
    }
    Buffer<std::int64_t> new_begin(device_, begin);
    const auto move = [&]<class T>(Buffer<T>& values) {
      Buffer<T> moved(device_, begin.back());
      if (values.size() > 0)
        copy_groups<<<static_cast<unsigned>(group_count()), 256, 0, handle(device_.stream())>>>(
            values.data(), begin_.data(), count_.data(), moved.data(), new_begin.data());
      cuda::check(cudaGetLastError(), "copy_groups");
      device_.synchronize();
      values = std::move(moved);
    };
    for (int a = 0; a < dimensions_; ++a) move(slots_.place[static_cast<std::size_t>(a)]);
    for (int a = 0; a < velocities_; ++a) move(slots_.velocity[static_cast<std::size_t>(a)]);
    move(slots_.rank);
    move(away_);
    begin_ = std::move(new_begin);
    begin_host_ = std::move(begin);
    make_inbox(std::max(inbox_for(largest, std::max(all, expected_), group_count()), least_inbox));
    set_room();
    ++version_;
  }

  /// Inboxes are empty between steps, so nothing is copied.
  void make_inbox(int size) {
    if (size == inbox_size_) return;
    inbox_size_ = size;
    const std::int64_t places = std::int64_t{group_count()} * size;
    inbox_ = {}, hole_ = {};
    for (int a = 0; a < dimensions_; ++a) inbox_.place[static_cast<std::size_t>(a)] = Buffer<Number>(device_, places);
    for (int a = 0; a < velocities_; ++a) inbox_.velocity[static_cast<std::size_t>(a)] = Buffer<Real>(device_, places);
    inbox_.rank = Buffer<std::uint32_t>(device_, places);
    hole_ = Buffer<std::uint32_t>(device_, places);
  }

  /// The number of arrivals each group can take in the next step: free slots, at most an inbox.
  void set_room() {
    const auto counts = count_.to_host();
    std::vector<std::uint32_t> room;
    for (std::size_t g = 0; g < counts.size(); ++g)
      room.push_back(static_cast<std::uint32_t>(
          std::min<std::int64_t>(inbox_size_, begin_host_[g + 1] - begin_host_[g] - counts[g])));
    room_.from_host(room.data());
  }

  Device device_;
  int dimensions_, velocities_, species_;
  TileBox box_;
  std::vector<std::int64_t> begin_host_, count_host_;  // the latter as of the last load() or grow()
  std::int64_t expected_ = 0;
  Store slots_, inbox_;
  Buffer<std::uint32_t> away_;
  Buffer<std::int64_t> begin_;
  Buffer<std::uint32_t> count_, arrived_, room_, holes_, hole_;
  int inbox_size_ = 0;
  Buffer<StreamStatus> status_;
  std::uint64_t version_ = 0;
};

/// Particles of a tile are placed in its slots in steps of about 0.6 of them. Neighbours then are in different warps,
/// whose lanes would otherwise add to the same sums.
inline std::int64_t scatter_step(std::int64_t count) {
  std::int64_t step = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.6180339887 * static_cast<double>(count)));
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

template <class Real>
void TileMemory<Real>::load(int species, const HostTiles& tiles) {
  read_counts();
  const std::size_t first = first_group(species);
  for (std::size_t t = 0; t < tiles.size(); ++t) count_host_[first + t] = tiles[t].count();
  {
    auto kept = count_.to_host();
    std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(first), box_.here, 0U);
    count_.from_host(kept.data());
  }
  lay_out(count_host_, 0);

  // Slots of the species, from the first of its first group.
  const std::int64_t base = begin_host_[first], end = begin_host_[first + tiles.size()];
  const auto send = [&]<class T>(Buffer<T>& to, const auto& array) {
    if (end == base) return;
    std::vector<T> values(static_cast<std::size_t>(end - base), T(0));
    parallel_for(device_.threads(), std::ssize(tiles), [&](std::int64_t tile) {
      const auto t = static_cast<std::size_t>(tile);
      const std::int64_t count = tiles[t].count(), step = scatter_step(count);
      T* const into = values.data() + (begin_host_[first + t] - base);
      const T* const from = array(tiles[t]);
      for (std::int64_t k = 0, next = 0; k < count; ++k) {
        into[next] = from[k];
        next += step;
        if (next >= count) next -= count;
      }
    });
    device_.memory().from_host(to.data() + base, values.data(), values.size() * sizeof(T));
  };
  for (int a = 0; a < dimensions_; ++a)
    send(slots_.place[static_cast<std::size_t>(a)], [a](const auto& tile) { return tile.place(a); });
  for (int a = 0; a < velocities_; ++a)
    send(slots_.velocity[static_cast<std::size_t>(a)], [a](const auto& tile) { return tile.velocity(a); });
  send(slots_.rank, [](const auto& tile) { return tile.rank(); });
  std::vector<std::uint32_t> counts(count_host_.begin(), count_host_.end());
  count_.from_host(counts.data());
  set_room();
}

template <class Real>
auto TileMemory<Real>::unload(int species, const Device& host) const -> HostTiles {
  HostTiles tiles(static_cast<std::size_t>(box_.here));
  const auto counts = count_.to_host();
  const std::size_t first = first_group(species);
  const std::int64_t base = begin_host_[first], size = begin_host_[first + tiles.size()] - base;
  const auto fetch = [&]<class T>(const Buffer<T>& from) {
    std::vector<T> values(static_cast<std::size_t>(size));
    if (size > 0) device_.memory().to_host(values.data(), from.data() + base, values.size() * sizeof(T));
    return values;
  };
  std::array<std::vector<Number>, 3> place;
  std::array<std::vector<Real>, 3> velocity;
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a) place[a] = fetch(slots_.place[a]);
  for (std::size_t a = 0; a < static_cast<std::size_t>(velocities_); ++a) velocity[a] = fetch(slots_.velocity[a]);
  const auto rank = fetch(slots_.rank), away = fetch(away_);
  const auto particle = [&](std::size_t slot) {
    plasma::Leaver<Real> one;
    for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a) one.place[a] = place[a][slot];
    for (std::size_t a = 0; a < static_cast<std::size_t>(velocities_); ++a) one.velocity[a] = velocity[a][slot];
    one.rank = rank[slot];
    return one;
  };
  const auto add = [&](plasma::TileParticles<Real>& tile, const plasma::Leaver<Real>& one) {
    tile.put(tile.count(), one);
    tile.set_count(tile.count() + 1);
  };
  std::vector<std::vector<std::size_t>> outside(tiles.size());  // slots of particles outside their tile
  parallel_for(device_.threads(), std::ssize(tiles), [&](std::int64_t tile) {
    const auto t = static_cast<std::size_t>(tile);
    tiles[t].reserve(host, counts[first + t], dimensions_, velocities_);
    const auto begin = static_cast<std::size_t>(begin_host_[first + t] - base);
    for (std::size_t slot = begin; slot < begin + counts[first + t]; ++slot)
      if (place[0][slot] < 0)
        outside[t].push_back(slot);
      else
        add(tiles[t], particle(slot));
  });
  for (const auto& slots : outside)
    for (const std::size_t slot : slots) {
      auto one = particle(slot);
      one.place[0] = mark_away(one.place[0]);
      auto& tile = tiles[static_cast<std::size_t>(static_cast<int>(away[slot]) - box_.first)];
      tile.reserve(host, tile.count() + 1, dimensions_, velocities_);
      add(tile, one);
    }
  return tiles;
}

}  // namespace pergola::cuda

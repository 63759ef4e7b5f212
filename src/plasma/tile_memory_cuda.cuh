#pragma once
// CUDA only: the memory of the particles of a plasma on the device, and their way there and back.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "plasma/host_particles.hpp"
#include "plasma/tiled_particles.hpp"
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

inline TileBox make_tile_box(const PlasmaOptions& options) {
  using Plane = TileWidth<2>;
  using Volume = TileWidth<3>;
  const bool plane = options.dimensions == 2;
  const int width[3] = {plane ? Plane::x : Volume::x, plane ? Plane::y : Volume::y, plane ? Plane::z : Volume::z};
  TileBox box;
  for (int a = 0; a < 3; ++a) {
    box.axis[a] = {options.cells[static_cast<std::size_t>(a)], width[a]};
    box.tiles[a] = box.axis[a].tiles();
  }
  return box;
}

/// Slots for a group of `count` particles: room for the fluctuations and for an eighth more.
inline std::int64_t slots_for(std::int64_t count) {
  const auto spread = static_cast<std::int64_t>(4 * std::sqrt(static_cast<double>(count)));
  return (count + count / 8 + spread + 63) / 32 * 32;
}

/// Particles that a group can take in and lose in one step: those of particles that cross an eighth of a tile, or the
/// memory that a quarter of all particles take, whichever is less.
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

template <class Real>
class TileMemory {
  using Number = Place<Real>;
  static constexpr double grains = static_cast<double>(std::int64_t{1} << physics::PlasmaCounts<Real>::place_bits);

 public:
  TileMemory(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts)
      : device_(device),
        options_(options),
        dimensions_(options.dimensions),
        velocities_(options.velocities),
        box_(make_tile_box(options)),
        ids_(options.species.size()),
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
  /// Blocks that share the particles of a group of a species.
  int parts(int species) const {
    const auto first = count_host_.begin() + std::ptrdiff_t{species} * box_.count();
    const std::int64_t largest = *std::max_element(first, first + box_.count());
    const std::int64_t enough = (528 + box_.count() - 1) / box_.count();
    return static_cast<int>(
        std::max({std::int64_t{1}, (largest + part_size - 1) / part_size, std::min(enough, (largest + 511) / 512)}));
  }
  unsigned move_bytes() const { return static_cast<unsigned>(inbox_size_ + (inbox_size_ + 31) / 32) * 4; }
  std::uint64_t version() const { return version_; }
  std::uint64_t id(int species, std::uint32_t rank) const { return ids_[static_cast<std::size_t>(species)].at(rank); }
  StreamStatus read_status() const { return status_.to_host()[0]; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(begin_.bytes() + count_.bytes() + arrived_.bytes() + room_.bytes() +
                                     holes_.bytes() + hole_.bytes() + away_.bytes() + status_.bytes()) +
           slots_.bytes() + inbox_.bytes();
  }
  std::int64_t count(int species) const {
    const auto counts = count_.to_host();
    const auto first = counts.begin() + std::ptrdiff_t{species} * box_.count();
    return std::accumulate(first, first + box_.count(), std::int64_t{0});
  }

  void load(int species, const PlasmaParticles& particles);
  PlasmaParticles unload(int species) const;
  /// More room, after a group, an inbox or a list of holes was nearly full; `refused`: it was full.
  void grow(bool refused) {
    read_counts();
    lay_out(count_host_, refused ? std::min(2 * inbox_size_, 8192) : inbox_size_);
    StreamStatus status = read_status();
    status.crowded = 0, status.refused = 0;
    status_.from_host(&status);
  }

 private:
  static constexpr std::int64_t part_size = 2400;

  /// Arrays for particles on the device.
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

  template <class Body>
  void each_rank(std::int64_t count, const Body& body) const {
    parallel_chunks(device_.threads(), count, 16384, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t rank = begin; rank < end; ++rank) body(rank);
    });
  }
  template <class T>
  static T* pointer(const Buffer<T>& buffer) {
    return const_cast<T*>(buffer.data());
  }
  int group_count() const { return box_.count() * static_cast<int>(ids_.size()); }
  void read_counts() {
    const auto counts = count_.to_host();
    count_host_.assign(counts.begin(), counts.end());
  }

  /// Gives every group slots for `counts` particles and moves those that are there.
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

  void set_room() {
    const auto counts = count_.to_host();
    std::vector<std::uint32_t> room;
    for (std::size_t g = 0; g < counts.size(); ++g)
      room.push_back(static_cast<std::uint32_t>(
          std::min<std::int64_t>(inbox_size_, begin_host_[g + 1] - begin_host_[g] - counts[g])));
    room_.from_host(room.data());
  }

  Device device_;
  PlasmaOptions options_;
  int dimensions_, velocities_;
  TileBox box_;
  std::vector<std::vector<std::uint64_t>> ids_;  // of a species, ascending: a particle's rank is its place in them
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

/// Particles of a tile are dealt out over its slots in steps of about 0.6 of them, so that those that were neighbours
/// do not meet in a warp, whose lanes would then add to the same sums.
inline std::int64_t scatter_step(std::int64_t count) {
  std::int64_t step = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.6180339887 * static_cast<double>(count)));
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

template <class Real>
void TileMemory<Real>::load(int species, const PlasmaParticles& particles) {
  const std::int64_t n = particles.size();
  check_particles(options_, species, particles);
  const auto order = order_by_id(options_.species[static_cast<std::size_t>(species)].name, particles.id);
  const auto source = [&](std::int64_t rank) {
    return order.empty() ? rank : std::int64_t{order[static_cast<std::size_t>(rank)]};
  };
  std::vector<std::uint32_t> tile_of(static_cast<std::size_t>(n));
  std::array<std::vector<Number>, 3> place;
  const std::vector<double>* position[3] = {&particles.x, &particles.y, &particles.z};
  const std::vector<double>* velocity[3] = {&particles.vx, &particles.vy, &particles.vz};
  for (int a = 0; a < dimensions_; ++a) place[static_cast<std::size_t>(a)].resize(static_cast<std::size_t>(n));
  each_rank(n, [&](std::int64_t rank) {
    int tile[3] = {0, 0, 0};
    for (int a = 0; a < dimensions_; ++a) {
      std::int64_t at = std::llrint((*position[a])[static_cast<std::size_t>(source(rank))] * grains);
      physics::settle<Real>(box_.axis[a], tile[a], at);
      place[static_cast<std::size_t>(a)][static_cast<std::size_t>(rank)] = static_cast<Number>(at);
    }
    tile_of[static_cast<std::size_t>(rank)] = static_cast<std::uint32_t>(box_.number(tile));
  });

  read_counts();
  const std::size_t first = static_cast<std::size_t>(species) * static_cast<std::size_t>(box_.count());
  std::fill_n(count_host_.begin() + static_cast<std::ptrdiff_t>(first), box_.count(), 0);
  for (const std::uint32_t tile : tile_of) ++count_host_[first + tile];
  {
    auto kept = count_.to_host();
    std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(first), box_.count(), 0U);
    count_.from_host(kept.data());
  }
  lay_out(count_host_, 0);

  // Slots of the species, from the first of its first group.
  const std::int64_t base = begin_host_[first], end = begin_host_[first + static_cast<std::size_t>(box_.count())];
  std::vector<std::int64_t> next(static_cast<std::size_t>(box_.count()), 0), step;
  for (std::size_t t = 0; t < next.size(); ++t) step.push_back(scatter_step(count_host_[first + t]));
  std::vector<std::uint32_t> slot_of(static_cast<std::size_t>(n));
  std::vector<std::uint32_t> rank_in(static_cast<std::size_t>(end - base), 0);
  for (std::int64_t rank = 0; rank < n; ++rank) {
    const std::size_t t = tile_of[static_cast<std::size_t>(rank)];
    const std::int64_t slot = begin_host_[first + t] - base + next[t];
    next[t] += step[t];
    if (next[t] >= count_host_[first + t]) next[t] -= count_host_[first + t];
    slot_of[static_cast<std::size_t>(rank)] = static_cast<std::uint32_t>(slot);
    rank_in[static_cast<std::size_t>(slot)] = static_cast<std::uint32_t>(rank);
  }
  const auto send = [&]<class T>(Buffer<T>& to, const auto& value) {
    std::vector<T> values(static_cast<std::size_t>(end - base), T(0));
    each_rank(
        n, [&](std::int64_t rank) { values[slot_of[static_cast<std::size_t>(rank)]] = static_cast<T>(value(rank)); });
    if (end > base) device_.memory().from_host(to.data() + base, values.data(), values.size() * sizeof(T));
  };
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a)
    send(slots_.place[a], [&](std::int64_t rank) { return place[a][static_cast<std::size_t>(rank)]; });
  for (std::size_t a = 0; a < static_cast<std::size_t>(velocities_); ++a)
    send(slots_.velocity[a], [&](std::int64_t rank) { return (*velocity[a])[static_cast<std::size_t>(source(rank))]; });
  if (end > base) device_.memory().from_host(slots_.rank.data() + base, rank_in.data(), rank_in.size() * 4);
  std::vector<std::uint32_t> counts(count_host_.begin(), count_host_.end());
  count_.from_host(counts.data());
  set_room();
  auto& ids = ids_[static_cast<std::size_t>(species)];
  ids.resize(static_cast<std::size_t>(n));
  for (std::int64_t rank = 0; rank < n; ++rank)
    ids[static_cast<std::size_t>(rank)] = particles.id[static_cast<std::size_t>(source(rank))];
}

template <class Real>
PlasmaParticles TileMemory<Real>::unload(int species) const {
  PlasmaParticles result;
  result.id = ids_[static_cast<std::size_t>(species)];
  const auto n = result.id.size();
  const auto counts = count_.to_host();
  const std::size_t first = static_cast<std::size_t>(species) * static_cast<std::size_t>(box_.count());
  const std::int64_t base = begin_host_[first],
                     size = begin_host_[first + static_cast<std::size_t>(box_.count())] - base;
  const auto fetch = [&]<class T>(const Buffer<T>& from) {
    std::vector<T> values(static_cast<std::size_t>(size));
    if (size > 0) device_.memory().to_host(values.data(), from.data() + base, values.size() * sizeof(T));
    return values;
  };
  const auto each_slot = [&](const auto& body) {  // body(tile number, slot)
    parallel_for(device_.threads(), box_.count(), [&](std::int64_t t) {
      const std::int64_t begin = begin_host_[first + static_cast<std::size_t>(t)] - base;
      for (std::int64_t k = 0; k < counts[first + static_cast<std::size_t>(t)]; ++k)
        body(static_cast<int>(t), static_cast<std::size_t>(begin + k));
    });
  };
  const auto rank = fetch(slots_.rank), away = fetch(away_);
  const auto mark = fetch(slots_.place[0]);
  std::vector<double>* position[3] = {&result.x, &result.y, &result.z};
  std::vector<double>* velocity[3] = {&result.vx, &result.vy, &result.vz};
  for (int a = 0; a < dimensions_; ++a) {
    position[a]->resize(n);
    const auto places = fetch(slots_.place[static_cast<std::size_t>(a)]);
    each_slot([&](int t, std::size_t slot) {
      int tile[3];
      box_.find(mark[slot] < 0 ? static_cast<int>(away[slot]) : t, tile);
      const Number place = a == 0 && places[slot] < 0 ? mark_away(places[slot]) : places[slot];
      (*position[a])[rank[slot]] = box_.axis[a].corner(tile[a]) + static_cast<double>(place) / grains;
    });
  }
  for (int a = 0; a < velocities_; ++a) {
    velocity[a]->resize(n);
    const auto values = fetch(slots_.velocity[static_cast<std::size_t>(a)]);
    each_slot([&](int, std::size_t slot) { (*velocity[a])[rank[slot]] = static_cast<double>(values[slot]); });
  }
  return result;
}

}  // namespace pergola::cuda

#pragma once
/// CUDA only: particles that leave their group, on one device and between the devices of ranks.
///
/// A push writes a leaver into the inbox of its new group, or into the outbox of the device if another rank owns the
/// tile. take_arrivals then moves inboxes into the groups and closes the holes. SlabLeaversCuda packs the outbox by
/// rank, exchanges it with near ranks and puts received particles into inboxes. A particle without room stays in its
/// slot, marked (mark_away), until the groups have grown.
#include <algorithm>
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "plasma/slab_leavers.hpp"
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

inline constexpr int move_threads = 128;

/// Copies one particle between arrays; columns that the case does not have are null.
template <class Real>
__device__ __forceinline__ void copy_particle(const ParticleArrays<Real>& from, std::int64_t source,
                                              const ParticleArrays<Real>& to, std::int64_t target) {
#pragma unroll
  for (int a = 0; a < 3; ++a)
    if (from.place[a]) to.place[a][target] = from.place[a][source];
#pragma unroll
  for (int a = 0; a < 3; ++a)
    if (from.velocity[a]) to.velocity[a][target] = from.velocity[a][source];
  to.rank[target] = from.rank[source];
}

/// A block per group. Arrivals fill the holes; further arrivals go behind the last particle. If holes are left,
/// particles from the end fill them. Shared memory: inbox_size words for holes, and a bit for each at the end.
template <class Real>
__global__ void __launch_bounds__(move_threads) take_arrivals(const __grid_constant__ Groups<Real> all) {
  extern __shared__ std::uint32_t shared[];
  __shared__ int hole_count, low_count, moved;
  std::uint32_t* const low = shared;
  std::uint32_t* const gone = shared + all.inbox_size;
  const int group = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int listed = static_cast<int>(min(all.holes[group], static_cast<std::uint32_t>(all.inbox_size)));
  const int arrivals = static_cast<int>(min(all.arrived[group], all.room[group]));
  const bool refused = all.arrived[group] > all.room[group];
  if (listed == 0 && arrivals == 0 && !refused) return;
  const std::int64_t begin = all.begin[group];
  const std::uint32_t* const holes = all.hole + std::int64_t{group} * all.inbox_size;
  const int before = static_cast<int>(all.count[group]);
  if (thread == 0) hole_count = low_count = moved = 0;
  __syncthreads();
  for (int k = thread; k < listed; k += move_threads)
    if (holes[k] != no_hole) atomicAdd(&hole_count, 1);
  for (int k = thread; k < (all.inbox_size + 31) / 32; k += move_threads) gone[k] = 0;
  __syncthreads();
  const int after = before - hole_count + arrivals;
  for (int k = thread; k < listed; k += move_threads) {
    if (holes[k] == no_hole) continue;
    const int hole = static_cast<int>(holes[k]);
    if (hole < after)
      low[atomicAdd(&low_count, 1)] = holes[k];
    else
      atomicOr(&gone[(hole - after) / 32], 1u << ((hole - after) % 32));
  }
  __syncthreads();
  const int filled = low_count;
  for (int k = thread; k < arrivals; k += move_threads)
    copy_particle(all.inbox, std::int64_t{group} * all.inbox_size + k, all.slots,
                  begin + (k < filled ? static_cast<int>(low[k]) : after - arrivals + k));
  for (int k = thread; k < before - after; k += move_threads) {
    if (gone[k / 32] >> (k % 32) & 1u) continue;
    const std::int64_t from = begin + after + k, to = begin + low[arrivals + atomicAdd(&moved, 1)];
    copy_particle(all.slots, from, all.slots, to);
    if (all.slots.place[0][from] < 0) all.away[to] = all.away[from];
  }
  if (thread != 0) return;
  const auto capacity = static_cast<int>(all.begin[group + 1] - begin);
  all.count[group] = static_cast<std::uint32_t>(after);
  all.holes[group] = 0;
  all.arrived[group] = 0;
  all.room[group] = static_cast<std::uint32_t>(min(all.inbox_size, capacity - after));
  if (capacity - after < all.inbox_size / 2) all.status->crowded = 1;
  if (after != before)
    atomicAdd(&all.status->balance, static_cast<unsigned long long>(static_cast<long long>(arrivals - hole_count)));
}

/// Lists particles that had to stay in their slots though another rank owns their tile. A block per group.
template <class Real>
__global__ void list_late(const __grid_constant__ Groups<Real> all) {
  const int group = static_cast<int>(blockIdx.x);
  const std::int64_t begin = all.begin[group];
  for (std::uint32_t index = threadIdx.x; index < all.count[group]; index += blockDim.x) {
    const std::int64_t slot = begin + index;
    if (all.slots.place[0][slot] >= 0) continue;
    const auto tile = static_cast<int>(all.away[slot]);
    if (all.box.has(tile)) continue;
    const unsigned hole = atomicAdd(&all.holes[group], 1u);
    bool listed = false;
    if (hole < static_cast<unsigned>(all.inbox_size)) {
      Departure<Real> one{group / all.box.here, tile, all.slots.rank[slot], {}, {}};
      for (int a = 0; a < 3; ++a) {
        if (all.slots.place[a]) one.place[a] = all.slots.place[a][slot];
        if (all.slots.velocity[a]) one.velocity[a] = all.slots.velocity[a][slot];
      }
      one.place[0] = mark_away(one.place[0]);
      listed = all.outbox.add(one);
      all.hole[std::int64_t{group} * all.inbox_size + hole] = listed ? index : no_hole;
    }
    if (!listed) atomicAdd(all.outbox.counts + Outbox<Real>::late, 1u);
  }
}

/// Packs the list into a message, by rank.
template <class Real>
struct PackDepartures {
  Outbox<Real> from;
  unsigned* next;  // for each rank, the next free place in the message
  Departure<Real>* message;
  __device__ void operator()(std::int64_t i) const {
    const Departure<Real> one = from.list[i];
    message[atomicAdd(next + from.owner[one.tile / from.tiles_in_row], 1u)] = one;
  }
};

/// Puts received particles into the inboxes of their groups and lists those without room. The first pass takes all
/// particles and counts their charge, unless those that sent them have counted currents.
template <int dimensions, int points, class Real>
struct TakeArrivals {
  Groups<Real> all;
  const Departure<Real>* arrived;
  const std::uint32_t* some;  // indices of those to take; null: all, the first pass
  std::uint32_t* waiting;
  SlabSums charge;  // of the first species; without sums: not counted
  std::int64_t next_species;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t i = some ? some[k] : k;
    const Departure<Real> one = arrived[i];
    if (!some && charge.sum) {
      int tile[3];
      all.box.find(one.tile, tile);
      SlabSums sums = charge;
      sums.sum += one.species * next_species;
      deposit_on_grid<dimensions, points, Real>(all.box, sums, tile, one.place);
    }
    const int group = all.group_of(one.species, one.tile);
    const unsigned place = atomicAdd(&all.arrived[group], 1u);
    if (place >= all.room[group]) {
      waiting[atomicAdd(all.outbox.counts + Outbox<Real>::waiting, 1u)] = static_cast<std::uint32_t>(i);
      return;
    }
    const std::int64_t to = std::int64_t{group} * all.inbox_size + place;
    for (int a = 0; a < 3; ++a) {
      if (all.inbox.place[a]) all.inbox.place[a][to] = one.place[a];
      if (all.inbox.velocity[a]) all.inbox.velocity[a][to] = one.velocity[a];
    }
    all.inbox.rank[to] = one.rank;
  }
};

/// Order of calls in a step: clear(), push, exchange(), then take_in() until it returns false.
template <class Real>
class SlabLeaversCuda {
  using Counts = Outbox<Real>;

 public:
  SlabLeaversCuda(const Device& device, const plasma::TileSlab& slab, const std::shared_ptr<Communicator>& ranks)
      : device_(device),
        slab_(slab),
        messages_(device, ranks),
        owner_(device, slab.owner),
        counts_(device, Counts::for_rank + ranks->size()),
        next_(device, ranks->size()),
        list_(device, slab.tiles > 0 ? 1024 : 0) {
    counts_.zero();
  }

  Outbox<Real> outbox() const {
    return {pointer(list_), static_cast<unsigned>(list_.size()), pointer(counts_), owner_.data(), slab_.tiles_in_row};
  }
  /// Before a push.
  void clear() { counts_.zero(); }
  /// After a push: sends the leavers to the ranks of their tiles; take_in() then takes in the received ones. groups()
  /// returns the groups with this outbox, and close_gaps() makes them take in arrivals. Collective; waits.
  template <class AllGroups, class CloseGaps>
  void exchange(const AllGroups& groups, const CloseGaps& close_gaps) {
    const auto counts = list_all(groups, close_gaps);
    std::vector<std::int64_t> leaving(counts.begin() + Counts::for_rank, counts.end());
    arriving_ = 0, arrived_ = nullptr, left_ = -1;
    Communicator& ranks = messages_.ranks();
    const auto partners = plasma::find_leaver_partners(ranks, slab_, leaving);
    if (!partners.any) return;
    std::vector<std::int64_t> coming(leaving.size());
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    for (const int rank : partners.ranks) {
      const auto r = static_cast<std::size_t>(rank);
      out.push_back({rank, &leaving[r], sizeof leaving[r]});
      in.push_back({rank, &coming[r], sizeof coming[r]});
    }
    ranks.exchange(out, in);
    std::int64_t leavers = 0;
    std::vector<unsigned> next(leaving.size());
    for (std::size_t r = 0; r < leaving.size(); ++r) {
      next[r] = static_cast<unsigned>(leavers);
      leavers += leaving[r], arriving_ += coming[r];
    }
    auto* const message = reinterpret_cast<Departure<Real>*>(messages_.outgoing(bytes(leavers)));
    auto* const arrived = reinterpret_cast<Departure<Real>*>(messages_.incoming(bytes(arriving_)));
    next_.from_host(next.data());
    launch("leavers of a slab", leavers, device_.stream(), PackDepartures<Real>{outbox(), next_.data(), message});
    out.clear(), in.clear();
    std::int64_t at = 0;
    for (const int rank : partners.ranks) {
      const auto r = static_cast<std::size_t>(rank);
      if (leaving[r] > 0) out.push_back({rank, message + next[r], static_cast<std::size_t>(bytes(leaving[r]))});
      if (coming[r] > 0) in.push_back({rank, arrived + at, static_cast<std::size_t>(bytes(coming[r]))});
      at += coming[r];
    }
    messages_.exchange(out, in);
    arrived_ = arrived;
  }

  /// Puts received particles into the inboxes: first all, then those that had no room. The groups must take them in
  /// afterwards. False if there are none. Waits, except the first time.
  template <int dimensions, int points>
  bool take_in(const Groups<Real>& groups, const SlabSums& charge, std::int64_t next_species) {
    const bool first = left_ < 0;
    if (first)
      left_ = arriving_;
    else if (left_ > 0)
      left_ = counts_.to_host()[Counts::waiting];
    if (left_ == 0) return false;
    if (waiting_[0].size() < arriving_)
      for (auto& list : waiting_) list = {}, list = Buffer<std::uint32_t>(device_, arriving_ + arriving_ / 8);
    device_.memory().zero(counts_.data() + Counts::waiting, sizeof(unsigned));
    launch("arrivals in a slab", left_, device_.stream(),
           TakeArrivals<dimensions, points, Real>{groups, arrived_, first ? nullptr : waiting_[0].data(),
                                                  waiting_[1].data(), charge, next_species});
    std::swap(waiting_[0], waiting_[1]);
    return true;
  }

  /// Memory on the device; messages are counted as long as the list.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(owner_.bytes() + counts_.bytes() + next_.bytes() + 3 * list_.bytes() +
                                     waiting_[0].bytes() + waiting_[1].bytes());
  }

 private:
  template <class T>
  static T* pointer(const Buffer<T>& buffer) {
    return const_cast<T*>(buffer.data());
  }
  static std::int64_t bytes(std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(Departure<Real>)); }

  /// Lists all leavers; returns their number for each rank.
  template <class AllGroups, class CloseGaps>
  std::vector<unsigned> list_all(const AllGroups& groups, const CloseGaps& close_gaps) {
    auto counts = counts_.to_host();
    while (counts[Counts::late] > 0) {
      close_gaps();
      const std::int64_t listed = std::min<std::int64_t>(counts[Counts::listed], list_.size());
      const std::int64_t wanted = listed + counts[Counts::late];
      if (wanted > list_.size()) {
        Buffer<Departure<Real>> longer(device_, wanted + wanted / 4);
        device_.memory().copy(longer.data(), list_.data(), static_cast<std::size_t>(bytes(listed)));
        device_.synchronize();
        list_ = std::move(longer);
      }
      counts[Counts::listed] = static_cast<unsigned>(listed), counts[Counts::late] = 0;
      counts_.from_host(counts.data());
      const Groups<Real> all = groups();
      list_late<<<static_cast<unsigned>(all.groups), 256, 0, handle(device_.stream())>>>(all);
      check(cudaGetLastError(), "list_late");
      counts = counts_.to_host();
    }
    return counts;
  }

  Device device_;
  plasma::TileSlab slab_;
  DeviceMessages messages_;
  Buffer<int> owner_;  // rank of each row of tiles
  Buffer<unsigned> counts_, next_;
  Buffer<Departure<Real>> list_;
  const Departure<Real>* arrived_ = nullptr;
  std::int64_t arriving_ = 0, left_ = 0;  // left: received particles without room; negative: all
  Buffer<std::uint32_t> waiting_[2];
};

}  // namespace pergola::cuda

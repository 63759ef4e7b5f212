#pragma once
// CUDA only: the sums over the pairs of a leaf's particles, by a warp or a team of warps, in open space.
//
// Rounding: the sum of one tile is in the walk's number type T; tiles are added to doubles in their order. Positions
// are measured from the centre of the target leaf: sources are shifted by the distance of the leaves' centres.
#include "device/launch.cuh"
#include "physics/pair.hpp"
#include "physics/separation.hpp"
#include "physics/split.hpp"
#include "tree/leaf_targets.cuh"

namespace pergola::tree {

/// Up to 32 leaves of a list, whose particles are counted through.
template <class T>
struct NearBatch {
  std::uint32_t end[32];   // of each leaf's particles
  std::uint32_t base[32];  // in the tree, particle k of the batch has place base + k
  Vec3<T> shift[32];       // from the target's centre to the leaf's
  bool own;                // the target is one of them; its particles are not counted
};

/// A warp's shared memory.
template <class T>
struct PairMemory {
  PlacedMass<T> source[near_tile];
  T softening[near_tile];
  NearBatch<T> batch;
};

/// Shared memory of the warps that serve a leaf, and what each of them found: acceleration and potential (as mass).
template <class T, int team>
struct TeamMemory {
  PairMemory<T> warp[team];
  PlacedMass<T> found[2][team][leaf_capacity / 32][32];  // of this round and of the one before
};
template <class T>
struct TeamMemory<T, 1> {
  PairMemory<T> warp[1];
};

/// A warp, or a block of `team` warps, serves a leaf. A lane has `per_lane` targets, all with the same sources.
///
/// Near leaves are read in batches of 32, their particles in tiles. Each warp of a team reads one batch; then the warps
/// share the tiles of all these batches. The first warp adds the sums of all in the order of the tiles. So a team has
/// the bits of one warp.
template <class T, int per_lane, class Kind, int team>
class PairSums : LeafTargets<T, per_lane, Kind> {
  using Base = LeafTargets<T, per_lane, Kind>;
  using Base::add, Base::at_, Base::by_particle, Base::cell_, Base::job_, Base::lane_, Base::lanes, Base::link_,
      Base::own, Base::softening_, Base::tree_, Base::with_potential;
  using typename Base::Law;
  using typename Base::Space;
  static_assert(!Kind::culls);

 public:
  /// `k`: the place of the target leaf among the targets; `warp` and `lane` of this thread within the team.
  __device__ PairSums(const SumJob<T, Space>& job, TeamMemory<T, team>& memory, std::uint32_t k, int warp, int lane)
      : Base(job, k, lane), team_(memory), memory_(memory.warp[warp]), warp_(warp) {}

  __device__ void serve() {
    ListReader near = this->near_list();
    while (!near.done()) {
      if constexpr (team > 1) __syncthreads();  // the batches before are done with
      int batches = 0;
      for (; batches < team && !near.done(); ++batches) {
        std::uint32_t cell = 0;
        const std::uint32_t count = near.take(lane_, cell);
        if (batches == warp_) look_up(cell, lane_ < static_cast<int>(count));
      }
      if constexpr (team > 1)
        __syncthreads();
      else
        __syncwarp();
      add_batches(batches);
    }
    if (warp_ == 0) this->finish();
  }

 private:
  /// Makes the warp's batch of one leaf per lane.
  __device__ void look_up(std::uint32_t cell, bool valid) {
    const bool own_leaf = valid && cell == cell_;
    CellLink l{};
    Vec3<T> shift{0, 0, 0};
    if (valid && !own_leaf) {
      l = tree_.link[cell];
      const CellRecord& s = tree_.record[cell];
      const Vec3<double> away = separation(this->centre_, {s.x, s.y, s.z}, job_.space);
      shift = {static_cast<T>(away.x), static_cast<T>(away.y), static_cast<T>(away.z)};
    }
    NearBatch<T>& batch = memory_.batch;
    const std::uint32_t end = lanes_scan(l.count, lane_);
    batch.end[lane_] = end;
    batch.base[lane_] = l.first + l.count - end;
    batch.shift[lane_] = shift;
    const bool own = __any_sync(all_lanes, own_leaf);
    if (lane_ == 0) batch.own = own;
  }

  /// The tiles of the team's batches. That of the own leaf comes after those of its batch and is dealt with by itself,
  /// for its particles must not act on themselves.
  __device__ void add_batches(int batches) {
    std::uint32_t total = 0, mine = 0;  // particles and tiles of the batch that is this lane's
    bool own = false;
    if (lane_ < batches) {
      const NearBatch<T>& batch = team_.warp[lane_].batch;
      total = batch.end[31], own = batch.own;
      mine = (total + near_tile - 1) / near_tile + (own ? 1 : 0);
    }
    const std::uint32_t end = lanes_scan(mine, lane_), tiles = __shfl_sync(all_lanes, end, 31);
    for (std::uint32_t first = 0; first < tiles; first += team) {
      const std::uint32_t tile = first + static_cast<std::uint32_t>(warp_);
      physics::PairSum<T> sum[per_lane] = {};
      if (team == 1 || tile < tiles) {
        const int at = __popc(__ballot_sync(all_lanes, end <= tile));  // its batch
        const std::uint32_t left = __shfl_sync(all_lanes, end, at) - tile,
                            begin = (__shfl_sync(all_lanes, mine, at) - left) * near_tile;
        const std::uint32_t size = __shfl_sync(all_lanes, total, at);
        if (left == 1 && __shfl_sync(all_lanes, own, at))
          add_own_leaf(sum);
        else
          add_tile(team_.warp[at].batch, begin, static_cast<int>(size - begin < near_tile ? size - begin : near_tile),
                   sum);
      }
      if constexpr (team == 1)
        add(sum);
      else
        add_of_team(sum, static_cast<int>(tiles - first));
    }
  }

  /// `size` particles of a batch from its particle `begin` on.
  __device__ void add_tile(const NearBatch<T>& batch, std::uint32_t begin, int size,
                           physics::PairSum<T> (&sum)[per_lane]) {
    for (int k = lane_; k - lane_ < size; k += 32) {
      // The leaf that holds particle begin + k.
      const std::uint32_t at = begin + static_cast<std::uint32_t>(k);
      int leaf = 0;
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (batch.end[leaf + step - 1] <= at) leaf += step;
      if (k < size) take_source(k, batch.base[leaf] + at, batch.shift[leaf]);
    }
    __syncwarp();
    sum_tile<false>(size, sum);
    __syncwarp();
  }
  __device__ void add_own_leaf(physics::PairSum<T> (&sum)[per_lane]) {
    for (int k = lane_; k < static_cast<int>(link_.count); k += 32)
      take_source(k, link_.first + static_cast<std::uint32_t>(k), {0, 0, 0});
    __syncwarp();
    sum_tile<true>(static_cast<int>(link_.count), sum);
    __syncwarp();
  }

  /// All warps of the block, of which the first `tiles` have found something, come here together. The others go on
  /// while the first adds up; they are back at this round's memory only after it has met them again.
  __device__ void add_of_team(const physics::PairSum<T> (&sum)[per_lane], int tiles) {
    auto& found = team_.found[round_];
    round_ ^= 1;
#pragma unroll
    for (int p = 0; p < per_lane; ++p) found[warp_][p][lane_] = {sum[p].ax, sum[p].ay, sum[p].az, sum[p].pot};
    __syncthreads();
    if (warp_ > 0) return;
    for (int w = 0; w < team && w < tiles; ++w) {
#pragma unroll
      for (int p = 0; p < per_lane; ++p) add(p, found[w][p][lane_]);
    }
  }
  /// Puts particle i of the tree into shared memory, shifted into the coordinates of the target leaf.
  __device__ void take_source(int to, std::uint32_t i, const Vec3<T>& away) {
    const PlacedMass<T> from = tree_.particle[i];
    memory_.source[to] = {from.x + away.x, from.y + away.y, from.z + away.z, from.mass};
    if constexpr (by_particle) memory_.softening[to] = tree_.softening[i];
  }

  /// A lane takes each parts-th source. self: the tile has the targets themselves, which are left out.
  template <bool self>
  __device__ void sum_tile(int size, physics::PairSum<T> (&sum)[per_lane]) {
#pragma unroll 4
    for (int j = lanes(0).part; j < size; j += lanes(0).parts) {
      const PlacedMass<T> from = memory_.source[j];
#pragma unroll
      for (int p = 0; p < per_lane; ++p) add_source<self>(j, p, from, sum[p]);
    }
  }
  template <bool self>
  __device__ void add_source(int j, int p, const PlacedMass<T>& from, physics::PairSum<T>& sum) const {
    Vec3<T> d = physics::separation(at_[p], {from.x, from.y, from.z});
    if constexpr (Kind::looks_for_images) {
      const Vec3<double>& period = job_.space.period;
      d = {nearest_image(d.x, static_cast<T>(period.x)), nearest_image(d.y, static_cast<T>(period.y)),
           nearest_image(d.z, static_cast<T>(period.z))};
    }
    T softening = softening_[p], mass = from.mass;
    if constexpr (by_particle) softening = Law::joint(softening, memory_.softening[j]);
    auto distance = Law::start(d, softening);
    if constexpr (self) {
      const auto zero = [&](T value) { return j == static_cast<int>(own(p)) ? T(0) : value; };
      Law::leave_out(zero, distance, mass);
      if constexpr (Space::periodic) mass = zero(mass);
    }
    if constexpr (Space::periodic)
      physics::add_short_range_pair<Law, with_potential, Kind::terms>(
          job_.space.law, d, mass, physics::softened_square(d, T(0)), distance, softening, sum);
    else
      Law::template add<false, with_potential>(d, d, mass, distance, softening, sum);
  }

  TeamMemory<T, team>& team_;
  PairMemory<T>& memory_;
  int warp_, round_ = 0;
};

}  // namespace pergola::tree

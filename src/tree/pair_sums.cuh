#pragma once
// CUDA only: what a warp, or a team of them, does to sum over the pairs of a leaf's particles.
#include "device/launch.cuh"
#include "physics/pair_laws.hpp"
#include "physics/separation.hpp"
#include "physics/split.hpp"
#include "tree/leaf_lanes.cuh"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

/// Particles that are summed over at a time.
inline constexpr int near_tile = 128;

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

/// What is known of all pairs of a kernel. by_particle: each particle has a softening length of its own. looks: pairs
/// look for their nearest images, in leaves as large as the box; else all act as their cells lie. terms: of the
/// polynomials of the short-range law.
template <class LawOf, bool by_particle_, class SpaceOf, bool with_potential_, bool looks, int terms_>
struct PairKind {
  using Law = LawOf;
  using Space = SpaceOf;
  static constexpr bool by_particle = by_particle_, with_potential = with_potential_, looks_for_images = looks;
  static constexpr int terms = terms_;
};

/// A warp, or a block of `team` warps, serves a leaf; a lane has `per_lane` targets, `apart` with a share of the
/// sources for each, or all of them for both. The near leaves come in batches of 32, their particles in tiles. Warps of
/// a team look up one batch each, then share the tiles of all these batches; the first adds up what they found in the
/// order of the tiles, so that a team has the bits of one warp.
template <class T, int per_lane, bool apart, class Kind, int team>
class PairSums {
  using Law = typename Kind::Law;
  using Space = typename Kind::Space;
  static constexpr bool by_particle = Kind::by_particle, with_potential = Kind::with_potential;
  /// Whether sources that reach none of the leaf's particles are left out of a tile.
  static constexpr bool culls = Space::periodic && !Kind::looks_for_images;

 public:
  __device__ PairSums(const SumJob<T, Space>& job, TeamMemory<T, team>& memory, std::uint32_t k, int warp, int lane)
      : job_(job),
        tree_(job.tree),
        team_(memory),
        memory_(memory.warp[warp]),
        warp_(warp),
        lane_(lane),
        k_(k),
        cell_(job.targets.cell(k)),
        link_(tree_.link[cell_]),
        centre_{tree_.record[cell_].x, tree_.record[cell_].y, tree_.record[cell_].z},
        first_(apart ? served_first(link_.count) : link_.count),
        lanes_{LeafLanes(first_, lane), LeafLanes(link_.count - first_, lane)} {
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      const std::uint32_t i = link_.first + (is_target(p) ? own(p) : 0);
      const PlacedMass<T> at = tree_.particle[i];
      at_[p] = {at.x, at.y, at.z};
      softening_[p] = by_particle ? tree_.softening[i] : static_cast<T>(tree_.same_epsilon2);
      psi_[p] = gx_[p] = gy_[p] = gz_[p] = 0;
    }
    if constexpr (culls) find_box();
  }

  __device__ void serve() {
    ListReader near(job_.lists.head[k_].near, job_.lists.place + std::int64_t{k_} * list_room + far_room + points_room,
                    near_room, job_.lists.pool);
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
    if (warp_ == 0) finish();
  }

 private:
  __device__ const LeafLanes& lanes(int p) const { return lanes_[apart ? p : 0]; }
  __device__ std::uint32_t own(int p) const {
    return static_cast<std::uint32_t>(lanes(p).own) + (apart ? first_ : 32) * static_cast<std::uint32_t>(p);
  }
  __device__ bool is_target(int p) const { return apart ? lanes(p).is_target : own(p) < link_.count; }

  /// Makes the warp's batch of one leaf per lane.
  __device__ void look_up(std::uint32_t cell, bool valid) {
    const bool own_leaf = valid && cell == cell_;
    CellLink l{};
    Vec3<T> shift{0, 0, 0};
    if (valid && !own_leaf) {
      l = tree_.link[cell];
      const CellRecord& s = tree_.record[cell];
      const Vec3<double> away = separation(centre_, {s.x, s.y, s.z}, job_.space);
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
    int taken = 0;  // of these
    for (int k = lane_; k - lane_ < size; k += 32) {
      // The leaf that holds particle begin + k.
      const std::uint32_t at = begin + static_cast<std::uint32_t>(k);
      int leaf = 0;
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (batch.end[leaf + step - 1] <= at) leaf += step;
      if constexpr (culls)
        take_within(k < size, batch.base[leaf] + at, batch.shift[leaf], taken);
      else if (k < size)
        take_source(k, batch.base[leaf] + at, batch.shift[leaf]);
    }
    __syncwarp();
    sum_tile<false>(culls ? taken : size, sum);
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
  __device__ void add(const physics::PairSum<T> (&sum)[per_lane]) {
#pragma unroll
    for (int p = 0; p < per_lane; ++p) add(p, {sum[p].ax, sum[p].ay, sum[p].az, sum[p].pot});
  }
  __device__ void add(int p, const PlacedMass<T>& found) {
    psi_[p] -= found.mass, gx_[p] += found.x, gy_[p] += found.y, gz_[p] += found.z;
  }
  __device__ void take_source(int to, std::uint32_t i, const Vec3<T>& away) {
    const PlacedMass<T> from = tree_.particle[i];
    memory_.source[to] = {from.x + away.x, from.y + away.y, from.z + away.z, from.mass};
    if constexpr (by_particle) memory_.softening[to] = tree_.softening[i];
  }

  /// The box of the leaf's particles.
  __device__ void find_box() {
    low_ = high_ = at_[0];
#pragma unroll
    for (int p = 1; p < per_lane; ++p) {
      low_ = {physics::smaller(low_.x, at_[p].x), physics::smaller(low_.y, at_[p].y),
              physics::smaller(low_.z, at_[p].z)};
      high_ = {physics::larger(high_.x, at_[p].x), physics::larger(high_.y, at_[p].y),
               physics::larger(high_.z, at_[p].z)};
    }
    low_ = {lanes_least<32>(low_.x), lanes_least<32>(low_.y), lanes_least<32>(low_.z)};
    high_ = {lanes_most<32>(high_.x), lanes_most<32>(high_.y), lanes_most<32>(high_.z)};
  }
  /// Takes those sources that are within the cut-off radius of the box, one after the other from `taken` on.
  __device__ void take_within(bool valid, std::uint32_t i, const Vec3<T>& away, int& taken) {
    const PlacedMass<T> from = valid ? tree_.particle[i] : PlacedMass<T>{};
    const Vec3<T> at{from.x + away.x, from.y + away.y, from.z + away.z};
    const auto beside = [](T value, T low, T high) {
      return physics::larger(physics::larger(low - value, value - high), T(0));
    };
    const Vec3<T> d{beside(at.x, low_.x, high_.x), beside(at.y, low_.y, high_.y), beside(at.z, low_.z, high_.z)};
    const bool takes = valid && physics::softened_square(d, T(0)) < job_.space.law.cut_off2;
    const unsigned takers = __ballot_sync(all_lanes, takes);
    if (takes) {
      const int to = taken + __popc(takers & ((1u << lane_) - 1));
      memory_.source[to] = {at.x, at.y, at.z, from.mass};
      if constexpr (by_particle) memory_.softening[to] = tree_.softening[i];
    }
    taken += __popc(takers);
  }

  template <bool self>
  __device__ void sum_tile(int size, physics::PairSum<T> (&sum)[per_lane]) {
    if constexpr (apart) {
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
#pragma unroll 4
        for (int j = lanes(p).part; j < size; j += lanes(p).parts) add_source<self>(j, p, memory_.source[j], sum[p]);
      }
    } else {
#pragma unroll 4
      for (int j = lanes(0).part; j < size; j += lanes(0).parts) {
        const PlacedMass<T> from = memory_.source[j];
#pragma unroll
        for (int p = 0; p < per_lane; ++p) add_source<self>(j, p, from, sum[p]);
      }
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

  __device__ void finish() {
    // The parts come together in the order of their lanes' bits.
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      for (int offset = lanes(p).width; offset < 32; offset *= 2) {
        psi_[p] += __shfl_xor_sync(all_lanes, psi_[p], offset);
        gx_[p] += __shfl_xor_sync(all_lanes, gx_[p], offset);
        gy_[p] += __shfl_xor_sync(all_lanes, gy_[p], offset);
        gz_[p] += __shfl_xor_sync(all_lanes, gz_[p], offset);
      }
    }
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      if (lanes(p).part > 0 || !is_target(p)) continue;
      const PlacedMass<T> far = job_.field[std::int64_t{k_} * leaf_capacity + own(p)];
      psi_[p] += far.mass, gx_[p] += far.x, gy_[p] += far.y, gz_[p] += far.z;
      write(p);
    }
  }
  __device__ void write(int p) const {
    const WalkOutput& out = job_.out;
    const std::uint32_t place = link_.first + own(p);
    const std::uint32_t source = out.order[place], slot = out.slot ? out.slot[place] : source;
    if (slot == no_slot) return;
    bool finite = put(out.ax, slot, out.per_gradient * gx_[p]);
    finite = put(out.ay, slot, out.per_gradient * gy_[p]) && finite;
    finite = put(out.az, slot, out.per_gradient * gz_[p]) && finite;
    if constexpr (with_potential) finite = put(out.potential, slot, -out.per_psi * psi_[p]) && finite;
    if (!finite) atomicMin(&job_.status->failed, static_cast<unsigned long long>(source));
  }
  __device__ bool put(void* to, std::int64_t at, double value) const {
    if (!to) return true;
    if (Space::periodic && job_.out.adds)  // not fused with the product before it: ranks add up elsewhere
      value = __dadd_rn(value, job_.out.doubles ? static_cast<const double*>(to)[at]
                                                : static_cast<double>(static_cast<const float*>(to)[at]));
    if (job_.out.doubles) {
      static_cast<double*>(to)[at] = value;
      return isfinite(value);
    }
    const auto number = static_cast<float>(value);
    static_cast<float*>(to)[at] = number;
    return isfinite(number);
  }

  const SumJob<T, Space>& job_;
  const CudaTree<T>& tree_;
  TeamMemory<T, team>& team_;
  PairMemory<T>& memory_;
  int warp_, lane_, round_ = 0;
  std::uint32_t k_, cell_;
  CellLink link_;
  Vec3<double> centre_;
  std::uint32_t first_;  // apart: how many are served in the lanes' first places
  LeafLanes lanes_[2];
  Vec3<T> at_[per_lane];
  T softening_[per_lane];
  Vec3<T> low_, high_;  // of all its particles; where sources are left out
  double psi_[per_lane], gx_[per_lane], gy_[per_lane], gz_[per_lane];
};

}  // namespace pergola::tree

#pragma once
// CUDA only: the sums over the pairs of a leaf's particles within a cut-off radius, by a warp or a team of warps.
//
// In a periodic box with a cut-off radius most particles of near leaves are out of reach. Testing them is cheaper than
// summing over them, so sources are culled first, against the box around the leaf's particles. A single warp fetches
// what it tests next while it tests (memcpy_async); in a team other warps hide the latency.
#include <cuda_pipeline.h>

#include <type_traits>

#include "device/launch.cuh"
#include "physics/pair.hpp"
#include "physics/separation.hpp"
#include "physics/split.hpp"
#include "tree/leaf_targets.cuh"

namespace pergola::tree {

/// Shared memory of the warps that serve a leaf. `source`: kept sources that are not summed yet. A warp tests `looks`
/// sources for each lane at a time.
template <class T, class Kind, int team>
struct ShortMemory {
  static constexpr int looks = team > 1 ? near_tile / 32 : 2, room = near_tile + team * looks * 32;

  /// Up to 32 leaves of a list that may have particles within reach, which are counted through.
  struct Batch {
    std::uint32_t begin[32];  // of each leaf's particles; the largest number where there is no leaf
    struct alignas(16) Leaf {
      Vec3<T> shift;       // from the target's centre to the leaf's
      std::uint32_t base;  // in the tree, particle k of the batch has place base + k
    } leaf[32];
    std::uint32_t total;
  };
  PlacedMass<T> source[room];
  // Of one warp: what its lanes look at now and next, as it is fetched.
  PlacedMass<T> fetched[team > 1 ? 1 : 2][team > 1 ? 1 : looks][32];
  T softening[Kind::by_particle ? room : 1];
  Batch batch[team];
  // Of this round and of the one before, by warp: how many were kept, and what was found.
  std::uint32_t kept[2][team];
  PlacedMass<T> found[team > 1 ? 2 : 1][team > 1 ? team : 1][2][team > 1 ? 32 : 1];
};

/// A warp, or a block of `team` warps, serves a leaf.
///
/// Steps: (1) test the particles of near leaves in order, the leaf's own particles first, in batches of 32 leaves,
/// (2) keep those within the cut-off radius of the box around the leaf's particles, (3) sum over a tile of kept sources
/// as soon as there are enough. A tile has the same sources whichever warp found them, and a team adds the sums of its
/// warps in order. So a team has the bits of one warp.
template <class T, class Kind, int team>
class ShortPairSums : LeafTargets<T, 2, Kind> {
  using Base = LeafTargets<T, 2, Kind>;
  using Base::at_, Base::by_particle, Base::cell_, Base::first_, Base::job_, Base::lane_, Base::lanes_, Base::link_,
      Base::own, Base::softening_, Base::tree_, Base::with_potential;
  using typename Base::Law;
  using typename Base::Space;
  using Memory = ShortMemory<T, Kind, team>;
  using Batch = typename Memory::Batch;
  /// Sources that a lane begins with before it is done with the first.
  static constexpr int at_once = 4, looks = Memory::looks;
  static_assert(near_tile == 32 * at_once);

 public:
  __device__ ShortPairSums(const SumJob<T, Space>& job, Memory& memory, std::uint32_t k, int warp, int lane)
      : Base(job, k, lane), memory_(memory), warp_(warp), kept_(static_cast<int>(link_.count)) {
    find_box();
  }

  __device__ void serve() {
    if (warp_ == 0) keep_own();
    ListReader near = this->near_list();
    while (!near.done()) {
      meet();  // the batches before are done with
      int batches = 0;
      for (; batches < team && !near.done(); ++batches) {
        std::uint32_t cell = 0;
        const std::uint32_t count = near.take(lane_, cell);
        if (batches == warp_) look_up(cell, lane_ < static_cast<int>(count));
      }
      meet();
      look_through(batches);
    }
    meet();
    if (warp_ > 0) return;
    add_rest();
    this->finish();
  }

 private:
  static __device__ void meet() {
    if constexpr (team > 1)
      __syncthreads();
    else
      __syncwarp();
  }

  /// The box of the leaf's particles.
  __device__ void find_box() {
    low_ = {physics::smaller(at_[0].x, at_[1].x), physics::smaller(at_[0].y, at_[1].y),
            physics::smaller(at_[0].z, at_[1].z)};
    high_ = {physics::larger(at_[0].x, at_[1].x), physics::larger(at_[0].y, at_[1].y),
             physics::larger(at_[0].z, at_[1].z)};
    low_ = {lanes_least<32>(low_.x), lanes_least<32>(low_.y), lanes_least<32>(low_.z)};
    high_ = {lanes_most<32>(high_.x), lanes_most<32>(high_.y), lanes_most<32>(high_.z)};
  }
  /// The square of the distance from it.
  __device__ T beside_box(const Vec3<T>& at) const {
    const auto beside = [](T value, T low, T high) {
      return physics::larger(physics::larger(low - value, value - high), T(0));
    };
    return physics::softened_square(
        {beside(at.x, low_.x, high_.x), beside(at.y, low_.y, high_.y), beside(at.z, low_.z, high_.z)}, T(0));
  }

  /// Appends a source to those that wait to be summed over, at place `to`.
  __device__ void keep(int to, const PlacedMass<T>& source, std::uint32_t i) {
    memory_.source[to] = source;
    if constexpr (by_particle) memory_.softening[to] = tree_.softening[i];
  }
  __device__ void keep_own() {
    for (std::uint32_t k = static_cast<std::uint32_t>(lane_); k < link_.count; k += 32)
      keep(static_cast<int>(k), tree_.particle[link_.first + k], link_.first + k);
  }

  /// Makes the warp's batch of one leaf per lane.
  __device__ void look_up(std::uint32_t cell, bool valid) {
    Batch& batch = memory_.batch[warp_];
    CellLink l{};
    Vec3<T> shift{0, 0, 0};
    valid = valid && cell != cell_;
    if (valid) {
      l = tree_.link[cell];
      const CellRecord& s = tree_.record[cell];
      const Vec3<double> away = separation(this->centre_, {s.x, s.y, s.z}, job_.space);
      shift = {static_cast<T>(away.x), static_cast<T>(away.y), static_cast<T>(away.z)};
      const T reach = (static_cast<T>(s.r) + static_cast<T>(job_.space.cut_off)) * T(1.00001);  // whatever the rounding
      valid = beside_box(shift) < reach * reach;
    }
    const std::uint32_t count = valid ? l.count : 0, end = lanes_scan(count, lane_);
    const unsigned filled = __ballot_sync(all_lanes, valid);
    batch.begin[lane_] = ~0u;
    if (lane_ == 31) batch.total = end;
    __syncwarp();
    if (!valid) return;
    const int to = __popc(filled & ((1u << lane_) - 1));
    batch.begin[to] = end - count;
    batch.leaf[to] = {shift, l.first + count - end};
  }

  /// Tests all particles of the batches, and sums as soon as a tile is full.
  __device__ void look_through(int batches) {
    constexpr std::uint32_t size = looks * 32;
    if constexpr (team == 1) {
      const Batch& batch = memory_.batch[0];
      const std::uint32_t total = batch.total;
      int leaf[looks] = {}, next[looks] = {}, turn = 0;
      ask_for(batch, 0, total, turn, leaf);
      for (std::uint32_t begin = 0; begin < total; begin += size) {
        turn ^= 1;
        ask_for(batch, begin + size, total, turn, next);
        __pipeline_wait_prior(1);
        PlacedMass<T> at[looks];
#pragma unroll
        for (int r = 0; r < looks; ++r) at[r] = memory_.fetched[turn ^ 1][r][lane_];
        look_at(batch, begin, total, leaf, at);
#pragma unroll
        for (int r = 0; r < looks; ++r) leaf[r] = next[r];
        if (kept_ >= near_tile) add_tile();
      }
    } else {
      // Warps take turns over the pieces of all batches.
      const std::uint32_t mine = lane_ < batches ? (memory_.batch[lane_].total + size - 1) / size : 0;
      const std::uint32_t end = lanes_scan(mine, lane_), pieces = __shfl_sync(all_lanes, end, 31);
      for (std::uint32_t first = 0; first < pieces; first += team) {
        const std::uint32_t piece = first + static_cast<std::uint32_t>(warp_);
        const int at = __popc(__ballot_sync(all_lanes, end <= piece)) % 32;
        const std::uint32_t before = __shfl_sync(all_lanes, end - mine, at);
        const bool has_piece = piece < pieces;
        const Batch& batch = memory_.batch[has_piece ? at : 0];
        const std::uint32_t begin = (piece - before) * size, total = has_piece ? batch.total : 0;
        int leaf[looks];
        find_leaves(batch, begin, leaf);
        PlacedMass<T> found[looks];
#pragma unroll
        for (int r = 0; r < looks; ++r) {
          found[r] = {};
          if (const std::uint32_t k = of_lane(begin, r); k < total)
            found[r] = tree_.particle[batch.leaf[leaf[r]].base + k];
        }
        look_at(batch, begin, total, leaf, found);
        if (kept_ >= near_tile) add_tiles_of_team();
      }
    }
  }

  /// The particle of a batch that the lane looks at as its r-th from `begin` on.
  __device__ std::uint32_t of_lane(std::uint32_t begin, int r) const {
    return begin + static_cast<std::uint32_t>(32 * r + lane_);
  }
  /// Their leaves, each the last that begins before its particle or there.
  __device__ void find_leaves(const Batch& batch, std::uint32_t begin, int (&leaf)[looks]) const {
    const std::uint32_t up_to_lane = 0xffffffffu >> (31 - lane_), leaf_begin = batch.begin[lane_];
    int before = __popc(__ballot_sync(all_lanes, leaf_begin < begin)) - 1;
#pragma unroll
    for (int r = 0; r < looks; ++r) {
      const std::uint32_t offset = leaf_begin - (begin + 32 * static_cast<std::uint32_t>(r));
      const unsigned begins = __reduce_or_sync(all_lanes, offset < 32 ? 1u << offset : 0u);
      leaf[r] = before + __popc(begins & up_to_lane);
      before += __popc(begins);
    }
  }
  /// Begins to fetch them, each for its own lane. Does not wait.
  __device__ void ask_for(const Batch& batch, std::uint32_t begin, std::uint32_t total, int turn, int (&leaf)[looks]) {
    if (begin < total) find_leaves(batch, begin, leaf);
#pragma unroll
    for (int r = 0; r < looks; ++r) {
      const std::uint32_t k = of_lane(begin, r);
      if (k >= total) continue;
      const auto* const from = reinterpret_cast<const float4*>(&tree_.particle[batch.leaf[leaf[r]].base + k]);
      auto* const to = reinterpret_cast<float4*>(&memory_.fetched[turn][r][lane_]);
#pragma unroll
      for (int part = 0; part < static_cast<int>(sizeof(PlacedMass<T>) / sizeof(float4)); ++part)
        __pipeline_memcpy_async(to + part, from + part, sizeof(float4));
    }
    __pipeline_commit();
  }

  /// Keeps those of a batch's particles from `begin` on that are within the cut-off radius of the box. at: as they lie
  /// in their leaves.
  __device__ void look_at(const Batch& batch, std::uint32_t begin, std::uint32_t total, const int (&leaf)[looks],
                          PlacedMass<T> (&at)[looks]) {
    const std::uint32_t before_lane = 0x7fffffffu >> (31 - lane_);
    unsigned takers[looks];
    std::uint32_t kept = 0;
#pragma unroll
    for (int r = 0; r < looks; ++r) {
      const bool valid = of_lane(begin, r) < total;
      const Vec3<T> away = batch.leaf[valid ? leaf[r] : 0].shift;
      at[r].x += away.x, at[r].y += away.y, at[r].z += away.z;
      takers[r] = __ballot_sync(all_lanes, valid && beside_box({at[r].x, at[r].y, at[r].z}) < job_.space.law.cut_off2);
      kept += static_cast<std::uint32_t>(__popc(takers[r]));
    }
    int to = kept_;
    if constexpr (team > 1) {
      auto& kept_by = memory_.kept[turn_];
      turn_ ^= 1;
      if (lane_ == 0) kept_by[warp_] = kept;
      __syncthreads();
      for (int w = 0; w < team; ++w) {
        const int of = static_cast<int>(kept_by[w]);
        to += w < warp_ ? of : 0, kept_ += of;
      }
    } else {
      kept_ += static_cast<int>(kept);
    }
#pragma unroll
    for (int r = 0; r < looks; ++r) {
      if (takers[r] >> lane_ & 1u)
        keep(to + __popc(takers[r] & before_lane), at[r], batch.leaf[leaf[r]].base + of_lane(begin, r));
      to += __popc(takers[r]);
    }
  }

  /// One full tile by a single warp; the sources that are left move to the front.
  __device__ void add_tile() {
    __syncwarp();
    physics::PairSum<T> sum[2] = {};
    sum_tile(0, near_tile, sum);
    this->add(sum);
    __syncwarp();
    for (int k = lane_; near_tile + k < kept_; k += 32) move_to_front(k, near_tile + k);
    kept_ -= near_tile;
    __syncwarp();
  }

  /// Whole tiles, as many as there are, at most one for each warp. All warps come here together; the others go on while
  /// the first adds up, and are back at this round's memory only after it has met them again.
  __device__ void add_tiles_of_team() {
    __syncthreads();
    const int tiles = kept_ / near_tile;
    auto& found = memory_.found[round_];
    round_ ^= 1;
    physics::PairSum<T> sum[2] = {};
    if (warp_ < tiles) sum_tile(warp_ * near_tile, near_tile, sum);
#pragma unroll
    for (int p = 0; p < 2; ++p) found[warp_][p][lane_] = {sum[p].ax, sum[p].ay, sum[p].az, sum[p].pot};
    __syncthreads();
    has_own_ = false;
    static_assert(team == 1 || team * 32 >= near_tile);
    const int k = warp_ * 32 + lane_, rest = tiles * near_tile;
    if (rest + k < kept_) move_to_front(k, rest + k);
    kept_ -= rest;
    if (warp_ > 0) return;
    for (int w = 0; w < tiles; ++w) {
#pragma unroll
      for (int p = 0; p < 2; ++p) Base::add(p, found[w][p][lane_]);
    }
  }
  __device__ void move_to_front(int to, int from) {
    memory_.source[to] = memory_.source[from];
    if constexpr (by_particle) memory_.softening[to] = memory_.softening[from];
  }

  /// What is left in the end, filled up with sources that do nothing, beyond the cut-off radius.
  __device__ void add_rest() {
    if (kept_ == 0) return;
    const int parts = first_ < link_.count && lanes_[1].parts > lanes_[0].parts ? lanes_[1].parts : lanes_[0].parts;
    const int granule = at_once * parts, size = (kept_ + granule - 1) / granule * granule;
    for (int k = kept_ + lane_; k < size; k += 32) {
      memory_.source[k] = {high_.x + T(2) * static_cast<T>(job_.space.cut_off), high_.y, high_.z, T(0)};
      if constexpr (by_particle) memory_.softening[k] = softening_[0];
    }
    __syncwarp();
    physics::PairSum<T> sum[2] = {};
    sum_tile(0, size, sum);
    this->add(sum);
  }

  /// Sources first … first + size − 1. The leaf's own are the first that are summed over.
  __device__ void sum_tile(int first, int size, physics::PairSum<T> (&sum)[2]) {
    if (has_own_ && first == 0)
      sum_sources<true>(first, size, sum);
    else
      sum_sources<false>(first, size, sum);
    if constexpr (team == 1) has_own_ = false;
  }
  template <bool self>
  __device__ void sum_sources(int first, int size, physics::PairSum<T> (&sum)[2]) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      if (p > 0 && first_ == link_.count) return;
      const int parts = lanes_[p].parts, end = first + size;
      for (int j = first + lanes_[p].part; j < end; j += at_once * parts) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) add_source<self>(j + i * parts, p, sum[p]);
      }
    }
  }
  /// `square` is shared by the law and the cut-off. Beyond the cut-off the pair adds nothing.
  template <bool self>
  __device__ __forceinline__ void add_source(int j, int p, physics::PairSum<T>& sum) const {
    const PlacedMass<T> from = memory_.source[j];
    const Vec3<T> d = physics::separation(at_[p], {from.x, from.y, from.z});
    const T square = physics::softened_square(d, T(0));
    T softening = softening_[p], mass = from.mass;
    if constexpr (by_particle) softening = Law::joint(softening, memory_.softening[j]);
    auto distance = start_from(d, square, softening);
    if constexpr (self) {
      const auto zero = [&](T value) { return j == static_cast<int>(own(p)) ? T(0) : value; };
      Law::leave_out(zero, distance, mass);
      mass = zero(mass);
    }
    if constexpr (std::is_same_v<Law, physics::PlummerLaw>)
      add_plummer(d, mass, square, distance, sum);
    else
      physics::add_short_range_pair<Law, with_potential, Kind::terms>(job_.space.law, d, mass, square, distance,
                                                                      softening, sum);
  }
  /// physics::add_short_range_pair() with the mass at the end and the polynomial summed onto Newton's law: 25
  /// instructions where that has 28.
  __device__ __forceinline__ void add_plummer(const Vec3<T>& d, T mass, T square, T inverse,
                                              physics::PairSum<T>& sum) const {
    const auto& law = job_.space.law;
    const T z = physics::split_place(law, square);
    T rest = -law.attraction[Kind::terms - 1];
#pragma unroll
    for (int p = Kind::terms - 2; p > 0; --p) rest = physics::mul_add(rest, z, -law.attraction[p]);
    const T newton = physics::mul_add(inverse * inverse, inverse, -law.attraction[0]);
    add_within(square, mass * physics::mul_add(rest, z, newton), d, sum);
    if constexpr (with_potential) {
      const T depth = physics::first_split_terms<Kind::terms>(law.depth, z);
      sum.pot -= square < law.cut_off2 ? mass * (inverse - depth) : T(0);
    }
  }
  /// Adds attraction d where the square is within that of the cut-off radius.
  __device__ __forceinline__ void add_within(T square, T attraction, const Vec3<T>& d, physics::PairSum<T>& sum) const {
    const T cut_off2 = job_.space.law.cut_off2;
    if constexpr (sizeof(T) == 4) {  // nvcc would choose between sums, one instruction more for each pair
      asm("{\n\t.reg .pred within;\n\tsetp.lt.f32 within, %3, %4;\n\t"
          "@within fma.rn.f32 %0, %5, %6, %0;\n\t@within fma.rn.f32 %1, %5, %7, %1;\n\t"
          "@within fma.rn.f32 %2, %5, %8, %2;\n\t}"
          : "+f"(sum.ax), "+f"(sum.ay), "+f"(sum.az)
          : "f"(square), "f"(cut_off2), "f"(attraction), "f"(d.x), "f"(d.y), "f"(d.z));
    } else if (square < cut_off2) {
      sum.ax = physics::mul_add(attraction, d.x, sum.ax);
      sum.ay = physics::mul_add(attraction, d.y, sum.ay);
      sum.az = physics::mul_add(attraction, d.z, sum.az);
    }
  }
  /// Law::start() where the square of d is known.
  static __device__ __forceinline__ auto start_from(const Vec3<T>& d, T square, T softening) {
    if constexpr (std::is_same_v<Law, physics::PlummerLaw>)
      return physics::rsqrt(square + softening);
    else
      return Law::start(d, softening);
  }

  Memory& memory_;
  int warp_, round_ = 0, turn_ = 0;
  int kept_;             // sources that wait
  bool has_own_ = true;  // the leaf's particles are among them
  Vec3<T> low_, high_;
};

}  // namespace pergola::tree

#pragma once
// CUDA only: sums over pairs of particles of leaves, for one number type.
#include "device/launch.cuh"
#include "physics/pair_laws.hpp"
#include "physics/separation.hpp"
#include "tree/leaf_lanes.cuh"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

inline constexpr unsigned pair_warps = 4;
/// Particles that are summed over at a time.
inline constexpr int near_tile = 128;

/// A warp's shared memory.
template <class T>
struct PairMemory {
  PlacedMass<T> source[near_tile];
  T softening[near_tile];
  std::uint32_t near_end[32];
};

/// A warp serves a leaf; a lane has `per_lane` targets. by_particle: each particle has a softening length of its own.
template <class T, int per_lane, class Law, bool by_particle, bool with_potential>
class PairSums {
 public:
  __device__ PairSums(const SumJob<T>& job, PairMemory<T>& memory, std::uint32_t k, int lane)
      : job_(job),
        tree_(job.tree),
        memory_(memory),
        lane_(lane),
        k_(k),
        cell_(job.targets.cell(k)),
        link_(tree_.link[cell_]),
        centre_{tree_.record[cell_].x, tree_.record[cell_].y, tree_.record[cell_].z},
        lanes_(link_.count, lane) {
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      const std::uint32_t i = link_.first + (is_target(p) ? own(p) : 0);
      const PlacedMass<T> at = tree_.particle[i];
      at_[p] = {at.x, at.y, at.z};
      softening_[p] = by_particle ? tree_.softening[i] : static_cast<T>(tree_.same_epsilon2);
      psi_[p] = gx_[p] = gy_[p] = gz_[p] = 0;
    }
  }

  __device__ void serve() {
    ListReader near(job_.lists.head[k_].near, job_.lists.place + std::int64_t{k_} * list_room + far_room + points_room,
                    near_room, job_.lists.pool);
    while (!near.done()) {
      std::uint32_t cell = 0;
      const std::uint32_t count = near.take(lane_, cell);
      add_near(cell, lane_ < static_cast<int>(count));
    }
    finish();
  }

 private:
  __device__ std::uint32_t own(int p) const { return static_cast<std::uint32_t>(lanes_.own + 32 * p); }
  __device__ bool is_target(int p) const { return own(p) < link_.count; }

  /// The particles of up to 32 leaves, a tile at a time. The own leaf is dealt with by itself, for its particles must
  /// not act on themselves.
  __device__ void add_near(std::uint32_t cell, bool valid) {
    const bool own_leaf = valid && cell == cell_;
    CellLink l{};
    Vec3<T> shift{0, 0, 0};
    if (valid && !own_leaf) {
      l = tree_.link[cell];
      const CellRecord& s = tree_.record[cell];
      shift = {static_cast<T>(s.x - centre_.x), static_cast<T>(s.y - centre_.y), static_cast<T>(s.z - centre_.z)};
    }
    const std::uint32_t end = lanes_scan(l.count, lane_);
    const std::uint32_t total = __shfl_sync(all_lanes, end, 31);
    memory_.near_end[lane_] = end;
    __syncwarp();
    for (std::uint32_t begin = 0; begin < total; begin += near_tile) {
      const int size = static_cast<int>(total - begin < near_tile ? total - begin : near_tile);
      for (int k = lane_; k - lane_ < size; k += 32) {
        // The leaf that holds particle begin + k of the list.
        const std::uint32_t at = begin + static_cast<std::uint32_t>(k);
        int leaf = 0;
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
          if (memory_.near_end[leaf + step - 1] <= at) leaf += step;
        const std::uint32_t last = memory_.near_end[leaf];
        const std::uint32_t after = __shfl_sync(all_lanes, l.first + l.count, leaf);
        const Vec3<T> away{__shfl_sync(all_lanes, shift.x, leaf), __shfl_sync(all_lanes, shift.y, leaf),
                           __shfl_sync(all_lanes, shift.z, leaf)};
        if (k < size) take_source(k, after - (last - at), away);
      }
      __syncwarp();
      add_tile<false>(size);
      __syncwarp();
    }
    if (!__any_sync(all_lanes, own_leaf)) return;
    for (int k = lane_; k < static_cast<int>(link_.count); k += 32)
      take_source(k, link_.first + static_cast<std::uint32_t>(k), {0, 0, 0});
    __syncwarp();
    add_tile<true>(static_cast<int>(link_.count));
    __syncwarp();
  }
  __device__ void take_source(int to, std::uint32_t i, const Vec3<T>& away) {
    const PlacedMass<T> from = tree_.particle[i];
    memory_.source[to] = {from.x + away.x, from.y + away.y, from.z + away.z, from.mass};
    if constexpr (by_particle) memory_.softening[to] = tree_.softening[i];
  }

  template <bool self>
  __device__ void add_tile(int size) {
    physics::PairSum<T> sum[per_lane] = {};
#pragma unroll 4
    for (int j = lanes_.part; j < size; j += lanes_.parts) {
      PlacedMass<T> from = memory_.source[j];
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
        const Vec3<T> d = physics::separation(at_[p], {from.x, from.y, from.z});
        T softening = softening_[p], mass = from.mass;
        if constexpr (by_particle) softening = Law::joint(softening, memory_.softening[j]);
        auto distance = Law::start(d, softening);
        if constexpr (self)
          Law::leave_out([&](T value) { return j == static_cast<int>(own(p)) ? T(0) : value; }, distance, mass);
        Law::template add<false, with_potential>(d, d, mass, distance, softening, sum[p]);
      }
    }
#pragma unroll
    for (int p = 0; p < per_lane; ++p)
      psi_[p] -= sum[p].pot, gx_[p] += sum[p].ax, gy_[p] += sum[p].ay, gz_[p] += sum[p].az;
  }

  __device__ void finish() {
    // The parts come together in the order of their lanes' bits.
    for (int offset = lanes_.width; offset < 32; offset *= 2) {
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
        psi_[p] += __shfl_xor_sync(all_lanes, psi_[p], offset);
        gx_[p] += __shfl_xor_sync(all_lanes, gx_[p], offset);
        gy_[p] += __shfl_xor_sync(all_lanes, gy_[p], offset);
        gz_[p] += __shfl_xor_sync(all_lanes, gz_[p], offset);
      }
    }
    if (lanes_.part > 0) return;
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      if (!is_target(p)) continue;
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
    if (job_.out.doubles) {
      static_cast<double*>(to)[at] = value;
      return isfinite(value);
    }
    const auto number = static_cast<float>(value);
    static_cast<float*>(to)[at] = number;
    return isfinite(number);
  }

  const SumJob<T>& job_;
  const CudaTree<T>& tree_;
  PairMemory<T>& memory_;
  int lane_;
  std::uint32_t k_, cell_;
  CellLink link_;
  Vec3<double> centre_;
  LeafLanes lanes_;
  Vec3<T> at_[per_lane];
  T softening_[per_lane];
  double psi_[per_lane], gx_[per_lane], gy_[per_lane], gz_[per_lane];
};

template <class T, class Law, bool by_particle, bool with_potential>
__global__ void __launch_bounds__(pair_warps * 32, sizeof(T) == 4 ? 8 : 4)
    pair_kernel(const __grid_constant__ SumJob<T> job) {
  __shared__ PairMemory<T> memory[pair_warps];
  const unsigned warp = threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t k = blockIdx.x * pair_warps + warp;
  if (k >= job.targets.count) return;
  const CellLink link = job.tree.link[job.targets.cell(k)];
  if (link.children > 0) return;
  static_assert(leaf_capacity == 64);
  if (link.count <= 32)
    PairSums<T, 1, Law, by_particle, with_potential>(job, memory[warp], k, lane).serve();
  else
    PairSums<T, 2, Law, by_particle, with_potential>(job, memory[warp], k, lane).serve();
}

template <class T>
void sum_pairs(const SumJob<T>& job, Stream stream) {
  const unsigned blocks = (job.targets.count + pair_warps - 1) / pair_warps;
  const auto launch = [&]<class Law, bool by_particle>() {
    if (job.out.potential)
      pair_kernel<T, Law, by_particle, true><<<blocks, pair_warps * 32, 0, cuda::handle(stream)>>>(job);
    else
      pair_kernel<T, Law, by_particle, false><<<blocks, pair_warps * 32, 0, cuda::handle(stream)>>>(job);
  };
  switch (job.tree.law) {
    case PairLaw::plummer:
      launch.template operator()<physics::PlummerLaw, false>();
      break;
    case PairLaw::plummer_by_particle:
      launch.template operator()<physics::PlummerLaw, true>();
      break;
    case PairLaw::spline:
      launch.template operator()<physics::SplineLaw, true>();
  }
  cuda::check(cudaGetLastError(), "tree pairs");
}

}  // namespace pergola::tree

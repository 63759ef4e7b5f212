#pragma once
// CUDA only: how the lanes of a warp serve the particles of a leaf, and what becomes of their sums.
#include <cstdint>

//
// The pair kernels of open space and of the short range derive from LeafTargets: it loads the targets, and finish()
// joins the parts of the lanes, adds the field of far cells, and writes the answers in the units of the caller.
#include "physics/pair.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

/// The distribution of targets over lanes. If there are few targets, groups of lanes share the sources.
struct LeafLanes {
  int width, part, parts;
  int own;  // the lane's target
  bool is_target;

  __device__ LeafLanes(std::uint32_t count, int lane) {
    width = count <= 1 ? 1 : count > 16 ? 32 : 1 << (32 - __clz(static_cast<int>(count) - 1));
    part = lane / width;
    parts = 32 / width;
    own = lane % width;
    is_target = own < static_cast<int>(count);
  }
};

/// The number of targets, of up to 64, that are served first, if that keeps more lanes busy: a power of two, with at
/// most half of it left over. 0: all are served together.
__device__ __forceinline__ std::uint32_t served_first(std::uint32_t count) {
  const std::uint32_t first = count <= 2 ? 1 : 1u << (31 - __clz(static_cast<int>(count) - 1));
  return count > first && 2 * count <= 3 * first ? first : 0;
}

/// The number of sources in a tile.
inline constexpr int near_tile = 128;

/// What holds for all pairs of a kernel. by_particle: each particle has its own softening length. looks: each pair
/// finds its nearest image (leaves as large as the box); else the image is that of the cells. terms: of the polynomials
/// of the short-range law.
template <class LawOf, bool by_particle_, class SpaceOf, bool with_potential_, bool looks, int terms_>
struct PairKind {
  using Law = LawOf;
  using Space = SpaceOf;
  static constexpr bool by_particle = by_particle_, with_potential = with_potential_, looks_for_images = looks;
  static constexpr int terms = terms_;
  /// Whether sources that reach none of the leaf's particles are left out.
  static constexpr bool culls = Space::periodic && !looks;
};

/// A lane has `per_lane` targets: with a part of the sources for each (Kind::culls), or all sources for both.
template <class T, int per_lane, class Kind>
class LeafTargets {
 protected:
  using Law = typename Kind::Law;
  using Space = typename Kind::Space;
  static constexpr bool by_particle = Kind::by_particle, with_potential = Kind::with_potential, apart = Kind::culls;

  __device__ LeafTargets(const SumJob<T, Space>& job, std::uint32_t k, int lane)
      : job_(job),
        tree_(job.tree),
        lane_(lane),
        k_(k),
        cell_(job.targets.cell(k)),
        link_(tree_.link[cell_]),
        centre_{tree_.record[cell_].x, tree_.record[cell_].y, tree_.record[cell_].z},
        first_(apart ? first_of(link_.count) : link_.count),
        lanes_{LeafLanes(first_, lane), LeafLanes(link_.count - first_, lane)} {
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      const std::uint32_t i = link_.first + (is_target(p) ? own(p) : 0);
      const PlacedMass<T> at = tree_.particle[i];
      at_[p] = {at.x, at.y, at.z};
      softening_[p] = by_particle ? tree_.softening[i] : static_cast<T>(tree_.same_epsilon2);
      psi_[p] = gx_[p] = gy_[p] = gz_[p] = 0;
    }
  }

  __device__ ListReader near_list() const {
    return ListReader(job_.lists.head[k_].near,
                      job_.lists.place + std::int64_t{k_} * list_room + far_room + points_room, near_room,
                      job_.lists.pool);
  }
  __device__ const LeafLanes& lanes(int p) const { return lanes_[apart ? p : 0]; }
  __device__ std::uint32_t own(int p) const {
    return static_cast<std::uint32_t>(lanes(p).own) + (apart ? first_ : 32) * static_cast<std::uint32_t>(p);
  }
  __device__ bool is_target(int p) const { return apart ? lanes(p).is_target : own(p) < link_.count; }

  /// Adds the sums of one tile, in the walk's number type, to the doubles of the leaf.
  __device__ void add(const physics::PairSum<T> (&sum)[per_lane]) {
#pragma unroll
    for (int p = 0; p < per_lane; ++p) add(p, {sum[p].ax, sum[p].ay, sum[p].az, sum[p].pot});
  }
  __device__ void add(int p, const PlacedMass<T>& found) {
    psi_[p] -= found.mass, gx_[p] += found.x, gy_[p] += found.y, gz_[p] += found.z;
  }

  __device__ void finish() {
    // Parts are added in the order of their lanes' bits.
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      if (apart && p > 0 && first_ == link_.count) break;
      for (int offset = lanes(p).width; offset < 32; offset *= 2) {
        if constexpr (with_potential) psi_[p] += __shfl_xor_sync(all_lanes, psi_[p], offset);
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

 private:
  static __device__ std::uint32_t first_of(std::uint32_t count) {
    const std::uint32_t first = served_first(count);
    return first > 0 ? first : count < 32 ? count : 32;
  }
  /// Answers go to the target's slot among those wanted; particles that are not wanted have no_slot.
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

 protected:
  const SumJob<T, Space>& job_;
  const CudaTree<T>& tree_;
  int lane_;
  std::uint32_t k_, cell_;
  CellLink link_;
  Vec3<double> centre_;
  std::uint32_t first_;  // apart: how many are served in the lanes' first places
  LeafLanes lanes_[2];
  Vec3<T> at_[per_lane];
  T softening_[per_lane];
  double psi_[per_lane], gx_[per_lane], gy_[per_lane], gz_[per_lane];
};

}  // namespace pergola::tree

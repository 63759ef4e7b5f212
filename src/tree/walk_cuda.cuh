#pragma once
// CUDA only: the walk of tree/walk.hpp on the device, level by level, a warp per target.
//
// The cells of a level are served in batches, in four steps: (1) traverse(): the lists of cells that act on each
// target, (2) sum_far() and inherit(): the expansions of far cells, and those of the parent, (3) sum_fields(): what
// expansions do to the particles of leaves, (4) sum_pairs(): the pairs of leaves, and the forces. Lists have a fixed
// place per target and continue in segments of a pool. If the pool is too small, the walk reports how much it needs
// (WalkStatus) and is done again. Always: a target's lists and sums do not depend on the other targets, on batches, or
// on the order of atomics. Space is OpenSpace, CutOffBox or ShortRangeBox<T> of tree/walk.hpp.
#include <cstdint>

#include "device/device.hpp"
#include "tree/cells_cuda.cuh"
#include "tree/walk.hpp"

namespace pergola::tree {

inline constexpr std::uint32_t segment_size = 64;

/// Segments that lists continue in.
struct SegmentPool {
  std::uint32_t* entries = nullptr;  // segment_size per segment
  std::uint32_t* next = nullptr;     // per segment: the one that follows
  std::uint32_t segments = 0;
  std::uint32_t* used = nullptr;  // requested, also beyond `segments`
};

/// A list: `count` cells, the first `room` of them where the target has its place, the rest in a chain of segments.
struct ListHead {
  std::uint32_t count, chain;
};

/// Lists of the targets that are served together.
struct TargetLists {
  ListHead far, points, near;
  std::uint32_t looks_for_images;  // 1: of the near pairs other images than those of their cells may act
  std::uint32_t unused;
};
inline constexpr std::uint32_t far_room = 3 * segment_size, points_room = segment_size, near_room = segment_size,
                               list_room = far_room + points_room + near_room;

/// Written by the walk, read by the host after it.
struct WalkStatus {
  unsigned long long failed;  // the lowest place of a source whose force is not finite
  std::uint32_t lists_most;   // segments that lists requested, if there were too few
  std::uint32_t passes_most;  // the same for the lists for the children of a level
};

/// The targets of a batch: cells first … first + count − 1, or those numbers of `which`.
struct WalkTargets {
  const std::uint32_t* which = nullptr;  // null: all cells
  std::uint32_t first = 0, count = 0;
  __device__ std::uint32_t cell(std::uint32_t k) const { return which ? which[first + k] : first + k; }
};

struct WalkLists {
  TargetLists* head = nullptr;     // per target served together
  std::uint32_t* place = nullptr;  // list_room entries per target
  SegmentPool pool;
};

/// The leaves of a batch in the order of falling work, so that no heavy leaf is served last. No sum depends on the
/// order. Null: the order of the targets.
struct LeafOrder {
  static constexpr int classes = 128;  // of work: four per octave, the last of leaves that look for images
  std::uint32_t* leaf = nullptr;       // which of the targets
  std::uint32_t* counts = nullptr;     // of leaves by class, then of those that were placed, then of all
  static constexpr std::uint32_t counters = 2 * classes + 1;
  __device__ std::uint32_t looking() const { return counts[classes - 1]; }
  __device__ std::uint32_t all() const { return counts[2 * classes]; }
};

/// Lists that cells leave to their children.
struct PassLists {
  ListHead* head = nullptr;  // per cell
  SegmentPool pool;
};

/// Lists of cells do not depend on the law.
inline OpenSpace reach_of(const OpenSpace& space) { return space; }
inline CutOffBox reach_of(const CutOffBox& space) { return space; }

/// As pergola::nearest_image, for two places in the box: no division.
__device__ __forceinline__ double nearest_image_within(double d, double period) {
  return fabs(d) > 0.5 * period ? d - (d > 0 ? period : -period) : d;
}
/// From one place in the box to another: in a periodic box, to its nearest image.
template <class Space>
__device__ __forceinline__ Vec3<double> separation(const Vec3<double>& from, const Vec3<double>& to,
                                                   [[maybe_unused]] const Space& space) {
  if constexpr (Space::periodic)
    return {nearest_image_within(to.x - from.x, space.period.x), nearest_image_within(to.y - from.y, space.period.y),
            nearest_image_within(to.z - from.z, space.period.z)};
  else
    return {to.x - from.x, to.y - from.y, to.z - from.z};
}

inline constexpr std::uint32_t no_slot = 0xffffffffu;

/// The arrays of results, float or double, by target; null for what is not wanted.
struct WalkOutput {
  void *ax = nullptr, *ay = nullptr, *az = nullptr, *potential = nullptr;
  bool doubles = false;
  double per_psi = 0, per_gradient = 0;
  const std::uint32_t* order = nullptr;  // source of each particle in the tree's order
  const std::uint32_t* slot = nullptr;   // target that it is, or no_slot; null: all ask
  bool adds = false;                     // in a periodic box: to what the arrays hold, the long range's
};

/// Space: OpenSpace or ShortRangeBox<T>.
template <class T, class Space>
struct SumJob {
  Space space;
  CudaTree<T> tree;
  WalkTargets targets;
  WalkLists lists;
  T* local = nullptr;              // multipole_stride(order) per cell
  PlacedMass<T>* field = nullptr;  // leaf_capacity per target: ∇ψ and ψ (as mass) of all that acts through expansions
  WalkOutput out;
  WalkStatus* status = nullptr;
  LeafOrder leaves;
};

/// Whether there are too few targets to fill a GPU. More lanes then serve each target, with the same sums in the same
/// order. If softening lengths differ, the limit is four times higher: a leaf with one length among many particles with
/// another length has a long list.
template <class T, class Space>
bool has_few_targets(const SumJob<T, Space>& job) {
  return job.targets.count <= (job.tree.by_particle ? 16384 : 4096);
}

/// Sums the expansions of the targets' far cells.
template <class T, class Space>
void sum_far(const SumJob<T, Space>& job, int order, Stream stream);
/// Adds what their parents, all done, have. Roots have none.
template <class T, class Space>
void inherit(const SumJob<T, Space>& job, int order, Stream stream);
/// Field of these, and of cells that act on single particles, for those targets that are leaves.
template <class T, class Space>
void sum_fields(const SumJob<T, Space>& job, int order, Stream stream);
/// Finds the order in which sum_pairs() takes the targets.
void order_leaves(const WalkTargets& targets, const CellLink* link, const TargetLists* head, const LeafOrder& to,
                  Stream stream);
/// Pairs, and with them the forces.
template <class T, class Space>
void sum_pairs(const SumJob<T, Space>& job, Stream stream);

/// Goes through a list, up to 32 cells at a time.
class ListReader {
 public:
  __device__ ListReader(const ListHead& head, const std::uint32_t* place, std::uint32_t room, const SegmentPool& pool)
      : place_(place), room_(room), left_(head.count), segment_(head.chain), pool_(pool) {}
  /// The number of cells that follow; lane l gets the l-th of them.
  __device__ std::uint32_t take(int lane, std::uint32_t& cell) {
    const std::uint32_t count = left_ < 32 ? left_ : 32;
    const std::uint32_t* from = place_ + at_;
    if (at_ >= room_) {
      const std::uint32_t within = (at_ - room_) % segment_size;
      if (within == 0 && at_ > room_) segment_ = pool_.next[segment_];
      from = pool_.entries + std::int64_t{segment_} * segment_size + within;
    }
    if (lane < static_cast<int>(count)) cell = from[lane];
    at_ += count;
    left_ -= count;
    return count;
  }
  __device__ bool done() const { return left_ == 0; }

 private:
  const std::uint32_t* place_;
  std::uint32_t room_, left_, segment_, at_ = 0;
  const SegmentPool& pool_;
};

}  // namespace pergola::tree

// The lists of a walk on a GPU: a warp per target tests up to 32 sources at a time.
//
// Level by level from the root: a target tests the candidates that its parent has passed on, and what it opens of them.
// Candidates end in its lists: far (expansion to expansion), points (expansion to particles), near (pairs), or pass
// (its children decide). Lists are segments of segment_size entries; the first ones have a fixed place, further ones
// come from a pool. If the pool is too small, the kernel counts what it would need, and the caller launches it again.
#include "tree/traverse_cuda.cuh"

#include "device/launch.cuh"
#include "tree/opening_cuda.cuh"

namespace pergola::tree {

namespace {

constexpr unsigned traverse_warps = 4;
/// That a multiprocessor holds at least: more warps are worth a few registers kept in memory.
constexpr int traverse_blocks = 8;
constexpr std::uint32_t stack_room = 1024;
constexpr unsigned order_threads = 256;

/// A warp's shared memory: the ends of its lists that do not fill a segment yet, and cells to look at.
struct TraverseMemory {
  std::uint32_t far[segment_size + 32], points[segment_size + 32], near[segment_size + 32], pass[segment_size + 32];
  std::uint32_t stack[stack_room];
};

/// sqrt.approx: 0 of 0, and as good as rsqrt().
__device__ __forceinline__ float rough_root(float a) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(a));
  return root;
}

/// Writes a list, segment by segment.
class ListWriter {
 public:
  __device__ ListWriter(std::uint32_t* staged, std::uint32_t* place, std::uint32_t room, const SegmentPool& pool,
                        std::uint32_t* most, int lane)
      : staged_(staged), place_(place), room_(room), pool_(pool), most_(most), lane_(lane) {}

  /// Lanes that `take` add their cell, in the order of lanes. A full segment is written out.
  __device__ void append(bool take, std::uint32_t cell) {
    const unsigned takers = __ballot_sync(all_lanes, take);
    if (takers == 0) return;
    if (take) staged_[size_ + static_cast<std::uint32_t>(__popc(takers & ((1u << lane_) - 1)))] = cell;
    size_ += static_cast<std::uint32_t>(__popc(takers));
    __syncwarp();
    if (size_ < segment_size) return;
    flush();
    size_ -= segment_size;
    std::uint32_t kept = 0;
    if (lane_ < static_cast<int>(size_)) kept = staged_[segment_size + static_cast<std::uint32_t>(lane_)];
    __syncwarp();
    if (lane_ < static_cast<int>(size_)) staged_[lane_] = kept;
    __syncwarp();
  }
  /// False when there was no room; the list is empty then.
  __device__ bool finish(ListHead& head) {
    const std::uint32_t count = done_ + size_;
    if (size_ > 0) flush();
    head = {failed_ ? 0 : count, chain_};
    return !failed_;
  }

  /// Writes a segment to its place, or to a new segment of the pool, linked to the one before.
 private:
  __device__ void flush() {
    std::uint32_t* to = place_ + done_;
    if (done_ >= room_) {
      std::uint32_t segment = 0;
      if (lane_ == 0) {
        segment = atomicAdd(pool_.used, 1u);
        if (segment >= pool_.segments) atomicMax(most_, segment + 1);
      }
      segment = __shfl_sync(all_lanes, segment, 0);
      failed_ = failed_ || segment >= pool_.segments;
      if (!failed_) {
        if (done_ == room_)
          chain_ = segment;
        else if (lane_ == 0)
          pool_.next[last_] = segment;
        last_ = segment;
        to = pool_.entries + std::int64_t{segment} * segment_size;
      }
    }
    if (!failed_)
      for (std::uint32_t k = static_cast<std::uint32_t>(lane_); k < size_ && k < segment_size; k += 32)
        to[k] = staged_[k];
    done_ += segment_size;
    __syncwarp();
  }

  std::uint32_t *staged_, *place_;
  std::uint32_t room_;
  const SegmentPool& pool_;
  std::uint32_t* most_;
  int lane_;
  std::uint32_t size_ = 0, done_ = 0, chain_ = 0, last_ = 0;
  bool failed_ = false;
};

/// A warp serves a target. Every candidate goes to one of the lists, as in Walker::sort_candidates of tree/walk.inl.
template <int order, class Space>
class Traversal {
 public:
  __device__ Traversal(const TraverseJob<Space>& job, TraverseMemory& memory, std::uint32_t k, int lane)
      : job_(job),
        stack_(memory.stack),
        lane_(lane),
        cell_(job.targets.cell(k)),
        target_(job.record[cell_]),
        leaf_(target_.children() == 0),
        place_(job.lists.place + std::int64_t{k} * list_room),
        far_(memory.far, place_, far_room, job.lists.pool, &job.status->lists_most, lane),
        points_(memory.points, place_ + far_room, points_room, job.lists.pool, &job.status->lists_most, lane),
        near_(memory.near, place_ + far_room + points_room, near_room, job.lists.pool, &job.status->lists_most, lane),
        pass_(memory.pass, nullptr, 0, job.to.pool, &job.status->passes_most, lane),
        head_(job.lists.head + k) {}

  __device__ void serve() {
    if (job_.opening.tolerance > 0) {
      acceleration_ = target_acceleration(job_.link, job_.parent, job_.acceleration, cell_);
      allowed_ = static_cast<float>(job_.opening.tolerance) * acceleration_;
    }
    look_at_all();
    TargetLists head{};
    bool fits = far_.finish(head.far);
    fits = points_.finish(head.points) && fits;
    fits = near_.finish(head.near) && fits;
    if (!fits) head = {};
    head.looks_for_images = looks_;
    ListHead passed;
    pass_.finish(passed);
    if (lane_ > 0) return;
    *head_ = head;
    if (!leaf_) job_.to.head[cell_] = passed;
  }

 private:
  /// Candidates come from three sources: cells opened before (stack), the roots around (of a root), or the parent's
  /// list.
  __device__ void look_at_all() {
    const std::uint32_t above = job_.parent[cell_];
    const bool root = above == cell_;
    const RootsAround around = root ? RootsAround(job_.roots, cell_) : RootsAround();
    ListReader candidates(root ? ListHead{0, 0} : job_.from.head[above], nullptr, 0, job_.from.pool);
    std::uint32_t depth = 0, met = 0;  // met: of the roots around
    while (depth > 0 || met < around.count() || !candidates.done()) {
      std::uint32_t source = 0;
      bool valid;
      if (depth > 0) {
        // So few at a time that what they open finds room: one by one a stack grows by at most 7 per level.
        const std::uint32_t room = depth + 512 < stack_room ? (stack_room - 512 - depth) / 8 + 1 : 1;
        std::uint32_t count = depth < 32 ? depth : 32;
        count = count < room ? count : room;
        depth -= count;
        valid = lane_ < static_cast<int>(count);
        if (valid) source = stack_[depth + static_cast<std::uint32_t>(lane_)];
        __syncwarp();
      } else if (root) {
        valid = around.take(met + static_cast<std::uint32_t>(lane_), source);
        met += 32;
      } else {
        valid = lane_ < static_cast<int>(candidates.take(lane_, source));
      }
      look_at(source, valid, depth);
    }
  }

  /// One source per lane.
  __device__ void look_at(std::uint32_t source, bool valid, std::uint32_t& depth) {
    const CellRecord s = job_.record[source];
    const Vec3<double> apart = separation({target_.x, target_.y, target_.z}, {s.x, s.y, s.z}, job_.space);
    const Vec3<float> d{static_cast<float>(apart.x), static_cast<float>(apart.y), static_cast<float>(apart.z)};
    const Reach reach = reach_to(s, d);
    valid = valid && s.mass != 0 && reach.acts;
    const bool self = valid && source == cell_, other = valid && !self;
    bool as_cell = false, as_points = false;
    if (other)
      test_opening<order>(job_.opening, job_.support, s, target_, d, acceleration_, allowed_, as_cell, as_points);
    as_cell = as_cell && reach.as_cell, as_points = as_points && reach.as_points;
    as_points = as_points && leaf_ && !as_cell && (s.bits & CellRecord::crowd);
    const bool rest = other && !as_cell && !as_points, source_leaf = s.children() == 0;
    bool near = leaf_ && ((rest && source_leaf) || self);
    const bool pass = rest && !leaf_ && (source_leaf || physics::opens_target(s.r, target_.r));
    std::uint32_t opened = rest && !near && !pass ? s.children() : 0;
    if ((near || opened > 0) && s.child == elsewhere) {
      job_.missing.note(source);
      near = false, opened = 0;
    }
    far_.append(as_cell, source);
    points_.append(as_points, source);
    near_.append(near, source);
    if constexpr (Space::periodic) looks_ = looks_ || __any_sync(all_lanes, near && !reach.alone);
    pass_.append(pass, source);
    // A cell's own children decide about themselves.
    if (!leaf_ && __any_sync(all_lanes, self))
      pass_.append(lane_ < static_cast<int>(target_.children()), target_.child + static_cast<std::uint32_t>(lane_));
    push(opened, s.child, depth);
  }

  /// Puts the children of opened cells on the stack, each lane's in order.
  __device__ void push(std::uint32_t mine, std::uint32_t child, std::uint32_t& depth) {
    if (!__any_sync(all_lanes, mine > 0)) return;
    const std::uint32_t until = lanes_scan(mine, lane_);
    for (std::uint32_t c = 0; c < mine; ++c) stack_[depth + until - mine + c] = child + c;
    depth += __shfl_sync(all_lanes, until, 31);
    __syncwarp();
  }

  /// In a box with a cut-off radius: does any pair of a source and the target act, does none of its other images, and
  /// do expansions hold that far (Walker::test_reach of tree/walk.inl). d: from the target to the source.
  struct Reach {
    bool acts = true, alone = true, as_cell = true, as_points = true;
  };
  __device__ Reach reach_to([[maybe_unused]] const CellRecord& s, [[maybe_unused]] const Vec3<float>& d) const {
    Reach reach;
    if constexpr (Space::periodic) {
      const auto cut_off = static_cast<float>(job_.space.cut_off);
      const float distance = rough_root(dot(d, d)), whole = s.r + target_.r + cut_off;
      const float last = static_cast<float>(physics::expansion_reach) * cut_off;
      const auto alone = [&](float along, double period) { return fabsf(along) + whole <= static_cast<float>(period); };
      const Vec3<double>& period = job_.space.period;
      reach.acts = distance < whole;
      reach.alone = alone(d.x, period.x) && alone(d.y, period.y) && alone(d.z, period.z);
      reach.as_cell = reach.alone && distance <= last;
      reach.as_points = reach.alone && distance + target_.r <= last;
    }
    return reach;
  }

  const TraverseJob<Space>& job_;
  std::uint32_t* stack_;
  int lane_;
  std::uint32_t cell_;
  CellRecord target_;
  bool leaf_;
  bool looks_ = false;  // other images may act in near pairs
  std::uint32_t* place_;
  ListWriter far_, points_, near_, pass_;
  TargetLists* head_;
  float acceleration_ = 0, allowed_ = 0;
};

/// A warp per target; traverse_warps targets per block.
template <int order, class Space>
__global__ void __launch_bounds__(traverse_warps * 32, traverse_blocks)
    traverse_kernel(const __grid_constant__ TraverseJob<Space> job) {
  __shared__ TraverseMemory memory[traverse_warps];
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t k = blockIdx.x * traverse_warps + warp;
  if (k < job.targets.count) Traversal<order, Space>(job, memory[warp], k, static_cast<int>(threadIdx.x) % 32).serve();
}

/// Near cells of a leaf, for each group of lanes that serves its particles.
__device__ std::uint32_t pair_work(const CellLink& link, const TargetLists& head) {
  std::uint32_t lanes = 1;
  while (lanes < link.count) lanes *= 2;
  return head.near.count * lanes;
}

/// The class of a leaf's work, or -1 of a cell that is no leaf: pairs take time for each near cell and for each group
/// of lanes that serves its particles.
__device__ int class_of_work(const CellLink& link, const TargetLists& head) {
  if (link.children > 0) return -1;
  if (head.looks_for_images) return LeafOrder::classes - 1;
  const auto work = static_cast<float>(pair_work(link, head));
  // The exponent and two bits of the fraction.
  const int found = static_cast<int>(__float_as_uint(fmaxf(work, 1)) >> 21) - (127 << 2);
  return found < LeafOrder::classes - 1 ? found : LeafOrder::classes - 2;
}

/// Counts leaves by the class of their work: first in shared memory, then one addition per class and block.
__global__ void count_leaves_kernel(WalkTargets targets, const CellLink* link, const TargetLists* head, LeafOrder to) {
  __shared__ std::uint32_t found[LeafOrder::classes];
  static_assert(order_threads >= LeafOrder::classes);
  if (threadIdx.x < LeafOrder::classes) found[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t k = blockIdx.x * order_threads + threadIdx.x;
  const int of = k < targets.count ? class_of_work(link[targets.cell(k)], head[k]) : -1;
  if (of >= 0) atomicAdd(&found[of], 1u);
  __syncthreads();
  if (threadIdx.x < LeafOrder::classes && found[threadIdx.x] > 0)
    atomicAdd(&to.counts[threadIdx.x], found[threadIdx.x]);
}

/// Writes the leaves, the heaviest class first, so that the last blocks to finish have little work.
__global__ void place_leaves_kernel(WalkTargets targets, const CellLink* link, const TargetLists* head, LeafOrder to) {
  __shared__ std::uint32_t size[LeafOrder::classes], found[LeafOrder::classes], begin[LeafOrder::classes];
  const unsigned t = threadIdx.x;
  if (t < LeafOrder::classes) size[t] = to.counts[t], found[t] = 0;
  __syncthreads();
  const std::uint32_t k = blockIdx.x * order_threads + t;
  const int of = k < targets.count ? class_of_work(link[targets.cell(k)], head[k]) : -1;
  std::uint32_t among = 0;  // those of its class in the block
  if (of >= 0) among = atomicAdd(&found[of], 1u);
  __syncthreads();
  if (t < LeafOrder::classes) {
    std::uint32_t before = 0;  // leaves of heavier classes
    for (unsigned other = t + 1; other < LeafOrder::classes; ++other) before += size[other];
    if (t == 0 && blockIdx.x == 0) to.counts[2 * LeafOrder::classes] = before + size[0];
    if (found[t] > 0) begin[t] = before + atomicAdd(&to.counts[LeafOrder::classes + t], found[t]);
  }
  __syncthreads();
  if (of >= 0) to.leaf[begin[of] + among] = k;
}

}  // namespace

// Rough work of each target, for the distribution over ranks.
void count_work(const WalkTargets& targets, const CellLink* link, const TargetLists* head, std::uint32_t* work,
                Stream stream) {
  // A list has its head, and expansions take some terms of each cell: rough, for it decides who does the work only.
  constexpr std::uint32_t of_target = 32, of_expansion = 4;
  cuda::launch("tree work", targets.count, stream, [=] __device__(std::int64_t k) {
    const std::uint32_t cell = targets.cell(static_cast<std::uint32_t>(k));
    const TargetLists lists = head[k];
    work[cell] += of_target + of_expansion * (lists.far.count + lists.points.count) +
                  (link[cell].children == 0 ? pair_work(link[cell], lists) : 0);
  });
}

// The order within a class depends on atomics; sums of a leaf do not depend on it.
void order_leaves(const WalkTargets& targets, const CellLink* link, const TargetLists* head, const LeafOrder& to,
                  Stream stream) {
  const auto on = cuda::handle(stream);
  const std::uint32_t blocks = (targets.count + order_threads - 1) / order_threads;
  cuda::check(cudaMemsetAsync(to.counts, 0, LeafOrder::counters * sizeof(*to.counts), on), "tree leaves");
  count_leaves_kernel<<<blocks, order_threads, 0, on>>>(targets, link, head, to);
  place_leaves_kernel<<<blocks, order_threads, 0, on>>>(targets, link, head, to);
  cuda::check(cudaGetLastError(), "tree leaves");
}

template <class Space>
void traverse(const TraverseJob<Space>& job, Stream stream) {
  with_order(job.opening.order, [&](auto order) {
    traverse_kernel<decltype(order)::value>
        <<<(job.targets.count + traverse_warps - 1) / traverse_warps, traverse_warps * 32, 0, cuda::handle(stream)>>>(
            job);
  });
  cuda::check(cudaGetLastError(), "tree traversal");
}

template void traverse(const TraverseJob<OpenSpace>&, Stream);
template void traverse(const TraverseJob<CutOffBox>&, Stream);

}  // namespace pergola::tree

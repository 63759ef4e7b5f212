// The octree on a GPU after the particles have moved a little, and what is kept of it.
//
// A refresh keeps cells and the order of particles. It repeats the upward pass with the new positions, and measures how
// much the leaves have spread: a whole number, so that its sum is the same in any order and on any number of ranks.
// A tree is built anew if that sum has grown too much, or if a leaf or a root has left its place too far.
#include <algorithm>
#include <utility>

#include "device/launch.cuh"
#include "tree/moments_cuda.cuh"
#include "tree/octree_cuda.cuh"
#include "tree/shape.hpp"

namespace pergola::tree {

namespace {

/// Whether particles of a root are outside of its cube by more than the slack.
__device__ bool has_left(const CellRecord& root, const BoxAbout& box, std::uint32_t place, double side, double slack) {
  const double centre[3] = {root.x, root.y, root.z};
  bool left = false;
  for (int axis = 0; axis < 3; ++axis) {
    const double low = root_index(place, axis) * side;
    left = left || centre[axis] + static_cast<double>(box.low[axis]) < low - slack ||
           centre[axis] + static_cast<double>(box.high[axis]) > low + side + slack;
  }
  return left;
}

/// Cells that are surveyed. `box`: null while particles are in the cubes of their roots.
struct Surveyed {
  const CellRecord* record;
  const CellLink* link;
  const std::uint32_t* order;
  std::int64_t own;  // cells of particles from this place on are ghosts
  const BoxAbout* box;
  const std::uint32_t* place;  // of the roots
  std::uint32_t cells, roots;
  Vec3<double> period;
  double side, slack;  // of the roots
};

/// Whole numbers: the sum does not depend on the order of the atomics.
__global__ void spread_kernel(const __grid_constant__ Surveyed all, TreeSpread* spread) {
  const CellRecord* const record = all.record;
  const Vec3<double>& period = all.period;
  long long sum = 0;
  unsigned leaves = 0;
  bool astray = false;
  for (std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x; c < all.cells; c += gridDim.x * blockDim.x) {
    if (all.order[all.link[c].first] >= all.own) continue;
    if (c < all.roots) {
      if (!isfinite(record[c].x + record[c].y + record[c].z) || !isfinite(record[c].r)) spread->broken = 1;
      if (all.box) astray = astray || has_left(record[c], all.box[c], all.place[c], all.side, all.slack);
    }
    if (record[c].children() == 0) {
      sum += leaf_spread(record[c].r, smallest_scale);
      ++leaves;
      astray = astray || (period.x > 0 && is_astray({record[c].x, record[c].y, record[c].z}, period));
    }
  }
  if (astray) spread->astray = 1;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(all_lanes, sum, offset);
  leaves = __reduce_add_sync(all_lanes, leaves);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&spread->sum), static_cast<unsigned long long>(sum));
  atomicAdd(reinterpret_cast<unsigned long long*>(&spread->leaves), static_cast<unsigned long long>(leaves));
}

}  // namespace

/// Of the cells as they are now, into device_spread_[which]. In a box of a period above 0, also whether particles have
/// gone too far, right after upward(). Does not wait.
template <class T>
void OctreeCuda<T>::measure_spread(int which, const Vec3<double>& period) {
  if (device_spread_.size() == 0) device_spread_ = Buffer<TreeSpread>(device_, 2);
  TreeSpread* const to = device_spread_.data() + which;
  const auto stream = cuda::handle(device_.stream());
  cuda::check(cudaMemsetAsync(to, 0, sizeof(TreeSpread), stream), "tree spread");
  const bool in_forest = period.x > 0 && forest_.level > 0;
  const Surveyed all{record_.data(),
                     link_.data(),
                     place_.data(),
                     share_.ranks ? share_.own : count_,
                     in_forest ? reinterpret_cast<const BoxAbout*>(arena_.data()) : nullptr,
                     root_place_.data(),
                     cells(),
                     roots_count(),
                     period,
                     forest_.side(),
                     forest_.slack()};
  spread_kernel<<<256, 256, 0, stream>>>(all, to);
  cuda::check(cudaGetLastError(), "tree spread");
}

/// Collective if the tree is distributed: all ranks return the same answer, from the sums of all.
template <class T>
template <class Real>
bool OctreeCuda<T>::refresh(const Points<Real>& points, const TreeSoftening& softening, int order,
                            const Forest& forest) {
  device_.make_current();
  if (const KeptTree* const kept = std::exchange(again_, nullptr)) {
    if (points.count != kept->count() || forest.level != kept->root_level) return false;
    make_again(with_keys(points, *kept), kept->acceleration.data(), *kept, forest);
  }
  if (points.count != count_) return false;
  if (count_ == 0 && !share_.ranks) return true;
  if (forest.level != forest_.level) return false;
  const Vec3<double> period = periodic_ ? unit_period(points.box, report_.frame) : Vec3<double>{0, 0, 0};
  std::vector<TreeSpread> spread(2);
  if (count_ > 0) {
    if (!knows_spread_) measure_spread(0, {0, 0, 0});
    upward(points, softening, order, true);
    measure_spread(1, period);
    spread = device_spread_.to_host();
  }
  TreeSpread& now = spread[1];
  if (share_.ranks) {
    std::int64_t sums[5] = {knows_spread_ ? 0 : spread[0].sum, now.sum, now.leaves, now.broken, now.astray};
    share_.ranks->all_reduce(sums, 5, Reduction::sum);
    spread[0].sum = sums[0];
    now = {sums[1], sums[2], sums[3] > 0 ? 1u : 0u, sums[4] > 0 ? 1u : 0u};
  }
  if (!knows_spread_) spread_ = spread[0].sum;
  knows_spread_ = true;
  return !now.broken && !now.astray && !has_grown(spread_, now.sum, now.leaves);
}

/// Of the tree as it was built, before it is refreshed for the first time. Waits.
template <class T>
void OctreeCuda<T>::know_spread() {
  if (knows_spread_) return;
  std::int64_t sum = 0;
  if (count_ > 0) {
    measure_spread(0, {0, 0, 0});
    sum = device_spread_.to_host()[0].sum;
  }
  if (share_.ranks) share_.ranks->all_reduce(&sum, 1, Reduction::sum);
  spread_ = sum;
  knows_spread_ = true;
}

template <class T>
void OctreeCuda<T>::keep_points(std::int64_t own, KeptTree& to) {
  device_.make_current();
  to.begin(tree_kind(device_, periodic_), has_lower_, has_accelerations_);
  to.frame = report_.frame, to.digit_level = digit_level_, to.root_level = forest_.level, to.spread = spread_;
  cuda::launch("tree keys", count_, device_.stream(),
               [own, place = place_.data(), upper = upper_.data(), lower = lower_.data(), to_upper = to.upper.data(),
                to_lower = to.lower.data()] __device__(std::int64_t k) {
                 const std::uint32_t i = place[k];
                 if (i >= own) return;
                 to_upper[i] = upper[k];
                 if (to_lower) to_lower[i] = lower[k];
               });
  if (!has_accelerations_) return;
  cuda::launch("tree estimate", count_ > 0 ? level_begin_[level_count_] : 0, device_.stream(),
               [own, count = static_cast<std::uint32_t>(count_), link = link_.data(), place = place_.data(),
                acceleration = acceleration_.data(), to = to.acceleration.data()] __device__(std::int64_t c) {
                 const CellLink leaf = link[c];
                 if (leaf.children > 0 || leaf.first >= count) return;  // or of another rank
                 for (std::uint32_t k = leaf.first; k < leaf.first + leaf.count; ++k)
                   if (place[k] < own) to[place[k]] = static_cast<double>(acceleration[c]);
               });
}

template <class T>
void OctreeCuda<T>::keep(KeptTree& to) {
  device_.make_current();
  know_spread();
  keep_points(count_, to);
}

template <class T>
void OctreeCuda<T>::take_up(const KeptTree& kept) {
  again_ = &kept;
  count_ = 0;
  report_.frame = kept.frame;
}

template void OctreeCuda<float>::measure_spread(int, const Vec3<double>&);
template void OctreeCuda<double>::measure_spread(int, const Vec3<double>&);
template void OctreeCuda<float>::know_spread();
template void OctreeCuda<double>::know_spread();
template void OctreeCuda<float>::keep_points(std::int64_t, KeptTree&);
template void OctreeCuda<double>::keep_points(std::int64_t, KeptTree&);
template void OctreeCuda<float>::keep(KeptTree&);
template void OctreeCuda<double>::keep(KeptTree&);
template void OctreeCuda<float>::take_up(const KeptTree&);
template void OctreeCuda<double>::take_up(const KeptTree&);
template bool OctreeCuda<float>::refresh(const Points<float>&, const TreeSoftening&, int, const Forest&);
template bool OctreeCuda<float>::refresh(const Points<double>&, const TreeSoftening&, int, const Forest&);
template bool OctreeCuda<double>::refresh(const Points<double>&, const TreeSoftening&, int, const Forest&);

}  // namespace pergola::tree

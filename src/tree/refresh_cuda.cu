// The octree on a GPU after the particles have moved a little; checkpoints of it.
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
  if (points.count != count_) return false;
  if (count_ == 0 && !share_.ranks) return true;
  if (forest_.level > 0) {
    if (forest.level != forest_.level) return false;
    if (roots_along_.size() == 0) plant(forest);  // restored
  }
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

/// What refresh() builds on: frame, order, cells, the spread at the build, and the accelerations for the opening test.
template <class T>
void OctreeCuda<T>::save(StateBlocks& blocks) {
  device_.make_current();
  if (count_ > 0) know_spread();
  StateSource all;
  save_in_shares(*serial_communicator(), exported(count_, {}), tree_kind("cuda", periodic_), all);
  StateBlocks found = all.blocks();
  for (auto& [name, bytes] : found.blocks()) blocks.blocks()[name] = std::move(bytes);
}

template <class T>
bool OctreeCuda<T>::restore(const StateBlocks& blocks, std::int64_t count, bool periodic) {
  SavedTree saved;
  if (!saved.restore(blocks, tree_kind("cuda", periodic), count) || saved.level_begin.size() > most_levels + 1)
    return false;
  share_ = {};
  take(saved, periodic);
  return true;
}

template <class T>
void OctreeCuda<T>::restore_share(const SavedTree& part, const ForestShare& share) {
  share_ = share;
  take(part, true);
}

/// Puts a saved tree onto the device. Moments are missing until the next refresh().
template <class T>
void OctreeCuda<T>::take(const SavedTree& saved, bool periodic) {
  device_.make_current();
  count_ = std::ssize(saved.order);
  periodic_ = periodic;
  level_count_ = 0;
  if (count_ == 0 && !share_.ranks) return;
  report_.frame = saved.frame;
  spread_ = saved.spread;
  knows_spread_ = true;
  forest_ = Forest();
  forest_.level = saved.root_level;
  if (forest_.level > 0) {
    std::vector<std::uint32_t> at(static_cast<std::size_t>(forest_.places() + 1), no_root);
    for (std::size_t r = 0; r < saved.root.size(); ++r) at[saved.root[r]] = static_cast<std::uint32_t>(r);
    std::vector<std::uint32_t> place = saved.root;
    place.resize(static_cast<std::size_t>(forest_.places()));  // the room of room_for_roots()
    root_place_ = Buffer<std::uint32_t>(device_, place), root_at_ = Buffer<std::uint32_t>(device_, at);
    roots_along_ = {};
  }
  place_ = Buffer<std::uint32_t>(device_, saved.order);
  level_count_ = static_cast<int>(saved.level_begin.size()) - 1;
  std::copy(saved.level_begin.begin(), saved.level_begin.end(), level_begin_);
  link_ = Buffer<CellLink>(device_, saved.link);
  parent_ = Buffer<std::uint32_t>(device_, saved.parent);
  has_accelerations_ = !saved.acceleration.empty();
  if (has_accelerations_)
    acceleration_ = Buffer<float>(device_, std::vector<float>(saved.acceleration.begin(), saved.acceleration.end()));
  if (periodic) {
    std::vector<CellRecord> record(saved.link.size());
    for (std::size_t c = 0; c < record.size(); ++c)
      record[c].x = saved.centre[3 * c], record[c].y = saved.centre[3 * c + 1], record[c].z = saved.centre[3 * c + 2];
    record_ = Buffer<CellRecord>(device_, record);
  }
}

/// Suspends the tree while another is built in its place: what refresh() needs moves aside; scratch stays.
template <class T>
void OctreeCuda<T>::put_aside() {
  device_.make_current();
  aside_ = {count_,
            has_accelerations_,
            periodic_,
            knows_spread_,
            spread_,
            report_.frame,
            forest_,
            share_,
            level_count_,
            {level_begin_, level_begin_ + level_count_ + 1},
            std::move(root_place_),
            std::move(root_at_),
            std::move(roots_along_),
            std::move(place_),
            std::move(parent_),
            std::move(link_),
            std::move(record_),
            std::move(acceleration_)};
  count_ = 0;
}

template <class T>
void OctreeCuda<T>::take_up() {
  device_.make_current();
  count_ = aside_.count, report_.frame = aside_.frame;
  has_accelerations_ = aside_.has_accelerations, periodic_ = aside_.periodic;
  knows_spread_ = aside_.knows_spread, spread_ = aside_.spread;
  forest_ = aside_.forest, share_ = aside_.share, level_count_ = aside_.level_count;
  root_place_ = std::move(aside_.root_place), root_at_ = std::move(aside_.root_at);
  roots_along_ = std::move(aside_.roots_along);
  std::copy(aside_.level_begin.begin(), aside_.level_begin.end(), level_begin_);
  place_ = std::move(aside_.place), parent_ = std::move(aside_.parent), link_ = std::move(aside_.link);
  record_ = std::move(aside_.record), acceleration_ = std::move(aside_.acceleration);
  aside_ = {};
}

template void OctreeCuda<float>::measure_spread(int, const Vec3<double>&);
template void OctreeCuda<double>::measure_spread(int, const Vec3<double>&);
template void OctreeCuda<float>::know_spread();
template void OctreeCuda<double>::know_spread();
template void OctreeCuda<float>::restore_share(const SavedTree&, const ForestShare&);
template void OctreeCuda<double>::restore_share(const SavedTree&, const ForestShare&);
template void OctreeCuda<float>::take(const SavedTree&, bool);
template void OctreeCuda<double>::take(const SavedTree&, bool);
template void OctreeCuda<float>::save(StateBlocks&);
template void OctreeCuda<double>::save(StateBlocks&);
template bool OctreeCuda<float>::restore(const StateBlocks&, std::int64_t, bool);
template bool OctreeCuda<double>::restore(const StateBlocks&, std::int64_t, bool);
template void OctreeCuda<float>::put_aside();
template void OctreeCuda<double>::put_aside();
template void OctreeCuda<float>::take_up();
template void OctreeCuda<double>::take_up();
template bool OctreeCuda<float>::refresh(const Points<float>&, const TreeSoftening&, int, const Forest&);
template bool OctreeCuda<float>::refresh(const Points<double>&, const TreeSoftening&, int, const Forest&);
template bool OctreeCuda<double>::refresh(const Points<double>&, const TreeSoftening&, int, const Forest&);

}  // namespace pergola::tree

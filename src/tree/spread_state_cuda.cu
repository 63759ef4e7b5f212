// What of the tree over spread particles outlasts a small step, on GPUs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "device/launch.cuh"
#include "tree/shape.hpp"
#include "tree/spread_octree_cuda.cuh"

namespace pergola::tree {

namespace {

/// Leaves of the domain among the cells. Whole numbers: the sum does not depend on the order of the atomics.
__global__ void own_spread_kernel(const CellRecord* record, const std::uint8_t* not_own, std::uint32_t top,
                                  std::uint32_t cells, TreeSpread* spread) {
  long long sum = 0;
  unsigned leaves = 0;
  for (std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x; c < cells; c += gridDim.x * blockDim.x) {
    if (record[c].children() > 0 || (c < top && not_own[c])) continue;
    sum += leaf_spread(record[c].r, smallest_scale);
    ++leaves;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(all_lanes, sum, offset);
  leaves = __reduce_add_sync(all_lanes, leaves);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&spread->sum), static_cast<unsigned long long>(sum));
  atomicAdd(reinterpret_cast<unsigned long long*>(&spread->leaves), static_cast<unsigned long long>(leaves));
}

}  // namespace

/// Of all ranks. Waits.
template <class T>
TreeSpread DistributedOctreeCuda<T>::measure() {
  Buffer<TreeSpread> found(device_, 1);
  found.zero();
  own_spread_kernel<<<256, 256, 0, cuda::handle(device_.stream())>>>(record_.data(), not_own_.data(), top_cells(),
                                                                     own_end(), found.data());
  cuda::check(cudaGetLastError(), "tree spread");
  TreeSpread spread = found.to_host()[0];
  std::int64_t sums[2] = {spread.sum, spread.leaves};
  ranks_->all_reduce(sums, 2, Reduction::sum);
  spread.sum = sums[0], spread.leaves = sums[1];
  return spread;
}

template <class T>
template <class Real>
bool DistributedOctreeCuda<T>::refresh(Points<Real> here, const BringMasses<Real>& bring_masses,
                                       const TreeSoftening& softening, int order) {
  device_.make_current();
  if (!knows_spread_) spread_ = measure().sum;
  knows_spread_ = true;
  order_ = order;
  fetched_cells_ = 0;
  here.mass = masses<Real>(count_, bring_masses);
  on_all(*ranks_, [&] {
    set_links_of_top(TopLinks::none);
    this->upward(here, softening, order, true);
  });
  share_top(order);
  begin_fetching();
  const CellRecord root = on_host(device_, record_.data(), 1)[0];
  const TreeSpread now = measure();
  return std::isfinite(root.x + root.y + root.z) && std::isfinite(root.r) && !has_grown(spread_, now.sum, now.leaves);
}

template <class T>
void DistributedOctreeCuda<T>::save(StateSource& to, const std::vector<std::uint32_t>& places) {
  device_.make_current();
  ExportedTree exported;
  if (total() > 0) {
    if (!knows_spread_) spread_ = measure().sum;
    knows_spread_ = true;
    exported.frame = report_.frame, exported.spread = spread_;
    exported.order = on_host(device_, place_.data(), count_);
    for (std::uint32_t& place : exported.order) place = places[place];
    const auto parent = on_host(device_, parent_.data(), own_end());
    const auto link = on_host(device_, link_.data(), own_end());
    const auto acceleration = on_host(device_, acceleration_.data(), has_accelerations_ ? own_end() : 0);
    exported.accelerations = has_accelerations_;
    exported.cells = exported_cells(ranks_->rank(), {top_.leaves, link, parent, top_cells(), own_end()},
                                    [&](std::uint32_t cell, ExportedCell& of) {
                                      if (has_accelerations_) of.acceleration = static_cast<double>(acceleration[cell]);
                                    });
  }
  save_in_shares(*ranks_, std::move(exported), tree_kind("cuda", false), to);
}

template <class T>
void DistributedOctreeCuda<T>::restore(SavedPieces& saved, SavedTop top, const std::vector<std::uint32_t>& in_tree) {
  device_.make_current();
  count_ = std::ssize(in_tree);
  fetched_cells_ = 0;
  report_.frame = saved.frame(), spread_ = saved.spread(), knows_spread_ = true;
  has_accelerations_ = saved.has_accelerations(), has_place_of_ = false;
  take_top(std::move(top.top));
  const std::int64_t begin = top.begin(ranks_->rank());
  Cells cells = top_.cells;
  std::vector<std::uint32_t> below;
  for (std::size_t k = first_own_leaf_; k < first_own_leaf_ + own_leaves_; ++k) {
    CellLink& link = cells.link[top_.leaves[k].cell];
    link.first = below.empty() ? 0 : cells.link[below.back()].first + cells.link[below.back()].count;
    below.push_back(top_.leaves[k].cell);
  }
  std::int64_t copied = 0;
  std::vector<float> acceleration;
  on_all(*ranks_, [&] {
    copied = copy_branches(saved, below, {begin, count_}, cells, top.from);
    if (!has_accelerations_) return;
    for (const double a : saved.accelerations(top.from)) acceleration.push_back(static_cast<float>(a));
  });
  check_copied(*ranks_, saved, top_cells(), copied);
  level_count_ = static_cast<int>(cells.level_begin.size()) - 1;
  std::copy(cells.level_begin.begin(), cells.level_begin.end(), level_begin_);
  link_ = Buffer<CellLink>(device_, cells.link), parent_ = Buffer<std::uint32_t>(device_, cells.parent);
  std::vector<std::uint32_t> order(in_tree.size());
  for (std::uint32_t number = 0; number < in_tree.size(); ++number)
    order[static_cast<std::size_t>(in_tree[number] - begin)] = number;
  place_ = Buffer<std::uint32_t>(device_, order);
  acceleration_ = Buffer<float>(device_, acceleration);
  list_own();
  begin_to_count();
}

template <class T>
void DistributedOctreeCuda<T>::give_back_memory() {
  device_.make_current();
  arena_ = Buffer<std::byte>(), sort_scratch_ = Buffer<std::byte>();
  for (Buffer<CellPair>* const pairs : {&stack_, &pairs_[0], &pairs_[1], &pending_}) *pairs = Buffer<CellPair>();
  prefetched_.give_back_memory();
}

template <class T>
void DistributedOctreeCuda<T>::put_aside() {
  fetched_cells_ = 0;
  Base::put_aside();
  top_aside_ = std::exchange(top_, {});
}

template <class T>
void DistributedOctreeCuda<T>::take_up() {
  Base::take_up();
  fetched_cells_ = 0, has_place_of_ = false;
  if (top_aside_.cells.link.empty()) return;
  take_top(std::exchange(top_aside_, {}));
  list_own();
  begin_to_count();
}

template bool DistributedOctreeCuda<float>::refresh(Points<float>, const BringMasses<float>&, const TreeSoftening&,
                                                    int);
template bool DistributedOctreeCuda<float>::refresh(Points<double>, const BringMasses<double>&, const TreeSoftening&,
                                                    int);
template bool DistributedOctreeCuda<double>::refresh(Points<double>, const BringMasses<double>&, const TreeSoftening&,
                                                     int);
template void DistributedOctreeCuda<float>::save(StateSource&, const std::vector<std::uint32_t>&);
template void DistributedOctreeCuda<double>::save(StateSource&, const std::vector<std::uint32_t>&);
template void DistributedOctreeCuda<float>::restore(SavedPieces&, SavedTop, const std::vector<std::uint32_t>&);
template void DistributedOctreeCuda<double>::restore(SavedPieces&, SavedTop, const std::vector<std::uint32_t>&);
template void DistributedOctreeCuda<float>::give_back_memory();
template void DistributedOctreeCuda<double>::give_back_memory();
template void DistributedOctreeCuda<float>::put_aside();
template void DistributedOctreeCuda<double>::put_aside();
template void DistributedOctreeCuda<float>::take_up();
template void DistributedOctreeCuda<double>::take_up();

}  // namespace pergola::tree

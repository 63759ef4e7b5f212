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
bool DistributedOctreeCuda<T>::refresh(const Points<Real>& here, const TreeSoftening& softening, int order) {
  device_.make_current();
  if (!knows_spread_) spread_ = measure().sum;
  knows_spread_ = true;
  order_ = order;
  fetched_cells_ = 0;
  on_all(*ranks_, [&] {
    set_links_of_top(TopLinks::none);
    this->upward(here, softening, order, true);
  });
  share_top(order);
  begin_fetching();
  return still_serves();
}

template <class T>
bool DistributedOctreeCuda<T>::still_serves() {
  const CellRecord root = on_host(device_, record_.data(), 1)[0];
  const TreeSpread now = measure();
  return std::isfinite(root.x + root.y + root.z) && std::isfinite(root.r) && !has_grown(spread_, now.sum, now.leaves);
}

template <class T>
void DistributedOctreeCuda<T>::keep(KeptTree& to) {
  device_.make_current();
  if (!knows_spread_) spread_ = measure().sum;
  knows_spread_ = true;
  this->keep_points(count_, to);
}

template <class T>
void DistributedOctreeCuda<T>::give_back_memory() {
  device_.make_current();
  arena_ = Buffer<std::byte>(), sort_scratch_ = Buffer<std::byte>();
  for (Buffer<CellPair>* const pairs : {&stack_, &pairs_[0], &pairs_[1], &pending_}) *pairs = Buffer<CellPair>();
  prefetched_.give_back_memory();
}

template bool DistributedOctreeCuda<float>::refresh(const Points<float>&, const TreeSoftening&, int);
template bool DistributedOctreeCuda<float>::refresh(const Points<double>&, const TreeSoftening&, int);
template bool DistributedOctreeCuda<double>::refresh(const Points<double>&, const TreeSoftening&, int);
template bool DistributedOctreeCuda<float>::still_serves();
template bool DistributedOctreeCuda<double>::still_serves();
template void DistributedOctreeCuda<float>::keep(KeptTree&);
template void DistributedOctreeCuda<double>::keep(KeptTree&);
template void DistributedOctreeCuda<float>::give_back_memory();
template void DistributedOctreeCuda<double>::give_back_memory();

}  // namespace pergola::tree

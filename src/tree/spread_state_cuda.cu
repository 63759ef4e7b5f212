// What of the tree over spread particles outlasts a small step, on GPUs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/gather.hpp"
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
TreeSpread SpreadOctreeCuda<T>::measure() {
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
bool SpreadOctreeCuda<T>::refresh(Points<Real> here, const BringMasses<Real>& bring_masses,
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

/// Where this domain begins in the order of the whole tree.
template <class T>
std::uint32_t SpreadOctreeCuda<T>::first_in_tree() const {
  std::uint32_t before = 0;
  for (std::size_t k = 0; k < top_.leaves.size() && top_.leaves[k].rank < ranks_->rank(); ++k)
    before += top_.cells.link[top_.leaves[k].cell].count;
  return before;
}

template <class T>
void SpreadOctreeCuda<T>::save(StateBlocks& blocks, const std::vector<std::uint32_t>& places) {
  device_.make_current();
  SavedTree saved;
  const std::string kind = tree_kind("cuda", false);
  if (total() == 0) return saved.save(blocks, kind);
  if (!knows_spread_) spread_ = measure().sum;
  knows_spread_ = true;
  saved.frame = report_.frame, saved.spread = spread_;
  std::vector<std::uint32_t> order = on_host(device_, place_.data(), count_);
  for (std::uint32_t& place : order) place = places[place];
  saved.order = gather_on_root(*ranks_, order);

  const std::uint32_t cells = own_end();
  const auto parent = on_host(device_, parent_.data(), cells);
  const auto link = on_host(device_, link_.data(), cells);
  const auto acceleration = on_host(device_, acceleration_.data(), has_accelerations_ ? cells : 0);
  std::vector<std::uint32_t> level(cells), first(top_cells());
  for (std::uint32_t c = 1; c < cells; ++c) level[c] = level[parent[c]] + 1;
  std::vector<std::uint8_t> tells(top_cells(), ranks_->is_root() ? 1 : 0);  // rank 0 says what the top is
  auto before = static_cast<std::uint32_t>(total());
  for (auto leaf = top_.leaves.rbegin(); leaf != top_.leaves.rend();
       ++leaf) {  // from the last one: the first one stays
    before -= top_.cells.link[leaf->cell].count;
    tells[leaf->cell] = leaf->rank == ranks_->rank() ? 1 : 0;
    for (std::uint32_t cell = leaf->cell;; cell = parent[cell]) {
      first[cell] = before;
      if (cell == 0) break;
    }
  }
  const std::uint32_t offset = first_in_tree();
  std::vector<SavedCell> own;
  for (std::uint32_t c = 0; c < cells; ++c)
    if (c >= top_cells() || tells[c])
      own.push_back({level[c],
                     c < top_cells() ? first[c] : offset + link[c].first,
                     link[c].count,
                     link[c].children,
                     has_accelerations_ ? static_cast<double>(acceleration[c]) : 0,
                     {0, 0, 0}});
  const auto all = gather_on_root(*ranks_, own);
  if (ranks_->is_root()) saved.put_cells(all, has_accelerations_, false);
  saved.save(blocks, kind);
}

template <class T>
void SpreadOctreeCuda<T>::restore(const SavedTree& saved, TopTree top, std::vector<std::uint32_t> from,
                                  const std::vector<std::uint32_t>& places) {
  device_.make_current();
  count_ = std::ssize(places);
  fetched_cells_ = 0;
  report_.frame = saved.frame, spread_ = saved.spread, knows_spread_ = true;
  has_accelerations_ = !saved.acceleration.empty(), has_place_of_ = false;
  take_top(std::move(top));
  const std::uint32_t offset = first_in_tree();
  // The cells below this rank's leaves of the top, level by level.
  std::vector<CellLink> link = top_.cells.link;
  std::vector<std::uint32_t> parent = top_.cells.parent, above, next;
  for (std::size_t k = first_own_leaf_; k < first_own_leaf_ + own_leaves_; ++k) {
    const std::uint32_t cell = top_.leaves[k].cell;
    link[cell].first = saved.link[from[cell]].first - offset;
    above.push_back(cell);
  }
  level_begin_[0] = 0, level_begin_[1] = top_cells(), level_count_ = 1;
  for (; !above.empty(); above = std::exchange(next, {})) {
    for (const std::uint32_t cell : above) {
      const CellLink there = saved.link[from[cell]];
      link[cell].child = there.children > 0 ? static_cast<std::uint32_t>(link.size()) : 0;
      link[cell].children = there.children;
      for (std::uint32_t c = there.child; c < there.child + there.children; ++c) {
        next.push_back(static_cast<std::uint32_t>(link.size()));
        link.push_back({saved.link[c].first - offset, saved.link[c].count, 0, 0});
        parent.push_back(cell);
        from.push_back(c);
      }
    }
    if (!next.empty()) level_begin_[++level_count_] = static_cast<std::uint32_t>(link.size());
  }
  link_ = Buffer<CellLink>(device_, link), parent_ = Buffer<std::uint32_t>(device_, parent);
  // Particles arrive in the order of the input.
  std::vector<std::uint32_t> order(places.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    order[k] = static_cast<std::uint32_t>(std::lower_bound(places.begin(), places.end(), saved.order[offset + k]) -
                                          places.begin());
  place_ = Buffer<std::uint32_t>(device_, order);
  std::vector<float> acceleration;
  if (has_accelerations_)
    for (const std::uint32_t cell : from) acceleration.push_back(static_cast<float>(saved.acceleration[cell]));
  acceleration_ = Buffer<float>(device_, acceleration);
  list_own();
  begin_to_count();
}

template <class T>
void SpreadOctreeCuda<T>::give_back_memory() {
  device_.make_current();
  arena_ = Buffer<std::byte>(), sort_scratch_ = Buffer<std::byte>();
  for (Buffer<CellPair>* const pairs : {&stack_, &pairs_[0], &pairs_[1], &pending_}) *pairs = Buffer<CellPair>();
  ahead_.give_back_memory();
}

template <class T>
void SpreadOctreeCuda<T>::put_aside() {
  fetched_cells_ = 0;
  Base::put_aside();
  top_aside_ = std::exchange(top_, {});
}

template <class T>
void SpreadOctreeCuda<T>::take_up() {
  Base::take_up();
  fetched_cells_ = 0, has_place_of_ = false;
  if (top_aside_.cells.link.empty()) return;
  take_top(std::exchange(top_aside_, {}));
  list_own();
  begin_to_count();
}

template bool SpreadOctreeCuda<float>::refresh(Points<float>, const BringMasses<float>&, const TreeSoftening&, int);
template bool SpreadOctreeCuda<float>::refresh(Points<double>, const BringMasses<double>&, const TreeSoftening&, int);
template bool SpreadOctreeCuda<double>::refresh(Points<double>, const BringMasses<double>&, const TreeSoftening&, int);
template void SpreadOctreeCuda<float>::save(StateBlocks&, const std::vector<std::uint32_t>&);
template void SpreadOctreeCuda<double>::save(StateBlocks&, const std::vector<std::uint32_t>&);
template void SpreadOctreeCuda<float>::restore(const SavedTree&, TopTree, std::vector<std::uint32_t>,
                                               const std::vector<std::uint32_t>&);
template void SpreadOctreeCuda<double>::restore(const SavedTree&, TopTree, std::vector<std::uint32_t>,
                                                const std::vector<std::uint32_t>&);
template void SpreadOctreeCuda<float>::give_back_memory();
template void SpreadOctreeCuda<double>::give_back_memory();
template void SpreadOctreeCuda<float>::put_aside();
template void SpreadOctreeCuda<double>::put_aside();
template void SpreadOctreeCuda<float>::take_up();
template void SpreadOctreeCuda<double>::take_up();

}  // namespace pergola::tree

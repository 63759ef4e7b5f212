// Roots of a tree on a GPU. In a periodic box with a short-range law a tree may have many roots (root blocks): the
// cells of one level, in the order of their keys. A root then meets only the roots around it, within the cut-off
// radius. A place is the number of a cell of that level; a root is the number of a place that holds particles.
#include <cub/device/device_scan.cuh>
#include <vector>

#include "device/launch.cuh"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

/// Takes over where roots may be and which are neighbours.
template <class T>
void OctreeCuda<T>::plant(const Forest& forest) {
  forest_ = forest;
  if (forest.level == 0) return;
  Arena arena(device_);
  room_for_roots(*this, arena, forest);
  const std::vector<RootsAlong> all = tree::roots_along(forest);
  device_.memory().from_host(roots_along_.data(), all.data(), all.size() * sizeof(RootsAlong));
}

/// The cells of the forest's level that hold particles, in the order of their keys, in place of the one root.
template <class T>
void OctreeCuda<T>::start_roots() {
  const std::int64_t places = forest_.places();
  const int shift = 3 * (key_levels - forest_.level);
  cuda::launch("tree roots", places + 1, device_.stream(),
               [=, keys = keys_, count = static_cast<std::uint32_t>(count_),
                begin = root_begin_.data()] __device__(std::int64_t place) {
                 std::uint32_t low = 0, high = count;
                 while (low < high) {
                   const std::uint32_t middle = low + (high - low) / 2;
                   if (keys[middle] >> shift < static_cast<std::uint64_t>(place))
                     low = middle + 1;
                   else
                     high = middle;
                 }
                 begin[place] = low;
               });
  // Places with particles count 1; the prefix sum below numbers them.
  cuda::launch("tree roots", places + 1, device_.stream(),
               [=, begin = root_begin_.data(), at = root_at_.data()] __device__(std::int64_t place) {
                 at[place] = place < places && begin[place + 1] > begin[place];
               });
  std::size_t bytes = 0;
  const auto number = [&](void* scratch) {
    cuda::check(cub::DeviceScan::ExclusiveSum(scratch, bytes, root_at_.data(), root_at_.data(),
                                              static_cast<int>(places + 1), cuda::handle(device_.stream())),
                "tree roots");
  };
  number(nullptr);
  Arena(device_).room(sort_scratch_, static_cast<std::int64_t>(bytes));
  number(sort_scratch_.data());
  cuda::launch("tree roots", places + 1, device_.stream(),
               [=, capacity = static_cast<std::uint32_t>(link_.size()), begin = root_begin_.data(),
                at = root_at_.data(), root_place = root_place_.data(), link = link_.data(), parent = parent_.data(),
                report = device_report_.data()] __device__(std::int64_t place) {
                 const std::uint32_t root = at[place];
                 if (place == places) {
                   report->cells[0] = root;
                   return;
                 }
                 const std::uint32_t first = begin[place], count = begin[place + 1] - first;
                 if (count == 0) {
                   at[place] = no_root;
                   return;
                 }
                 root_place[root] = static_cast<std::uint32_t>(place);
                 if (root >= capacity) return;
                 link[root] = {first, count, 0, 0};
                 parent[root] = root;
               });
}

/// Addresses for the walk and for estimates; empty if the tree has one root.
template <class T>
RootsView OctreeCuda<T>::roots() const {
  if (forest_.level == 0) return {};
  return {forest_.level, root_place_.data(), root_at_.data(), roots_along_.data()};
}

template void OctreeCuda<float>::plant(const Forest&);
template void OctreeCuda<double>::plant(const Forest&);
template void OctreeCuda<float>::start_roots();
template void OctreeCuda<double>::start_roots();
template RootsView OctreeCuda<float>::roots() const;
template RootsView OctreeCuda<double>::roots() const;

}  // namespace pergola::tree

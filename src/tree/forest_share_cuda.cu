// What is saved of a forest that ranks share, and particles that change ranks.
#include <algorithm>
#include <cstdint>

#include "device/launch.cuh"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

template <class T>
ExportedTree OctreeCuda<T>::exported(std::int64_t own, const std::vector<std::uint32_t>& places) {
  ExportedTree exported;
  exported.frame = report_.frame, exported.spread = spread_, exported.root_level = forest_.level;
  exported.accelerations = has_accelerations_, exported.centres = periodic_;
  if (count_ == 0) return exported;
  exported.order = on_host(device_, place_.data(), count_);
  std::vector<std::uint32_t> own_before;  // where there are ghosts, by place in this rank's tree: own ones before it
  if (own < count_) {
    std::uint32_t before = 0;
    own_before.reserve(exported.order.size());
    for (const std::uint32_t place : exported.order) {
      own_before.push_back(place < own ? before : elsewhere);
      if (place < own) exported.order[before++] = place;
    }
    exported.order.resize(before);
  }
  if (!places.empty())
    for (std::uint32_t& place : exported.order) place = places[place];
  const auto link = on_host(device_, link_.data(), cells());
  const auto record = on_host(device_, record_.data(), periodic_ ? cells() : 0);
  const auto acceleration = on_host(device_, acceleration_.data(), has_accelerations_ ? cells() : 0);
  const auto root_place = on_host(device_, root_place_.data(), forest_.level > 0 ? roots_count() : 0);
  for (int level = 0; level < level_count_; ++level)
    for (std::size_t c = level_begin_[level]; c < level_begin_[level + 1]; ++c) {
      const std::uint32_t first = own_before.empty() ? link[c].first : own_before[link[c].first];
      if (first == elsewhere) continue;
      exported.cells.push_back({static_cast<std::uint32_t>(level), first, link[c].count, link[c].children});
      if (has_accelerations_) exported.cells.back().acceleration = static_cast<double>(acceleration[c]);
      if (periodic_) exported.cells.back().centre = {record[c].x, record[c].y, record[c].z};
      if (level == 0 && !root_place.empty()) exported.root.push_back(root_place[c]);
    }
  return exported;
}

/// Ranks have stretches of the roots, in the order of ranks, and so of the particles in the tree's order.
template <class T>
void OctreeCuda<T>::save_share(StateSource& to, const std::vector<std::uint32_t>& places) {
  device_.make_current();
  know_spread();
  save_in_shares(*share_.ranks, exported(share_.own, places), tree_kind("cuda", periodic_), to);
}

template <class T>
void OctreeCuda<T>::renumber(const std::uint32_t* to, std::int64_t count) {
  device_.make_current();
  cuda::launch("tree places", count_, device_.stream(),
               [to, count = static_cast<std::uint32_t>(count), place = place_.data()] __device__(std::int64_t k) {
                 if (place[k] < count) place[k] = to[place[k]];
               });
}

template <class T>
std::uint64_t* OctreeCuda<T>::room_for_ids(std::int64_t count) {
  static_assert(sizeof(PlacedMass<T>) >= sizeof(std::uint64_t) + sizeof(std::uint32_t));
  Arena(device_).room(particle_, count, count / 32);  // numbers change a little from build to build
  return reinterpret_cast<std::uint64_t*>(particle_.data());
}

template <class T>
void OctreeCuda<T>::add_work(const std::uint32_t* work, unsigned long long* by_root_block) {
  device_.make_current();
  cuda::launch("tree work", count_ > 0 ? cells() : 0, device_.stream(),
               [work, by_root_block, shift = forest_.root_block_shift(), own = share_.own, link = link_.data(),
                parent = parent_.data(), order = place_.data(),
                root_place = forest_.level > 0 ? root_place_.data() : nullptr] __device__(std::int64_t c) {
                 if (work[c] == 0 || order[link[c].first] >= own) return;
                 auto root = static_cast<std::uint32_t>(c);
                 while (parent[root] != root) root = parent[root];
                 atomicAdd(&by_root_block[root_place ? root_place[root] >> shift : 0],
                           static_cast<unsigned long long>(work[c]));
               });
}

template void OctreeCuda<float>::add_work(const std::uint32_t*, unsigned long long*);
template void OctreeCuda<double>::add_work(const std::uint32_t*, unsigned long long*);
template void OctreeCuda<float>::renumber(const std::uint32_t*, std::int64_t);
template void OctreeCuda<double>::renumber(const std::uint32_t*, std::int64_t);
template std::uint64_t* OctreeCuda<float>::room_for_ids(std::int64_t);
template std::uint64_t* OctreeCuda<double>::room_for_ids(std::int64_t);
template ExportedTree OctreeCuda<float>::exported(std::int64_t, const std::vector<std::uint32_t>&);
template ExportedTree OctreeCuda<double>::exported(std::int64_t, const std::vector<std::uint32_t>&);
template void OctreeCuda<float>::save_share(StateSource&, const std::vector<std::uint32_t>&);
template void OctreeCuda<double>::save_share(StateSource&, const std::vector<std::uint32_t>&);

}  // namespace pergola::tree

// What is saved of a forest that ranks share, and particles that change ranks.
#include <algorithm>
#include <cstdint>

#include "comm/gather.hpp"
#include "device/launch.cuh"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

/// Ranks have stretches of the roots, in the order of ranks, and so of the particles in the tree's order.
template <class T>
void OctreeCuda<T>::save_share(StateBlocks& blocks, const std::vector<std::uint32_t>& places) {
  device_.make_current();
  Communicator& ranks = *share_.ranks;
  know_spread();
  SavedTree saved;
  saved.frame = report_.frame, saved.spread = spread_, saved.root_level = forest_.level;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks.size()));
  counts[static_cast<std::size_t>(ranks.rank())] = share_.own;
  ranks.all_gather_in_place(counts.data(), std::vector<std::size_t>(counts.size(), sizeof(std::int64_t)));
  std::int64_t before = 0;
  for (int r = 0; r < ranks.rank(); ++r) before += counts[static_cast<std::size_t>(r)];

  const auto order = on_host(device_, place_.data(), count_);
  std::vector<std::uint32_t> own_order, own_before;  // by place in this rank's tree: own particles before it
  for (const std::uint32_t place : order) {
    own_before.push_back(static_cast<std::uint32_t>(before + std::ssize(own_order)));
    if (place < share_.own) own_order.push_back(places[place]);
  }
  saved.order = gather_on_root(ranks, own_order);

  const std::int64_t cell_count = count_ > 0 ? cells() : 0;
  const auto link = on_host(device_, link_.data(), cell_count);
  const auto record = on_host(device_, record_.data(), cell_count);
  const auto acceleration = on_host(device_, acceleration_.data(), has_accelerations_ ? cell_count : 0);
  const auto root_place = on_host(device_, root_place_.data(), forest_.level > 0 && count_ > 0 ? roots_count() : 0);
  std::vector<SavedCell> own;
  std::vector<std::uint32_t> roots;
  for (int level = 0; level < (count_ > 0 ? level_count_ : 0); ++level)
    for (std::size_t c = level_begin_[level]; c < level_begin_[level + 1]; ++c) {
      if (order[link[c].first] >= share_.own) continue;
      own.push_back({static_cast<std::uint32_t>(level),
                     own_before[link[c].first],
                     link[c].count,
                     link[c].children,
                     has_accelerations_ ? static_cast<double>(acceleration[c]) : 0,
                     {record[c].x, record[c].y, record[c].z}});
      if (level == 0 && !root_place.empty()) roots.push_back(root_place[c]);
    }
  const auto cells = gather_on_root(ranks, own);
  saved.root = gather_on_root(ranks, roots);
  if (ranks.is_root())
    saved.put_cells(cells, has_accelerations_, true);
  else
    saved.centre.assign(3, 0);
  saved.save(blocks, tree_kind("cuda", true));
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
void OctreeCuda<T>::add_work(const std::uint32_t* work, unsigned long long* by_plot) {
  device_.make_current();
  cuda::launch("tree work", count_ > 0 ? cells() : 0, device_.stream(),
               [work, by_plot, shift = forest_.plot_shift(), own = share_.own, link = link_.data(),
                parent = parent_.data(), order = place_.data(),
                root_place = forest_.level > 0 ? root_place_.data() : nullptr] __device__(std::int64_t c) {
                 if (work[c] == 0 || order[link[c].first] >= own) return;
                 auto root = static_cast<std::uint32_t>(c);
                 while (parent[root] != root) root = parent[root];
                 atomicAdd(&by_plot[root_place ? root_place[root] >> shift : 0],
                           static_cast<unsigned long long>(work[c]));
               });
}

template void OctreeCuda<float>::add_work(const std::uint32_t*, unsigned long long*);
template void OctreeCuda<double>::add_work(const std::uint32_t*, unsigned long long*);
template void OctreeCuda<float>::renumber(const std::uint32_t*, std::int64_t);
template void OctreeCuda<double>::renumber(const std::uint32_t*, std::int64_t);
template void OctreeCuda<float>::save_share(StateBlocks&, const std::vector<std::uint32_t>&);
template void OctreeCuda<double>::save_share(StateBlocks&, const std::vector<std::uint32_t>&);

}  // namespace pergola::tree

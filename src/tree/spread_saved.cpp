// What of the tree over spread particles belongs into a checkpoint: each rank has its share of it.
#include <numeric>
#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "tree/saved_domain.hpp"
#include "tree/saved_shares.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

template <class T>
void DistributedOctree<T>::save(StateSource& to, const std::string& kind) const {
  ExportedTree exported;
  exported.frame = frame_, exported.spread = this->spread_;
  if (total_ > 0) {
    std::vector<std::uint32_t> places(static_cast<std::size_t>(routing_.kept()));
    std::iota(places.begin(), places.end(),
              static_cast<std::uint32_t>(Shares{total_, ranks_->size()}.first(ranks_->rank())));
    const auto arrived = routing_.there(places.data());
    for (std::int64_t k = 0; k < count_; ++k) exported.order.push_back(arrived[sort_.values.data()[k]]);
    exported.accelerations = has_accelerations_, exported.centres = this->periodic_;
    exported.cells = exported_cells(ranks_->rank(), {leaves_, cells_.link, cells_.parent, top_cells_, own_end_},
                                    [&](std::uint32_t cell, ExportedCell& of) {
                                      if (has_accelerations_) of.acceleration = this->acceleration_.data()[cell];
                                      const CellShape* const shape = shape_.data() + cell;
                                      if (this->periodic_) of.centre = {shape->x, shape->y, shape->z};
                                    });
  }
  save_in_shares(*ranks_, std::move(exported), kind, to);
}

/// The particles that this rank keeps go to the ranks that have them in the tree.
template <class T>
void DistributedOctree<T>::find_way(SavedPieces& saved, const SavedTop& top) {
  KeptInTree kept = find_kept(*ranks_, device_.threads(), saved);
  std::vector<std::int64_t> of_rank(top.ends.size());
  std::size_t to = 0;
  for (const std::uint32_t number : kept.by_tree) {
    while (kept.in_tree[number] >= top.ends[to]) ++to;
    ++of_rank[to];
  }
  routing_ = Routing(*ranks_, device_.threads(), std::move(kept.by_tree), std::move(of_rank));
  const auto arrived = routing_.there(kept.in_tree.data());
  count_ = std::ssize(arrived);
  std::vector<std::uint32_t> order(arrived.size());
  for (std::uint32_t k = 0; k < arrived.size(); ++k)
    order[static_cast<std::size_t>(arrived[k] - top.begin(ranks_->rank()))] = k;
  sort_.values = Buffer<std::uint32_t>(device_, order);
}

template <class T>
bool DistributedOctree<T>::restore(StateInput& from, const std::string& kind, std::int64_t total, int order,
                                   bool periodic) {
  std::optional<SavedPieces> saved;
  SavedTop top;
  bool found = false;
  on_all(*ranks_, [&] {
    found = SavedPieces::is_in(from, kind);
    if (!found || total == 0) return;
    saved.emplace(from, periodic, total);
    top = cut_saved_top(*saved, ranks_->size());
  });
  if (!found) return false;
  expansion_order_ = order;
  this->periodic_ = periodic;
  total_ = total;
  count_ = 0, routing_ = {};
  walks_ = 0, weight_.clear();
  if (total_ == 0) return true;
  frame_ = saved->frame(), this->spread_ = saved->spread();
  has_accelerations_ = saved->has_accelerations();
  find_way(*saved, top);
  const std::vector<std::uint32_t> own = take_top(std::move(top.top));
  std::vector<std::uint32_t>& numbers = top.from;  // in the saved tree, of each cell
  std::int64_t copied = 0;
  on_all(*ranks_, [&] { copied = copy_branches(*saved, own, {top.begin(ranks_->rank()), count_}, cells_, numbers); });
  check_copied(*ranks_, *saved, top_cells_, copied);
  begin_domain();
  on_all(*ranks_, [&] {
    this->acceleration_ =
        Buffer<double>(device_, has_accelerations_ ? saved->accelerations(numbers) : std::vector<double>{});
    if (!periodic) return;
    const auto centres = saved->centres(numbers);
    std::vector<CellShape> shape(numbers.size());
    for (std::size_t c = 0; c < shape.size(); ++c)
      shape[c].x = centres[c].x, shape[c].y = centres[c].y, shape[c].z = centres[c].z;
    shape_ = Buffer<CellShape>(device_, shape);
  });
  return true;
}

template void DistributedOctree<float>::save(StateSource&, const std::string&) const;
template void DistributedOctree<double>::save(StateSource&, const std::string&) const;
template bool DistributedOctree<float>::restore(StateInput&, const std::string&, std::int64_t, int, bool);
template bool DistributedOctree<double>::restore(StateInput&, const std::string&, std::int64_t, int, bool);

}  // namespace pergola::tree

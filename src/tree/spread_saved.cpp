// What of the tree over spread particles belongs into a checkpoint: each rank has its share of it.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/gather.hpp"
#include "comm/shares.hpp"
#include "comm/stretches.hpp"
#include "tree/saved_checks.hpp"
#include "tree/saved_pieces.hpp"
#include "tree/saved_tree.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

namespace {

/// A cell as its share of a saved tree has it.
struct ToldCell {
  CellLink link;
  std::uint32_t parent = 0;
  double acceleration = 0;
  Vec3<double> centre{0, 0, 0};
};

std::vector<Stretch> stretches_of(const Shares& shares) {
  std::vector<Stretch> all;
  for (int rank = 0; rank < shares.ranks; ++rank) all.push_back({shares.first(rank), shares.count(rank)});
  return all;
}

/// Every rank's value, in the order of ranks.
std::vector<std::int64_t> of_ranks(Communicator& ranks, std::int64_t own) {
  return gather_on_all(ranks, {ranks.size(), ranks.size()}, &own);
}

/// Of what ranks have one after the other, from `first` on: where each has its own.
std::vector<Stretch> in_turn(const std::vector<std::int64_t>& counts, std::int64_t first) {
  std::vector<Stretch> all;
  for (const std::int64_t count : counts) all.push_back({std::exchange(first, first + count), count});
  return all;
}

template <class V, class Field>
void put_field(StateSource& to, const char* name, const std::vector<ToldCell>& cells, std::int64_t total,
               const Field& field) {
  std::vector<V> values;
  values.reserve(cells.size());
  for (const ToldCell& cell : cells) values.push_back(field(cell));
  to.put_share(name, std::move(values), total);
}

}  // namespace

/// Where this domain begins in the order of the whole tree.
template <class T>
std::uint32_t SpreadOctree<T>::first_in_tree() const {
  std::uint32_t before = 0;
  for (const TopTree::Leaf& leaf : leaves_)
    if (leaf.rank < ranks_->rank()) before += cells_.link[leaf.cell].count;
  return before;
}

/// A cell is told of by the rank that has its first particle: so on each level the cells of the ranks follow one
/// another in the order of ranks.
template <class T>
std::vector<std::vector<std::uint32_t>> SpreadOctree<T>::told_cells(std::vector<std::uint32_t>& first) const {
  first.assign(own_end_, 0);
  std::vector<std::uint32_t> level(own_end_);
  std::vector<int> teller(own_end_, ranks_->rank());
  auto before = static_cast<std::uint32_t>(total_);
  for (auto leaf = leaves_.rbegin(); leaf != leaves_.rend(); ++leaf) {  // from the last one: the first one stays
    before -= cells_.link[leaf->cell].count;
    for (std::uint32_t cell = leaf->cell;; cell = cells_.parent[cell]) {
      first[cell] = before, teller[cell] = leaf->rank;
      if (cell == 0) break;
    }
  }
  const std::uint32_t offset = first_in_tree();
  for (std::uint32_t cell = top_cells_; cell < own_end_; ++cell) first[cell] = offset + cells_.link[cell].first;
  for (std::uint32_t cell = 1; cell < own_end_; ++cell) level[cell] = level[cells_.parent[cell]] + 1;
  std::int64_t levels = own_end_ > 0 ? 1 + *std::max_element(level.begin(), level.end()) : 0;
  ranks_->all_reduce(&levels, 1, Reduction::maximum);
  std::vector<std::vector<std::uint32_t>> told(static_cast<std::size_t>(levels));
  for (std::uint32_t cell = 0; cell < own_end_; ++cell)
    if (teller[cell] == ranks_->rank()) told[level[cell]].push_back(cell);
  for (auto& cells : told)
    std::sort(cells.begin(), cells.end(), [&](std::uint32_t a, std::uint32_t b) { return first[a] < first[b]; });
  return told;
}

template <class T>
void SpreadOctree<T>::save_cells(StateSource& to) const {
  std::vector<std::uint32_t> first, level_begin{0};
  const auto told = told_cells(first);
  // Numbers of the cells in the whole tree; all learn those of the top.
  std::vector<std::vector<Stretch>> runs;  // of each level and rank
  std::vector<std::int64_t> number(own_end_, -1);
  for (const auto& cells : told) {
    runs.push_back(in_turn(of_ranks(*ranks_, std::ssize(cells)), level_begin.back()));
    std::int64_t next = runs.back()[static_cast<std::size_t>(ranks_->rank())].first;
    for (const std::uint32_t cell : cells) number[cell] = next++;
    level_begin.push_back(static_cast<std::uint32_t>(runs.back().back().end()));
  }
  ranks_->all_reduce(number.data(), top_cells_, Reduction::maximum);

  const std::int64_t total = level_begin.back();
  const auto shares = stretches_of({total, ranks_->size()});
  std::vector<ToldCell> share;
  for (std::size_t level = 0; level < told.size(); ++level) {
    std::vector<ToldCell> own;
    for (const std::uint32_t cell : told[level]) {
      const CellLink& link = cells_.link[cell];
      own.push_back({{first[cell], link.count, link.children > 0 ? static_cast<std::uint32_t>(number[link.child]) : 0,
                      link.children},
                     static_cast<std::uint32_t>(number[cells_.parent[cell]])});
      if (has_accelerations_) own.back().acceleration = this->acceleration_.data()[cell];
      const CellShape* const shape = shape_.data() + cell;
      if (this->periodic_) own.back().centre = {shape->x, shape->y, shape->z};
    }
    const Stretch all{level_begin[level], level_begin[level + 1] - level_begin[level]};
    std::vector<Stretch> wanted;
    for (const Stretch& part : shares) wanted.push_back(part.common(all));
    const auto arrived = fetch_stretch(*ranks_, runs[level], wanted, own.data());
    share.insert(share.end(), arrived.begin(), arrived.end());
  }
  to.put_value("tree.cells", total);
  put_field<CellLink>(to, "tree.link", share, total, [](const ToldCell& cell) { return cell.link; });
  put_field<std::uint32_t>(to, "tree.parent", share, total, [](const ToldCell& cell) { return cell.parent; });
  to.put_value("tree.levels", std::ssize(level_begin));
  to.put("tree.level_begin", std::move(level_begin));
  to.put_value("tree.accelerations", has_accelerations_ ? total : 0);
  if (has_accelerations_)
    put_field<double>(to, "tree.acceleration", share, total, [](const ToldCell& cell) { return cell.acceleration; });
  else
    to.put("tree.acceleration", std::vector<double>{});
  if (this->periodic_)
    put_field<Vec3<double>>(to, "tree.centre", share, total, [](const ToldCell& cell) { return cell.centre; });
}

template <class T>
void SpreadOctree<T>::save(StateSource& to, const std::string& kind) const {
  if (total_ == 0) {
    StateBlocks none;
    SavedTree saved;
    saved.frame = frame_, saved.spread = this->spread_;
    saved.save(none, kind);
    return to.put_blocks(std::move(none));
  }
  to.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  to.put_value("tree.frame", frame_);
  to.put_value("tree.spread", this->spread_);
  save_cells(to);
  const Shares shares{total_, ranks_->size()};
  std::vector<std::uint32_t> places(static_cast<std::size_t>(routing_.kept()));
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(shares.first(ranks_->rank())));
  const auto arrived = routing_.there(places.data());
  places.resize(static_cast<std::size_t>(count_));
  for (std::int64_t k = 0; k < count_; ++k) places[static_cast<std::size_t>(k)] = arrived[sort_.values.data()[k]];
  to.put_share("tree.order",
               fetch_stretch(*ranks_, in_turn(of_ranks(*ranks_, count_), 0), stretches_of(shares), places.data()),
               total_);
}

/// The cells below this rank's leaves of the top, level by level; `from`: their numbers in the saved tree.
template <class T>
void SpreadOctree<T>::copy_cells(SavedPieces& saved, const std::vector<std::uint32_t>& own,
                                 std::vector<std::uint32_t>& from) {
  const std::uint32_t offset = first_in_tree();
  std::vector<std::uint32_t> parents = own;
  std::vector<NumberedCell> there;
  for (const std::uint32_t cell : own) there.push_back(saved.cell(from[cell]));
  while (!parents.empty()) {
    std::vector<NumberedCell> children = saved.children(there);
    std::vector<std::uint32_t> next;
    auto child = children.begin();
    for (std::size_t k = 0; k < parents.size(); ++k) {
      CellLink& link = cells_.link[parents[k]];
      link.child = cells_.size(), link.children = there[k].link.children;
      for (std::uint32_t c = 0; c < there[k].link.children; ++c, ++child) {
        next.push_back(cells_.size());
        cells_.link.push_back({child->link.first - offset, child->link.count, 0, 0});
        cells_.parent.push_back(parents[k]);
        from.push_back(child->number);
      }
    }
    if (!next.empty()) cells_.level_begin.push_back(cells_.size());
    parents = std::move(next), there = std::move(children);
  }
}

/// Who keeps what of the tree's order: places in the tree of the particles that this rank keeps, and these as they
/// leave for the ranks that have the next ones of the tree, `ends` of them before each end.
template <class T>
void SpreadOctree<T>::find_way(SavedPieces& saved, const std::vector<std::int64_t>& ends) {
  const Shares shares{total_, ranks_->size()};
  const int rank = ranks_->rank();
  const std::int64_t begin = shares.first(rank), kept = shares.count(rank);
  std::vector<std::uint32_t> places, list, in_tree(static_cast<std::size_t>(kept), elsewhere);
  std::vector<std::int64_t> sent(ends.size());
  on_all(*ranks_, [&] {
    places = saved.order(begin, kept);
    const auto keeper = [&](std::uint32_t place) {
      auto at = static_cast<int>(std::int64_t{place} * shares.ranks / shares.total);
      while (place >= shares.first(at + 1)) ++at;
      return static_cast<std::size_t>(at);
    };
    for (const std::uint32_t place : places) ++sent[keeper(place)];
    std::vector<std::int64_t> at(sent.size());
    std::exclusive_scan(sent.begin(), sent.end(), at.begin(), std::int64_t{0});
    list.resize(places.size());
    for (std::uint32_t k = 0; k < places.size(); ++k) list[static_cast<std::size_t>(at[keeper(places[k])]++)] = k;
  });
  std::vector<std::uint32_t> leaving, where(places.size());
  {
    const Routing to_keepers(*ranks_, device_.threads(), std::move(list), std::move(sent));
    std::iota(where.begin(), where.end(), static_cast<std::uint32_t>(begin));
    leaving = to_keepers.there(places.data()), where = to_keepers.there(where.data());
  }
  // They come in the order of the tree.
  std::vector<std::int64_t> of_rank(ends.size());
  on_all(*ranks_, [&] {
    if (std::ssize(leaving) != kept)
      refuse_block("tree.order", "found " + std::to_string(leaving.size()) + " places from " + std::to_string(begin) +
                                     " on, expected each of " + std::to_string(kept) + " once");
    std::size_t to = 0;
    for (std::size_t k = 0; k < leaving.size(); ++k) {
      leaving[k] -= static_cast<std::uint32_t>(begin);
      std::uint32_t& place = in_tree[leaving[k]];
      if (place != elsewhere)
        refuse_block("tree.order", "place " + std::to_string(begin + leaving[k]) + " at " + std::to_string(where[k]) +
                                       ", expected each of " + std::to_string(total_) + " places once");
      place = where[k];
      while (place >= ends[to]) ++to;
      ++of_rank[to];
    }
  });
  routing_ = Routing(*ranks_, device_.threads(), std::move(leaving), std::move(of_rank));
  const auto arrived = routing_.there(in_tree.data());
  count_ = std::ssize(arrived);
  std::vector<std::uint32_t> order(arrived.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return arrived[a] < arrived[b]; });
  sort_.values = Buffer<std::uint32_t>(device_, order);
}

template <class T>
bool SpreadOctree<T>::restore(StateInput& from, const std::string& kind, std::int64_t total, int order, bool periodic) {
  std::optional<SavedPieces> saved;
  std::vector<std::uint32_t> numbers;  // in the saved tree, of each cell
  TopTree top;
  bool found = false;
  on_all(*ranks_, [&] {
    found = SavedPieces::is_in(from, kind);
    if (!found || total == 0) return;
    saved.emplace(from, periodic, total);
    top = cut_top_tree(*saved, ranks_->size(), numbers);
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
  std::vector<std::int64_t> ends(static_cast<std::size_t>(ranks_->size()));
  for (const TopTree::Leaf& leaf : top.leaves)
    ends[static_cast<std::size_t>(leaf.rank)] += top.cells.link[leaf.cell].count;
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  find_way(*saved, ends);
  const std::vector<std::uint32_t> own = take_top(std::move(top));
  on_all(*ranks_, [&] { copy_cells(*saved, own, numbers); });
  begin_domain();
  std::int64_t cells = own_end_ - top_cells_;
  ranks_->all_reduce(&cells, 1, Reduction::sum);
  // Each but the root has one parent, so none is left over.
  if (cells += top_cells_; cells != saved->cells())
    refuse_block("tree.link", std::to_string(cells - 1) + " children, expected " + std::to_string(saved->cells() - 1));
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

template void SpreadOctree<float>::save(StateSource&, const std::string&) const;
template void SpreadOctree<double>::save(StateSource&, const std::string&) const;
template bool SpreadOctree<float>::restore(StateInput&, const std::string&, std::int64_t, int, bool);
template bool SpreadOctree<double>::restore(StateInput&, const std::string&, std::int64_t, int, bool);

}  // namespace pergola::tree

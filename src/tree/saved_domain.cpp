#include "tree/saved_domain.hpp"

#include <numeric>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "domain/routing.hpp"
#include "tree/saved_checks.hpp"

namespace pergola::tree {

SavedTop cut_saved_top(SavedPieces& saved, int ranks) {
  SavedTop found;
  found.top = cut_top_tree(saved, ranks, found.from);
  found.ends.resize(static_cast<std::size_t>(ranks));
  for (const TopTree::Leaf& leaf : found.top.leaves)
    found.ends[static_cast<std::size_t>(leaf.rank)] += found.top.cells.link[leaf.cell].count;
  std::partial_sum(found.ends.begin(), found.ends.end(), found.ends.begin());
  return found;
}

KeptInTree find_kept(Communicator& ranks, int threads, SavedPieces& saved, const std::vector<std::uint32_t>* values) {
  const Shares shares{saved.particles(), ranks.size()};
  const std::int64_t begin = shares.first(ranks.rank()), count = shares.count(ranks.rank());
  std::vector<std::uint32_t> places, list;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks.size()));
  on_all(ranks, [&] {
    places = saved.order(begin, count);
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
  KeptInTree kept;
  std::vector<std::uint32_t> where(places.size()), with_it;
  {
    const Routing to_keepers(ranks, threads, std::move(list), std::move(sent));
    kept.by_tree = to_keepers.there(places.data());
    places = {};
    std::iota(where.begin(), where.end(), static_cast<std::uint32_t>(begin));
    where = to_keepers.there(where.data());
    if (values) with_it = to_keepers.there(values->data());
  }
  on_all(ranks, [&] {
    if (std::ssize(kept.by_tree) != count)
      refuse_block("tree.order", "found " + std::to_string(kept.by_tree.size()) + " places from " +
                                     std::to_string(begin) + " on, expected each of " + std::to_string(count) +
                                     " once");
    kept.in_tree.assign(static_cast<std::size_t>(count), elsewhere);
    kept.value.resize(with_it.size());
    for (std::size_t k = 0; k < kept.by_tree.size(); ++k) {
      std::uint32_t& number = kept.by_tree[k];
      number -= static_cast<std::uint32_t>(begin);
      if (kept.in_tree[number] != elsewhere)
        refuse_block("tree.order", "place " + std::to_string(begin + number) + " at " + std::to_string(where[k]) +
                                       ", expected each of " + std::to_string(shares.total) + " places once");
      kept.in_tree[number] = where[k];
      if (values) kept.value[number] = with_it[k];
    }
  });
  return kept;
}

std::int64_t copy_branches(SavedPieces& saved, std::vector<std::uint32_t> below, const Stretch& counted, Cells& cells,
                           std::vector<std::uint32_t>& from) {
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t cell : below) numbers.push_back(from[cell]);
  std::vector<NumberedCell> there = saved.at(numbers);
  std::int64_t count = 0;
  while (!below.empty()) {
    std::vector<NumberedCell> children = saved.children(there);
    std::vector<std::uint32_t> next;
    auto child = children.begin();
    for (std::size_t k = 0; k < below.size(); ++k) {
      const CellLink& parent = there[k].link;
      const std::uint32_t first = cells.link[below[k]].first;
      cells.link[below[k]].child = parent.children > 0 ? cells.size() : 0;
      cells.link[below[k]].children = parent.children;
      for (std::uint32_t c = 0; c < parent.children; ++c, ++child) {
        next.push_back(cells.size());
        cells.link.push_back({first + (child->link.first - parent.first), child->link.count, 0, 0});
        cells.parent.push_back(below[k]);
        from.push_back(child->number);
        if (child->link.first >= counted.first && child->link.first < counted.end()) ++count;
      }
    }
    if (!next.empty()) cells.level_begin.push_back(cells.size());
    below = std::move(next), there = std::move(children);
  }
  return count;
}

void check_copied(Communicator& ranks, const SavedPieces& saved, std::int64_t top, std::int64_t copied) {
  ranks.all_reduce(&copied, 1, Reduction::sum);
  // Each but the roots has one parent, so none is left over.
  if (top + copied != saved.cells())
    refuse_block("tree.link", std::to_string(copied) + " children, expected " + std::to_string(saved.cells() - top));
}

}  // namespace pergola::tree

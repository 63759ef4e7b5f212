#include "tree/top_tree.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "tree/split.hpp"

namespace pergola::tree {

namespace {

/// Leaves hold at most this part of a rank's share.
constexpr std::int64_t leaves_of_a_rank = 8;

std::int64_t most_in_leaf(std::int64_t total, int ranks) {
  return std::max<std::int64_t>(leaf_capacity, total / (leaves_of_a_rank * ranks));
}

/// Leaves in the order of keys; each goes to the rank in whose share its middle lies.
void collect_leaves(TopTree& top, int ranks, std::uint32_t cell, std::int64_t& before) {
  const CellLink link = top.cells.link[cell];
  for (std::uint32_t c = 0; c < link.children; ++c) collect_leaves(top, ranks, link.child + c, before);
  if (link.children > 0) return;
  const std::int64_t total = top.cells.link[0].count, twice = 2 * before + link.count;
  top.leaves.push_back({cell, static_cast<int>(std::min<std::int64_t>(twice * ranks / (2 * total), ranks - 1))});
  before += link.count;
}
void collect_leaves(TopTree& top, int ranks) {
  std::int64_t before = 0;
  collect_leaves(top, ranks, 0, before);
}

/// A cell that is to be split, with this rank's keys in it.
struct Wide {
  std::uint32_t cell;
  std::uint32_t begin, end;
};

/// Splits cells by the highest digit in which keys of any rank differ; children that are wide are split next.
class Splitter {
 public:
  Splitter(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total)
      : ranks_(ranks), keys_(keys), most_(most_in_leaf(total, ranks.size())) {
    Cells& cells = top.cells;
    cells.link.assign(1, {0, static_cast<std::uint32_t>(total), 0, 0});
    cells.parent.assign(1, 0);
    range_.push_back({0, 0, static_cast<std::uint32_t>(count)});
    if (total > most_) wide_ = range_;
    while (!wide_.empty()) split();
    cells.level_begin = {0, cells.size()};
    collect_leaves(top, ranks_.size());
    for (TopTree::Leaf& leaf : top.leaves) leaf.begin = range_[leaf.cell].begin, leaf.end = range_[leaf.cell].end;
  }

  TopTree top;

 private:
  static constexpr std::size_t digits = 8;

  void split() {
    const std::vector<int> shift = find_shifts();
    std::vector<std::int64_t> counts(digits * wide_.size());
    std::vector<std::array<std::uint32_t, digits + 1>> bounds(wide_.size());
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      bounds[k][0] = wide_[k].begin;
      for (std::size_t d = 0; d < digits; ++d) {
        bounds[k][d + 1] = shift[k] < 0 ? wide_[k].end : end_of_digit(keys_, bounds[k][d], wide_[k].end, shift[k], d);
        counts[digits * k + d] = bounds[k][d + 1] - bounds[k][d];
      }
    }
    ranks_.all_reduce(counts.data(), counts.size(), Reduction::sum);
    std::vector<Wide> next;
    Cells& cells = top.cells;
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      if (shift[k] < 0) continue;
      CellLink& parent = cells.link[wide_[k].cell];
      parent.child = cells.size();
      for (std::size_t d = 0; d < digits; ++d)
        if (counts[digits * k + d] > 0) ++parent.children;
      for (std::size_t d = 0; d < digits; ++d) {
        const std::int64_t count = counts[digits * k + d];
        if (count == 0) continue;
        range_.push_back({cells.size(), bounds[k][d], bounds[k][d + 1]});
        if (count > most_) next.push_back(range_.back());
        cells.link.push_back({0, static_cast<std::uint32_t>(count), 0, 0});
        cells.parent.push_back(wide_[k].cell);
      }
    }
    wide_ = std::move(next);
  }

  /// The digit that splits each wide cell; −1: none does.
  std::vector<int> find_shifts() {
    std::vector<std::int64_t> ends(2 * wide_.size(), std::numeric_limits<std::int64_t>::max());
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      if (wide_[k].begin == wide_[k].end) continue;
      ends[2 * k] = static_cast<std::int64_t>(keys_[wide_[k].begin]);
      ends[2 * k + 1] = -static_cast<std::int64_t>(keys_[wide_[k].end - 1]);
    }
    ranks_.all_reduce(ends.data(), ends.size(), Reduction::minimum);
    std::vector<int> shift;
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      const auto first = static_cast<std::uint64_t>(ends[2 * k]), last = static_cast<std::uint64_t>(-ends[2 * k + 1]);
      shift.push_back(first == last ? -1 : digit_shift(first, last));
    }
    return shift;
  }

  Communicator& ranks_;
  const std::uint64_t* keys_;
  const std::int64_t most_;
  std::vector<Wide> wide_, range_;  // range_: by cell
};

}  // namespace

TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total) {
  return std::move(Splitter(ranks, keys, count, total).top);
}

TopTree cut_top_tree(const std::vector<CellLink>& there, int ranks, std::vector<std::uint32_t>& from) {
  const std::int64_t most = most_in_leaf(there[0].count, ranks);
  TopTree top;
  Cells& cells = top.cells;
  cells.link.assign(1, {0, there[0].count, 0, 0});
  cells.parent.assign(1, 0);
  from.assign(1, 0);
  for (std::uint32_t cell = 0; cell < cells.size(); ++cell) {
    const CellLink& split = there[from[cell]];
    if (split.count <= most || split.children == 0) continue;
    cells.link[cell].child = cells.size(), cells.link[cell].children = split.children;
    for (std::uint32_t c = split.child; c < split.child + split.children; ++c) {
      cells.link.push_back({0, there[c].count, 0, 0});
      cells.parent.push_back(cell);
      from.push_back(c);
    }
  }
  cells.level_begin = {0, cells.size()};
  collect_leaves(top, ranks);
  return top;
}

}  // namespace pergola::tree

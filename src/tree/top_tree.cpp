#include "tree/top_tree.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tree/split.hpp"

namespace pergola::tree {

namespace {

/// Leaves hold at most this part of a rank's share, of particles and of weight.
constexpr std::int64_t leaves_of_a_rank = 8;

/// Which cells of the octree are split in its top too.
class Width {
 public:
  Width(std::int64_t total, std::int64_t weight, int ranks)
      : most_(total / (leaves_of_a_rank * ranks)), heaviest_(weight / (leaves_of_a_rank * ranks)) {}
  bool is_wide(std::int64_t count, std::int64_t weight) const {
    return count > leaf_capacity && (count > most_ || weight > heaviest_);
  }

 private:
  std::int64_t most_, heaviest_;
};

/// Leaves in the order of keys; each goes to the rank in whose share of the weight its middle lies.
void collect_leaves(TopTree& top, const std::vector<std::int64_t>& weight, int ranks, std::uint32_t cell,
                    std::int64_t& before) {
  const CellLink link = top.cells.link[cell];
  for (std::uint32_t c = 0; c < link.children; ++c) collect_leaves(top, weight, ranks, link.child + c, before);
  if (link.children > 0) return;
  const std::int64_t twice = 2 * before + weight[cell];
  top.leaves.push_back({cell, static_cast<int>(std::min<std::int64_t>(twice * ranks / (2 * weight[0]), ranks - 1))});
  before += weight[cell];
}
void collect_leaves(TopTree& top, const std::vector<std::int64_t>& weight, int ranks) {
  std::int64_t before = 0;
  collect_leaves(top, weight, ranks, 0, before);
}

/// A cell that is to be split, with this rank's keys in it.
struct Wide {
  std::uint32_t cell;
  std::uint32_t begin, end;
};

/// Splits cells by the highest digit in which keys of any rank differ; children that are wide are split next.
class Splitter {
 public:
  Splitter(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total,
           const std::vector<std::int64_t>& weight_before)
      : ranks_(ranks), keys_(keys), weight_before_(weight_before), weight_{weight_before.back()} {
    ranks_.all_reduce(weight_.data(), 1, Reduction::sum);
    width_.emplace(total, weight_[0], ranks.size());
    Cells& cells = top.cells;
    cells.link.assign(1, {0, static_cast<std::uint32_t>(total), 0, 0});
    cells.parent.assign(1, 0);
    range_.push_back({0, 0, static_cast<std::uint32_t>(count)});
    if (width_->is_wide(total, weight_[0])) wide_ = range_;
    while (!wide_.empty()) split();
    cells.level_begin = {0, cells.size()};
    collect_leaves(top, weight_, ranks_.size());
    for (TopTree::Leaf& leaf : top.leaves) leaf.begin = range_[leaf.cell].begin, leaf.end = range_[leaf.cell].end;
  }

  TopTree top;

 private:
  static constexpr std::size_t digits = 8;

  void split() {
    const std::vector<int> shift = find_shifts();
    std::vector<std::int64_t> sums(2 * digits * wide_.size());  // count and weight of each child
    std::vector<std::array<std::uint32_t, digits + 1>> bounds(wide_.size());
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      bounds[k][0] = wide_[k].begin;
      for (std::size_t d = 0; d < digits; ++d) {
        bounds[k][d + 1] = shift[k] < 0 ? wide_[k].end : end_of_digit(keys_, bounds[k][d], wide_[k].end, shift[k], d);
        std::int64_t* const sum = sums.data() + 2 * (digits * k + d);
        sum[0] = bounds[k][d + 1] - bounds[k][d];
        sum[1] = weight_before_[bounds[k][d + 1]] - weight_before_[bounds[k][d]];
      }
    }
    ranks_.all_reduce(sums.data(), sums.size(), Reduction::sum);
    std::vector<Wide> next;
    Cells& cells = top.cells;
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      if (shift[k] < 0) continue;
      CellLink& parent = cells.link[wide_[k].cell];
      parent.child = cells.size();
      for (std::size_t d = 0; d < digits; ++d)
        if (sums[2 * (digits * k + d)] > 0) ++parent.children;
      for (std::size_t d = 0; d < digits; ++d) {
        const std::int64_t count = sums[2 * (digits * k + d)], weight = sums[2 * (digits * k + d) + 1];
        if (count == 0) continue;
        range_.push_back({cells.size(), bounds[k][d], bounds[k][d + 1]});
        weight_.push_back(weight);
        if (width_->is_wide(count, weight)) next.push_back(range_.back());
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
  const std::vector<std::int64_t>& weight_before_;
  std::vector<std::int64_t> weight_;  // by cell, of all ranks
  std::optional<Width> width_;
  std::vector<Wide> wide_, range_;  // range_: by cell
};

}  // namespace

TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total,
                      const std::vector<std::int64_t>& weight_before) {
  return std::move(Splitter(ranks, keys, count, total, weight_before).top);
}

TopTree cut_top_tree(const std::vector<CellLink>& there, int ranks, std::vector<std::uint32_t>& from) {
  const Width width(there[0].count, there[0].count, ranks);
  TopTree top;
  Cells& cells = top.cells;
  cells.link.assign(1, {0, there[0].count, 0, 0});
  cells.parent.assign(1, 0);
  from.assign(1, 0);
  for (std::uint32_t cell = 0; cell < cells.size(); ++cell) {
    const CellLink& split = there[from[cell]];
    if (!width.is_wide(split.count, split.count) || split.children == 0) continue;
    cells.link[cell].child = cells.size(), cells.link[cell].children = split.children;
    for (std::uint32_t c = split.child; c < split.child + split.children; ++c) {
      cells.link.push_back({0, there[c].count, 0, 0});
      cells.parent.push_back(cell);
      from.push_back(c);
    }
  }
  cells.level_begin = {0, cells.size()};
  std::vector<std::int64_t> weight;
  for (const CellLink& link : cells.link) weight.push_back(link.count);
  collect_leaves(top, weight, ranks);
  return top;
}

}  // namespace pergola::tree

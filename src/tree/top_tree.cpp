// The top of a distributed tree, known to all ranks: cells that are large compared with the share of a rank are split,
// down to leaves that one rank each owns. Ranks hold ranges of sorted keys; per level they reduce (1) the lowest and
// highest key in each cell, hence the digit that splits it, (2) the counts and weights of its children.
// All decisions follow from reduced whole numbers, so all ranks have the same top. Weight is counted work.
#include "tree/top_tree.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tree/keys.hpp"

namespace pergola::tree {

namespace {

/// Leaves hold at most this part of a rank's share, of particles and of weight; where the shares of two ranks meet, of
/// weight at most the smaller part.
constexpr std::int64_t leaves_of_a_rank = 8, leaves_where_ranks_meet = 64;

/// Which cells of the octree are split in its top too.
class Width {
 public:
  Width(std::int64_t total, std::int64_t weight, int ranks)
      : most_(total / (leaves_of_a_rank * ranks)),
        heaviest_(weight / (leaves_of_a_rank * ranks)),
        heaviest_between_(weight / (leaves_where_ranks_meet * ranks)),
        weight_(weight),
        ranks_(ranks) {}
  /// `before`: the weight of what comes before the cell in the order of keys.
  bool is_wide(std::int64_t count, std::int64_t before, std::int64_t weight) const {
    if (count <= leaf_capacity) return false;
    if (count > most_ || weight > heaviest_) return true;
    return weight > heaviest_between_ && share(before) < share(before + weight - 1);
  }

 private:
  std::int64_t share(std::int64_t before) const { return before * ranks_ / weight_; }

  std::int64_t most_, heaviest_, heaviest_between_, weight_;
  int ranks_;
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
  KeyRanges::Range range;
};

/// Splits cells by the highest digit in which keys of any rank differ; children that are wide are split next.
class Splitter {
 public:
  Splitter(Communicator& ranks, const KeyRanges& keys, std::int64_t total)
      : ranks_(ranks), keys_(keys), weight_{keys.weight({0, static_cast<std::uint32_t>(keys.count())})}, before_{0} {
    ranks_.all_reduce(weight_.data(), 1, Reduction::sum);
    width_.emplace(total, weight_[0], ranks.size());
    Cells& cells = top.cells;
    cells.link.assign(1, {0, static_cast<std::uint32_t>(total), 0, 0});
    cells.parent.assign(1, 0);
    range_.push_back({0, {0, static_cast<std::uint32_t>(keys.count())}});
    if (width_->is_wide(total, 0, weight_[0])) wide_ = range_;
    while (!wide_.empty()) split();
    cells.level_begin = {0, cells.size()};
    collect_leaves(top, weight_, ranks_.size());
    for (TopTree::Leaf& leaf : top.leaves)
      leaf.begin = range_[leaf.cell].range.begin, leaf.end = range_[leaf.cell].range.end;
  }

  TopTree top;

 private:
  static constexpr std::size_t digits = KeyRanges::digits;

  /// One level: all wide cells at once, with two reductions over the ranks.
  void split() {
    std::vector<KeyRanges::Range> ranges;
    for (const Wide& wide : wide_) ranges.push_back(wide.range);
    const std::vector<int> shift = find_shifts(ranges);
    const std::vector<KeyRanges::Bounds> bounds = keys_.parts(ranges, shift);
    std::vector<std::int64_t> sums(2 * digits * wide_.size());  // count and weight of each child
    for (std::size_t k = 0; k < wide_.size(); ++k)
      for (std::size_t d = 0; d < digits; ++d) {
        std::int64_t* const sum = sums.data() + 2 * (digits * k + d);
        sum[0] = bounds[k][d + 1] - bounds[k][d];
        sum[1] = keys_.weight({bounds[k][d], bounds[k][d + 1]});
      }
    ranks_.all_reduce(sums.data(), sums.size(), Reduction::sum);
    std::vector<Wide> next;
    Cells& cells = top.cells;
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      if (shift[k] < 0) {
        top.crowded = true;
        continue;
      }
      top.finest_shift = std::min(top.finest_shift, shift[k]);
      CellLink& parent = cells.link[wide_[k].cell];
      parent.child = cells.size();
      for (std::size_t d = 0; d < digits; ++d)
        if (sums[2 * (digits * k + d)] > 0) ++parent.children;
      std::int64_t before = before_[wide_[k].cell];
      for (std::size_t d = 0; d < digits; ++d) {
        const std::int64_t count = sums[2 * (digits * k + d)], weight = sums[2 * (digits * k + d) + 1];
        if (count == 0) continue;
        range_.push_back({cells.size(), {bounds[k][d], bounds[k][d + 1]}});
        weight_.push_back(weight), before_.push_back(before);
        if (width_->is_wide(count, before, weight)) next.push_back(range_.back());
        before += weight;
        cells.link.push_back({0, static_cast<std::uint32_t>(count), 0, 0});
        cells.parent.push_back(wide_[k].cell);
      }
    }
    wide_ = std::move(next);
  }

  /// The digit that splits each wide cell; −1: none does.
  std::vector<int> find_shifts(const std::vector<KeyRanges::Range>& ranges) {
    std::vector<std::int64_t> ends(2 * wide_.size(), std::numeric_limits<std::int64_t>::max());
    const std::vector<KeyRanges::Ends> here = keys_.ends(ranges);
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      if (ranges[k].begin == ranges[k].end) continue;
      ends[2 * k] = static_cast<std::int64_t>(here[k].first);
      ends[2 * k + 1] = -static_cast<std::int64_t>(here[k].last);
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
  const KeyRanges& keys_;
  std::vector<std::int64_t> weight_, before_;  // by cell, of all ranks: its weight, and that of what comes before it
  std::optional<Width> width_;
  std::vector<Wide> wide_, range_;  // range_: by cell
};

/// Keys that lie on the host, with weights.
class KeysOnHost final : public KeyRanges {
 public:
  KeysOnHost(const std::uint64_t* keys, std::int64_t count, const std::vector<std::int64_t>& weight_before)
      : keys_(keys), count_(count), weight_before_(weight_before) {}
  std::int64_t count() const override { return count_; }
  std::vector<Ends> ends(const std::vector<Range>& ranges) const override {
    std::vector<Ends> found;
    for (const Range& range : ranges)
      found.push_back(range.begin == range.end ? Ends{} : Ends{keys_[range.begin], keys_[range.end - 1]});
    return found;
  }
  std::vector<Bounds> parts(const std::vector<Range>& ranges, const std::vector<int>& shift) const override {
    std::vector<Bounds> bounds(ranges.size());
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      bounds[k][0] = ranges[k].begin;
      for (std::size_t d = 0; d < digits; ++d)
        bounds[k][d + 1] = shift[k] < 0 ? ranges[k].end : end_of_digit(keys_, bounds[k][d], ranges[k].end, shift[k], d);
    }
    return bounds;
  }
  std::int64_t weight(const Range& range) const override {
    return weight_before_[range.end] - weight_before_[range.begin];
  }

 private:
  const std::uint64_t* keys_;
  std::int64_t count_;
  const std::vector<std::int64_t>& weight_before_;
};

}  // namespace

TopTree find_top_tree(Communicator& ranks, const KeyRanges& keys, std::int64_t total) {
  return std::move(Splitter(ranks, keys, total).top);
}

TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total,
                      const std::vector<std::int64_t>& weight_before) {
  return find_top_tree(ranks, KeysOnHost(keys, count, weight_before), total);
}

}  // namespace pergola::tree

#pragma once
// The top of the octree over distributed particles: which upper cells exist, and which rank owns what is below each.
//
// It is found from the sorted keys of all ranks by reductions, level by level. All ranks have the same top, bit by bit.
// Weights are counted work; without a count they are numbers of particles.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// The upper cells of the octree over particles distributed over ranks, the same on every rank: cells with at most
/// an eighth of a rank's share of the particles and of their weights (of these a 64th where the shares of two ranks
/// meet), leaves of the octree, and cells whose particles the upper keys do not tell apart are not split any further.
/// Each of these leaves, with all that is below, belongs to one rank; ranks have about the same sums of weights.
struct TopTree {
  struct Leaf {
    std::uint32_t cell = 0;
    int rank = 0;
    std::int64_t begin = 0, end = 0;  // of this rank's keys
  };
  Cells cells;               // level by level; counts are those of all ranks; `first` is 0
  std::vector<Leaf> leaves;  // in the order of keys; so are their ranks
  int finest_shift = 60;     // of the digits that it was split by
  bool crowded = false;      // a wide cell was left whole, for no digit tells its keys apart
};

/// Sorted upper keys of a rank, wherever they lie. They may be sorted by their upper digits only, and have none below.
class KeyRanges {
 public:
  static constexpr std::size_t digits = 8;
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  struct Ends {
    std::uint64_t first = 0, last = 0;
  };
  using Bounds = std::array<std::uint32_t, digits + 1>;

  virtual ~KeyRanges() = default;
  virtual std::int64_t count() const = 0;
  /// The first key and the last one of each range; anything of an empty one.
  virtual std::vector<Ends> ends(const std::vector<Range>& ranges) const = 0;
  /// Where the keys of each range with each digit at `shift` begin, and the end. Ranges whose shift is negative are
  /// left whole, in the first digit.
  virtual std::vector<Bounds> parts(const std::vector<Range>& ranges, const std::vector<int>& shift) const = 0;
  /// The weight of a range's keys.
  virtual std::int64_t weight(const Range& range) const { return range.end - range.begin; }
};

/// From every rank's sorted upper keys; `total` of them on all ranks, more than 0. `weight_before`: the sum of the
/// weights of this rank's keys before each one, and of all; weights are above 0, and their sum over all ranks is at
/// most greatest_weight.
TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total,
                      const std::vector<std::int64_t>& weight_before);
TopTree find_top_tree(Communicator& ranks, const KeyRanges& keys, std::int64_t total);
inline constexpr std::int64_t greatest_weight = std::int64_t{1} << 44;  // times 2^17 ranks is a whole number of 64 bits

}  // namespace pergola::tree

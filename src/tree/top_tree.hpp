#pragma once
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "tree/build_cpu.hpp"

namespace pergola::tree {

/// The upper cells of the octree over particles that are spread over ranks, the same on every rank: cells with at most
/// an eighth of a rank's share of the particles and of their weights, leaves of the octree, and cells whose particles
/// the upper keys do not tell apart are not split any further. Each of these leaves, with all that is below, belongs to
/// one rank; ranks have about the same sums of weights.
struct TopTree {
  struct Leaf {
    std::uint32_t cell = 0;
    int rank = 0;
    std::int64_t begin = 0, end = 0;  // of this rank's keys
  };
  Cells cells;               // counts are those of all ranks; `first` is 0
  std::vector<Leaf> leaves;  // in the order of keys; so are their ranks
};

/// The same over cells that are there, on `ranks` ranks, with equal weights; `from`: the number there of each cell of
/// the top.
TopTree cut_top_tree(const std::vector<CellLink>& there, int ranks, std::vector<std::uint32_t>& from);

/// From every rank's sorted upper keys; `total` of them on all ranks, more than 0. `weight_before`: the sum of the
/// weights of this rank's keys before each one, and of all; weights are above 0, and their sum over all ranks is at
/// most greatest_weight.
TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total,
                      const std::vector<std::int64_t>& weight_before);
inline constexpr std::int64_t greatest_weight = std::int64_t{1} << 44;  // times 2^17 ranks is a whole number of 64 bits

}  // namespace pergola::tree

#pragma once
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "tree/build_cpu.hpp"

namespace pergola::tree {

/// The upper cells of the octree over particles that are spread over ranks, the same on every rank: cells with at most
/// an eighth of a rank's share of the particles, or whose particles the upper keys do not tell apart, are not split
/// any further. Each of these leaves, with all that is below, belongs to one rank.
struct TopTree {
  struct Leaf {
    std::uint32_t cell = 0;
    int rank = 0;
    std::int64_t begin = 0, end = 0;  // of this rank's keys
  };
  Cells cells;               // counts are those of all ranks; `first` is 0
  std::vector<Leaf> leaves;  // in the order of keys; so are their ranks
};

/// The same over cells that are there, on `ranks` ranks; `from`: the number there of each cell of the top.
TopTree cut_top_tree(const std::vector<CellLink>& there, int ranks, std::vector<std::uint32_t>& from);

/// From every rank's sorted upper keys; `total` of them on all ranks, more than 0.
TopTree find_top_tree(Communicator& ranks, const std::uint64_t* keys, std::int64_t count, std::int64_t total);

}  // namespace pergola::tree

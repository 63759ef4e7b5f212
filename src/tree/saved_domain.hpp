#pragma once
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "tree/saved_pieces.hpp"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// The top of a saved tree of one root for so many ranks.
struct SavedTop {
  TopTree top;
  std::vector<std::uint32_t> from;  // the number there of each of its cells
  std::vector<std::int64_t> ends;   // by rank: of its particles in the tree's order

  std::int64_t begin(int rank) const { return rank > 0 ? ends[static_cast<std::size_t>(rank) - 1] : 0; }
};
SavedTop cut_saved_top(SavedPieces& saved, int ranks);

/// The particles of a saved tree that a rank keeps, its share of them (comm/shares.hpp).
struct KeptInTree {
  std::vector<std::uint32_t> in_tree;  // by kept particle: its place in the tree's order
  std::vector<std::uint32_t> by_tree;  // kept particles in that order
  std::vector<std::uint32_t> value;    // by kept particle
};
/// Each rank reads its share of the order and tells those who keep the particles; `values`: of the particles of this
/// share, for those too. All ranks call it.
KeptInTree find_kept(Communicator& ranks, int threads, SavedPieces& saved,
                     const std::vector<std::uint32_t>* values = nullptr);

/// Adds all cells below some that are there, level by level, at the end; `from`: the number in the saved tree of each
/// cell. Returns how many of them have their first particle in a stretch of the whole tree's order.
std::int64_t copy_branches(SavedPieces& saved, std::vector<std::uint32_t> below, const Stretch& counted, Cells& cells,
                           std::vector<std::uint32_t>& from);
/// Each cell but the top ones was copied once: so many on this rank. All ranks call it.
void check_copied(Communicator& ranks, const SavedPieces& saved, std::int64_t top, std::int64_t copied);

}  // namespace pergola::tree

#pragma once
// CUDA only: which cells of other ranks a walk would open. Of each pair of a target and a source the loops decide on
// their own, so that pairs can be looked at in any order.
#include <cstdint>

#include "device/device.hpp"
#include "tree/cells_cuda.cuh"

namespace pergola::tree {

/// Cells by their numbers on this rank.
struct CellPair {
  std::uint32_t target, source;
};

/// Where the children or particles of a cell that are elsewhere can be had.
struct Origin {
  std::uint32_t rank, cell;  // its number there
};

/// Cells of a rank: top ones, own ones, and those of other ranks.
template <class T>
struct SearchView {
  CudaTree<T> tree;
  std::uint32_t top = 0, own_end = 0;
  const std::uint8_t* not_own = nullptr;  // of the top: holds no particles of this rank
  const std::uint8_t* foreign = nullptr;  // of the top: holds others
  const std::uint32_t* served = nullptr;  // of top and own cells: whether one asks; null: all that are own
  MissingCells missing;

  __device__ bool is_foreign(std::uint32_t cell) const { return cell >= own_end || (cell < top && foreign[cell]); }
  __device__ bool is_served(std::uint32_t cell) const {
    return served ? served[cell] > 0 : cell >= top || !not_own[cell];
  }
};

/// Pairs, generation by generation: what looking at those of one leads to is the next one, in the other of two rooms,
/// and pairs whose source has to be fetched first. The host counts how far they came when all is done.
struct PairGenerations {
  static constexpr int most = 24;
  static constexpr std::uint32_t most_of_a_pair = 8;
  CellPair* pairs[2];
  CellPair* pending;
  std::uint32_t room, pending_room;        // of each of the two
  std::uint32_t *counts, *pending_counts;  // by generation: counts of most + 1, the first one is given

  /// A generation that may find no room for what it leads to is left as it is, and so there is none after it.
  PERGOLA_HD bool fits(std::uint32_t count, std::uint32_t pending_before) const {
    return count <= room / most_of_a_pair && pending_before + count <= pending_room;
  }
};

/// So many generations, at most PairGenerations::most.
template <class T>
void search_walk(const SearchView<T>& view, const Opening& opening, const PairGenerations& found, int generations,
                 Stream stream);

}  // namespace pergola::tree

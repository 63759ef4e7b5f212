#pragma once
// CUDA only: which cells of other ranks a walk, or the estimate of accelerations, would open. Of each pair of a target
// and a source the loops decide on their own, so that pairs can be looked at in any order.
#include <cstdint>

#include "device/device.hpp"
#include "tree/cells_cuda.cuh"
#include "tree/missing_cuda.cuh"

namespace pergola::tree {

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

/// What looking at pairs leads to: more pairs, at most eight of each, and pairs whose source has to be fetched first.
struct FoundPairs {
  CellPair *next, *pending;
  std::uint32_t *next_count, *pending_count;
};

template <class T>
void search_walk(const SearchView<T>& view, const Opening& opening, const CellPair* pairs, std::int64_t count,
                 const FoundPairs& found, Stream stream);
template <class T>
void search_estimate(const SearchView<T>& view, const CellPair* pairs, std::int64_t count, const FoundPairs& found,
                     Stream stream);

}  // namespace pergola::tree

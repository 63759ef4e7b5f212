#pragma once
// CUDA only: cells whose children or particles are on another rank only.
#include <cstdint>

#include "tree/octree.hpp"

namespace pergola::tree {

/// What a loop over cells would have opened. CellRecord::child of a cell that is not all here, leaf or not, is
/// `elsewhere`.
struct MissingCells {
  std::uint32_t* mark = nullptr;   // by cell: 1 where it is in the list
  std::uint32_t* list = nullptr;   // room for all cells
  std::uint32_t* count = nullptr;  // of the list

  __device__ void note(std::uint32_t cell) const {
    if (mark[cell] == 0 && atomicExch(&mark[cell], 1u) == 0) list[atomicAdd(count, 1u)] = cell;
  }
};

}  // namespace pergola::tree

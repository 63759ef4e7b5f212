#pragma once
#include <cstdint>
#include <vector>

#include "tree/octree.hpp"

namespace pergola::tree {

/// The cells of an octree, level by level: those of level l are level_begin[l] … level_begin[l + 1] − 1. Cells with one
/// child are left out, so that a level here is not a level of the keys.
struct Cells {
  std::vector<CellLink> link;
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> level_begin;
  std::uint32_t size() const { return static_cast<std::uint32_t>(link.size()); }
};

/// Cells over sorted keys. Cells are split by the digits of `upper`, then of `lower` (null: none), and particles that
/// no digit tells apart by their number: so every leaf has at most leaf_capacity particles, and the depth is bounded.
void build_cells_cpu(int threads, std::int64_t count, const std::uint64_t* upper, const std::uint64_t* lower,
                     Cells& cells);
/// The same of cells that are there: their descendants are added at the end, level by level.
void grow_cells_cpu(int threads, std::vector<std::uint32_t> from, const std::uint64_t* upper,
                    const std::uint64_t* lower, Cells& cells);

}  // namespace pergola::tree

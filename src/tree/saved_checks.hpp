#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tree/octree.hpp"

namespace pergola::tree {

/// What is wrong with the numbers of a saved tree: each throws Error(input) that names the block.
[[noreturn]] void refuse_block(const char* block, const std::string& what);
void check_frame(const Frame& frame);
void check_levels(const std::vector<std::uint32_t>& begin, std::size_t roots, std::size_t cells);
/// Returns the level.
int check_root_level(std::int64_t level);
/// `before`: the place of the root before, or none.
void check_root_place(std::uint32_t place, const std::uint32_t* before, int root_level, std::size_t root);
/// Its particles begin where those of the root before end, and of the last one are the last of all.
void check_root(std::size_t root, const CellLink& link, std::uint32_t parent, std::uint64_t begin, bool is_last,
                std::int64_t particles);
/// `begin` to `end` (not included) are the cells of the next level.
void check_link(std::uint32_t cell, const CellLink& link, std::uint64_t begin, std::uint64_t end);
/// The children of a cell hold its particles, one after the other. `part` and `parent`: of the first of them and the
/// next ones.
void check_children(std::uint32_t cell, const CellLink& link, const CellLink* part, const std::uint32_t* parent);
void check_accelerations(const std::vector<double>& values);
void check_centres(const double* values, std::size_t count);

}  // namespace pergola::tree

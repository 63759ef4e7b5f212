#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "tree/octree.hpp"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// A cell that a rank tells of, for it has the first of its particles; `first` among the rank's own.
struct ExportedCell {
  std::uint32_t level, first, count, children;  // level: of Cells
  double acceleration = 0;
  Vec3<double> centre{0, 0, 0};
};

/// What a rank tells of a tree of all ranks, whose particles follow, in the tree's order, those of the ranks before.
struct ExportedTree {
  Frame frame;
  std::int64_t spread = 0;
  std::vector<std::uint32_t> order;  // places among all of the rank's particles, in the tree's order
  std::vector<ExportedCell> cells;   // in any order
  bool accelerations = false, centres = false;
  int root_level = 0;               // of a forest
  std::vector<std::uint32_t> root;  // places of those of its roots that are exported of
};

/// Puts the tree of all into a checkpoint, with the bytes of one process (tree/saved_tree.hpp), cells level by level in
/// the order of their particles: each rank has its share of these and of the order. All ranks call it.
void save_in_shares(Communicator& ranks, ExportedTree exported, const std::string& kind, StateSource& to);

/// The cells of a rank that has a domain and the top of all (tree/top_tree.hpp): the top's first, then its own.
struct DomainCells {
  const std::vector<TopTree::Leaf>& leaves;
  const std::vector<CellLink>& link;
  const std::vector<std::uint32_t>& parent;
  std::uint32_t top, end;
};
/// Those that it tells of; more(cell, exported): sets what else is known of it.
std::vector<ExportedCell> exported_cells(int rank, const DomainCells& of,
                                         const std::function<void(std::uint32_t, ExportedCell&)>& more);

}  // namespace pergola::tree

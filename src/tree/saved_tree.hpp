#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/state_blocks.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// The cells of a tree and the particles in them: what of it outlasts a small step, and so belongs into a checkpoint.
struct SavedTree {
  Frame frame;
  std::vector<std::uint32_t> order;  // place among the points of each particle in the tree's order
  std::vector<CellLink> link;
  std::vector<std::uint32_t> parent, level_begin;
  std::vector<double> acceleration;  // empty: angles alone decide
  std::int64_t spread = 0;           // LeafSpread of the tree when it was built

  /// `kind`: whose tree it is. Trees of another kind are not taken. Throws Error(input) when a number of the tree leads
  /// anywhere outside of it.
  void save(StateBlocks& blocks, const std::string& kind) const;
  bool restore(const StateBlocks& blocks, const std::string& kind, std::int64_t count);
};

/// Units of the sum over all leaves of log₂ of their radii: a whole number, so that its order does not matter.
inline constexpr double spread_units = 1048576.0;  // 2^20
/// The particles of a refreshed tree have drifted apart too far when the radii of its leaves are larger by this factor
/// than when it was built, in the geometric mean.
inline constexpr double most_growth = 1.2;

/// What a leaf adds to the sum.
PERGOLA_HD std::int64_t leaf_spread(double r, double least) {
  return static_cast<std::int64_t>(std::log2(r > least ? r : least) * spread_units);
}

inline bool has_grown(std::int64_t before, std::int64_t now, std::int64_t leaves) {
  return static_cast<double>(now - before) > std::log2(most_growth) * spread_units * static_cast<double>(leaves);
}

}  // namespace pergola::tree

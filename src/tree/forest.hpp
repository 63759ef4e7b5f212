#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tree/keys.hpp"
#include "tree/walk.hpp"

namespace pergola::tree {

/// Where nothing acts from a cut-off radius on, cells much wider than that never act as a whole. There the tree is a
/// forest: its level 0 is not the cube but all cells of one level of the cube that hold particles, the roots, in the
/// order of keys. The walk for a root begins with the roots around it, so that neither cells nor forces depend on
/// particles farther away. Lengths are in the tree's units.
struct Forest {
  static constexpr int finest_root_blocks = 7;

  int level = 0;                 // of the roots; 0: the cube is the only one
  Vec3<double> period{0, 0, 0};  // of the box
  double cut_off = 0;

  /// Cells of the level, whether they hold particles or not: a root's place among them is the head of its keys.
  std::int64_t places() const { return std::int64_t{1} << 3 * level; }
  /// Ranks have whole plots of the level, or of a coarser one where there are many roots: what they tell each other of
  /// plots, and keep of those of all ranks, does not grow with these.
  int root_block_level() const { return std::min(level, finest_root_blocks); }
  std::int64_t root_blocks() const { return std::int64_t{1} << 3 * root_block_level(); }
  /// Of a root: its place, shifted right by this.
  int root_block_shift() const { return 3 * (level - root_block_level()); }
  /// Of a root.
  double side() const { return std::ldexp(1.0, -level); }
  /// Roots whose cubes are nearer than this to each other are neighbours: in a cube those next to each other.
  double reach() const { return side() * (1 - 1e-6); }
  /// So far may particles be outside of their root's cube until the tree is to be built anew.
  double slack() const { return 0.5 * (reach() - cut_off); }
};

/// Roots are at least so many cut-off radii wide, so that particles may leave their cubes a little, hold at least so
/// many particles in the mean, so that leaves are filled as those of one tree, and are at most on this level: a place
/// takes 16 bytes of every rank. Small roots spare ranks ghosts.
inline constexpr double root_cut_offs = 1.25;
inline constexpr double root_particles = 2 * leaf_capacity;
inline constexpr int finest_roots = 8;

/// The forest for n particles in a periodic box, in a cube of this side, with at least `fewest` in a root in the mean.
/// Where softening lengths differ, small cells have one length each, and roots are wider than those.
inline Forest find_forest(const CutOffBox& box, std::int64_t n, const TreeSoftening& softening, double side,
                          double fewest = root_particles) {
  const int finest = softening.uniform ? finest_roots : std::min(finest_roots, softening_level(side, softening.apart));
  Forest forest{0, box.period, box.cut_off};
  while (forest.level < finest && 0.5 * forest.side() >= root_cut_offs * box.cut_off &&
         8 * static_cast<double>(forest.places()) * fewest <= static_cast<double>(n))
    ++forest.level;
  return forest;
}

/// Along one axis: the indices of the roots that are neighbours of those with one index.
struct RootsAlong {
  std::uint32_t count = 0;
  std::uint16_t index[4] = {};  // at the end of a box that is no multiple of roots long there are four
};

/// By index, of an axis on which the box is `period` long.
inline std::vector<RootsAlong> roots_along(const Forest& forest, double period) {
  const double side = forest.side();
  const int count = 1 << forest.level;
  const auto gap = [&](int i, int j, double moved) {
    const double low = std::max(i * side, j * side + moved);
    return low - std::min(std::min((i + 1) * side, period), std::min((j + 1) * side, period) + moved);
  };
  std::vector<RootsAlong> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count && i * side <= period; ++i)
    for (int j = 0; j < count && j * side <= period; ++j) {
      const double nearest = std::min({gap(i, j, -period), gap(i, j, 0), gap(i, j, period)});
      RootsAlong& around = all[static_cast<std::size_t>(i)];
      if (nearest < forest.reach()) around.index[around.count++] = static_cast<std::uint16_t>(j);
    }
  return all;
}

/// Of the three axes, one after the other.
inline std::vector<RootsAlong> roots_along(const Forest& forest) {
  std::vector<RootsAlong> all;
  for (const double period : {forest.period.x, forest.period.y, forest.period.z})
    for (const RootsAlong& around : roots_along(forest, period)) all.push_back(around);
  return all;
}

/// Every third bit, of those of spread_bits(): the index of a root along an axis from its place.
PERGOLA_HD std::uint32_t gather_bits(std::uint32_t spread) {
  std::uint32_t v = spread & 0x9249249u;
  v = (v | v >> 2) & 0x30c30c3u;
  v = (v | v >> 4) & 0x300f00fu;
  v = (v | v >> 8) & 0x30000ffu;
  return (v | v >> 16) & 0x3ffu;
}
/// Axes 0, 1, 2: x, y, z.
PERGOLA_HD std::uint32_t root_index(std::uint32_t place, int axis) { return gather_bits(place >> (2 - axis)); }

}  // namespace pergola::tree

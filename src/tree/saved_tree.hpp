#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/state_source.hpp"
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
  std::vector<double> centre;        // x, y, z of each cell in a periodic box; else empty
  int root_level = 0;                // Forest::level (tree/forest.hpp); 0: one root
  std::vector<std::uint32_t> root;   // of a forest: the places of its roots, which rise; else empty

  /// `kind`: whose tree it is, tree_kind(). Trees of another kind are not taken. Throws Error(input) when a number of
  /// the tree leads anywhere outside of it.
  void save(StateBlocks& blocks, const std::string& kind) const;
  bool restore(const StateBlocks& blocks, const std::string& kind, std::int64_t count);
};

/// Trees of one device in open space, or in a periodic box, where they hold centres.
inline std::string tree_kind(const char* device, bool periodic) {
  return std::string(device) + (periodic ? " periodic" : "");
}

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

/// In a periodic box the particles of a refreshed tree stay with their leaf when they leave through a side: each is
/// taken at the image that is nearest to where the leaf's centre was.
PERGOLA_HD double image_near(double x, double centre, double period) {
  return x + period * std::rint((centre - x) / period);
}
PERGOLA_HD Vec3<double> image_near(const Vec3<double>& at, const Vec3<double>& centre, const Vec3<double>& period) {
  return {image_near(at.x, centre.x, period.x), image_near(at.y, centre.y, period.y),
          image_near(at.z, centre.z, period.z)};
}

/// A leaf whose centre is farther outside of the box than this part of its side has gone astray: then the tree is built
/// anew, for walks find nearest images of centres that are less than one and a half sides apart.
inline constexpr double most_outside = 0.2;
PERGOLA_HD bool is_astray(double centre, double period) {
  return centre < -most_outside * period || centre > (1 + most_outside) * period;
}
PERGOLA_HD bool is_astray(const Vec3<double>& centre, const Vec3<double>& period) {
  return is_astray(centre.x, period.x) || is_astray(centre.y, period.y) || is_astray(centre.z, period.z);
}

}  // namespace pergola::tree

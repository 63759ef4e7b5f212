#pragma once
// A tree that serves several steps, as a few numbers and fields of its particles.
//
// The cells of a tree follow from the keys of its particles when it was built, and from the order of those with the
// same keys. So whoever has the keys makes the same cells again, on any number of ranks, and finds their moments from
// the places of now. That is what a checkpoint holds of a tree, and what is left of it while its solver serves others.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/state_source.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "tree/keys.hpp"

namespace pergola::tree {

/// What refresh() builds on. Fields are by source of this rank, on the device of the solver.
struct KeptTree {
  Device device;
  Frame frame;
  int digit_level = SofteningDigit::no_digit;         // SofteningDigit::level
  int root_level = 0;                                 // Forest::level (tree/forest.hpp); 0: one root
  std::int64_t spread = 0;                            // the sum of leaf_spread() when it was built
  bool has_lower = false, has_accelerations = false;  // the same on all ranks
  Buffer<std::uint64_t> upper, lower;                 // keys when it was built
  Buffer<double> acceleration;                        // of the group of each, for the opening test
  std::vector<std::uint32_t> weight{};                // counted work, for balance alone: not saved; empty: unknown

  std::int64_t count() const { return upper.size(); }
};

/// Whose tree it is: of one device, in open space or in a periodic box.
inline std::string tree_kind(const Device& device, bool periodic) {
  return std::string(device.is_cuda() ? "cuda" : "cpu") + (periodic ? " periodic" : "");
}

/// Into a checkpoint, by ranges that copy the fields when they are read.
void save_tree(StateSource& to, const std::string& kind, const std::shared_ptr<const KeptTree>& kept);
/// The part of a rank that keeps its share of the particles. Null: there is no tree of this kind. Throws Error(input)
/// that names the block when a number cannot be right.
std::shared_ptr<const KeptTree> restore_tree(StateInput& from, const std::string& kind, const Device& device,
                                             const Shares& shares, int rank);

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
/// taken at the image that is nearest to where the first particle of the leaf was when the tree was built.
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

#pragma once
// A tree that serves several steps, as a few numbers and fields of its particles.
//
// The cells of a tree follow from the keys of its particles when it was built, and from the order of those with the
// same keys. So whoever has the keys makes the same cells again, on any number of ranks, and finds their moments from
// the places of now. That is what a checkpoint holds of a tree, and what is left of it while its solver serves others.
#include <cmath>
#include <cstdint>
#include <string>

#include "base/state_source.hpp"
#include "particles/particle_store.hpp"
#include "tree/keys.hpp"

namespace pergola::tree {

/// What refresh() builds on: fields of the particles, which are saved and change ranks with the others of their list,
/// and a few numbers, the same on all ranks.
class PERGOLA_API KeptTree {
 public:
  explicit KeptTree(FieldList& particles);

  /// Whose tree it is; empty: there is none.
  std::string kind;
  Frame frame;
  int digit_level = SofteningDigit::no_digit;  // SofteningDigit::level
  int root_level = 0;                          // Forest::level (tree/forest.hpp); 0: one root
  std::int64_t spread = 0;                     // the sum of leaf_spread() when it was built
  ParticleField<std::uint64_t> upper, lower;   // keys when it was built
  ParticleField<double> acceleration;          // of the group of each, for the opening test

  bool is_there() const { return !kind.empty(); }
  bool has_lower() const { return lower.used(); }
  bool has_accelerations() const { return acceleration.used(); }
  std::int64_t count() const { return particles_.count(); }
  const Device& device() const { return particles_.device(); }
  /// With memory for the fields.
  void begin(const std::string& of_kind, bool with_lower, bool with_accelerations);
  void forget();
  void take_numbers(const KeptTree& from) {
    frame = from.frame, digit_level = from.digit_level, root_level = from.root_level, spread = from.spread;
  }
  /// The numbers. restore() is called before the particles are restored, which then have the fields that were saved,
  /// and check() afterwards. Both throw Error(input) that names the block when a number cannot be right.
  void save(StateSource& to) const;
  void restore(StateInput& from);
  void check() const;

 private:
  FieldList& particles_;
};

/// body(field of `from`, the same of `to`) for those that are used.
template <class Body>
void each_field(const KeptTree& from, KeptTree& to, const Body& body) {
  if (from.upper.used()) body(from.upper, to.upper);
  if (from.lower.used()) body(from.lower, to.lower);
  if (from.acceleration.used()) body(from.acceleration, to.acceleration);
}

/// Whose tree it is: of one device, in open space or in a periodic box.
inline std::string tree_kind(const Device& device, bool periodic) {
  return std::string(device.is_cuda() ? "cuda" : "cpu") + (periodic ? " periodic" : "");
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

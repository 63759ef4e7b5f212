#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis_input.hpp"
#include "analysis/centers.hpp"

namespace pergola {

/// All particles in coarse cells, to find those near a place; `snapshot` outlives it. May be asked by several threads.
class Neighbourhood {
 public:
  /// `filled`: the part of a periodic box that they are in, which cells are made for.
  Neighbourhood(const AnalysisSnapshot& snapshot, int threads, double filled = 1);

  /// Half of a periodic box, beyond which there are images only; infinite in open space.
  double farthest() const;
  /// The particles within `radius`, which is at most farthest().
  SeenFromCenter within(const Vec3<double>& center, double radius) const;
  const AnalysisSnapshot& snapshot() const { return snapshot_; }

 private:
  double cell_side() const { return snapshot_.box.side.x / static_cast<double>(side_); }
  std::int64_t around(std::int64_t k) const { return ((k % side_) + side_) % side_; }
  std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((z * side_ + y) * side_ + x);
  }
  std::int64_t place(double x, double low) const;

  const AnalysisSnapshot& snapshot_;
  std::int64_t side_ = 1;  // cells along an axis; one in open space
  std::vector<std::size_t> begin_;
  std::unique_ptr<std::uint32_t[]> order_;  // particles by cell
  std::unique_ptr<Vec3<double>[]> places_;  // and where they are, so that those of a cell lie together
};

/// Fewer particles than these say nothing about a sphere: neither its density nor what moves in it.
inline constexpr std::size_t least_in_sphere = 10;

/// The sphere about a place in which the mean density falls to a limit.
struct Overdensity {
  double mass = 0, radius = 0;  // of a sphere that has the limit for its mean density
  std::size_t particles = 0;    // in it: the first ones that are seen
};

/// The sphere that grows outward through all that is seen until its mean density falls below `density`. A
/// density below it of fewer than least_in_sphere does not count: the sphere goes on where a later one is denser.
Overdensity overdensity_in(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, double density);

/// The mean velocity of the particles in a sphere.
Vec3<double> velocity_of(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, const Overdensity& sphere);

/// How far one looks for that sphere: from a radius for the mass that is expected in it outward, in a periodic box at
/// most `farthest`.
class DensitySearch {
 public:
  DensitySearch(double mass, double density, double farthest);
  double radius() const { return radius_ < farthest_ ? radius_ : farthest_; }
  /// Whether what is seen within radius() is enough for overdensity_in; if not, the radius grows.
  bool is_enough(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen);

 private:
  double radius_, density_, farthest_;
};

/// What is seen from a place far enough outward for overdensity_in; `mass`: a guess of what will be in the sphere. In a
/// periodic box at most as far as half of it.
SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density);

}  // namespace pergola

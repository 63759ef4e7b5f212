#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis_input.hpp"
#include "analysis/centers.hpp"
#include "analysis/coarse_cells.hpp"
#include "analysis/group_sums.hpp"

namespace pergola {

/// Half of a periodic box, beyond which there are images only; infinite in open space.
double farthest_in(const Box& box);

/// All particles in coarse cells, to find those near a place; `snapshot` outlives it. May be asked by several threads.
class Neighbourhood {
 public:
  /// `filled`: the part of a periodic box that they are in, which cells are made for.
  Neighbourhood(const AnalysisSnapshot& snapshot, int threads, double filled = 1);

  double farthest() const { return farthest_in(snapshot_.box); }
  /// The particles within `radius`, which is at most farthest().
  SeenFromCenter within(const Vec3<double>& center, double radius) const;
  const AnalysisSnapshot& snapshot() const { return snapshot_; }

 private:
  const AnalysisSnapshot& snapshot_;
  CoarseCells cells_;
  std::vector<std::size_t> begin_;
  std::unique_ptr<std::uint32_t[]> order_;  // particles by cell
  std::unique_ptr<Vec3<double>[]> places_;  // and where they are, so that those of a cell lie together
};

/// The sphere about a place in which the mean density falls to a limit.
struct Overdensity : SphereMass {
  double radius = 0;  // of a sphere that has the limit for its mean density
};
Overdensity overdensity_of(const SphereMass& sphere, double density);

/// The sphere that grows outward through all that is seen until its mean density falls below `density`. A
/// density below it of fewer than least_in_sphere does not count: the sphere goes on where a later one is denser.
Overdensity overdensity_in(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, double density);

/// The mean velocity of the particles in a sphere.
Vec3<double> velocity_of(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, const SphereMass& sphere);

/// The mass of all that is seen.
double seen_mass(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen);

/// How far one looks for that sphere: from a radius for the mass that is expected in it outward, in a periodic box at
/// most `farthest`.
class DensitySearch {
 public:
  DensitySearch(double mass, double density, double farthest);
  double radius() const { return radius_ < farthest_ ? radius_ : farthest_; }
  /// Whether what is seen within radius(), so much mass, is enough for overdensity_in; if not, the radius grows.
  bool is_enough(double mass);

 private:
  double radius_, density_, farthest_;
};

/// What is seen from a place far enough outward for overdensity_in; `mass`: a guess of what will be in the sphere. In a
/// periodic box at most as far as half of it.
SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density);

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "particles/box.hpp"
#include "physics/profiles.hpp"

namespace pergola {

// What is summed over the particles of groups: in one order on CPU and CUDA, so that both have the same bits.
/// Of the members, by rising id.
struct MemberSums {
  double mass = 0;
  Vec3<double> momentum{0, 0, 0};
  double square = 0;  // Σ m v²
};

/// Fewer particles than these say nothing about a sphere: neither its density nor what moves in it.
inline constexpr std::int64_t least_in_sphere = 10;

/// Whether the mean density of a sphere is not below a limit.
PERGOLA_HD bool is_as_dense(double mass, double radius, double density) {
  return mass >= density * physics::shell_volume(0.0, radius);
}

/// The first particles that are seen from a centre, nearest first.
struct SphereMass {
  double mass = 0;
  std::int64_t particles = 0;
};

/// Of the spheres of 200 mean and critical densities about a centre, particle by particle outward.
struct SphereSums {
  double within = 0;  // the mass of all that was looked at
  SphereMass of_mean, of_critical;
  // Of the latter:
  double peak_speed = 0;                   // the largest circular speed from least_in_sphere particles on
  Vec3<double> angular_momentum{0, 0, 0};  // about the centre, as seen from the mean velocity
};

/// Coarse cells of a periodic box, in which particles near a place are looked for; one of them in open space. They are
/// numbered by z, then y, then x. One for CPU and CUDA.
struct CoarseCells {
  Box box;
  std::int64_t side = 1;  // of them along an axis

  /// `filled`: the part of a periodic box that so many particles are in.
  CoarseCells(const Box& of, std::int64_t particles, double filled = 1) : box(of) {
    if (box.periodic())
      side = std::clamp(static_cast<std::int64_t>(std::cbrt(static_cast<double>(particles) / (8 * filled))),
                        std::int64_t{1}, std::int64_t{256});
  }
  std::int64_t count() const { return side * side * side; }
  PERGOLA_HD double cell_side() const { return box.side.x / static_cast<double>(side); }
  PERGOLA_HD std::int64_t around(std::int64_t k) const { return ((k % side) + side) % side; }
  PERGOLA_HD std::int64_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return (z * side + y) * side + x;
  }
  /// Of a place along an axis whose lowest is `low`.
  PERGOLA_HD std::int64_t place(double x, double low) const {
    if (side == 1) return 0;
    const double from_corner = wrap(x, low, box.side.x) - low;
    const auto at = static_cast<std::int64_t>(from_corner / cell_side());
    return at < side ? at : side - 1;
  }
  PERGOLA_HD std::int64_t cell_of(const Vec3<double>& at) const {
    return index(place(at.x, box.corner.x), place(at.y, box.corner.y), place(at.z, box.corner.z));
  }
  /// How many cells away particles within `radius` may be; -1: anywhere.
  PERGOLA_HD std::int64_t reach(double radius) const {
    if (side == 1 || 2 * std::ceil(radius / cell_side()) + 1 >= static_cast<double>(side)) return -1;
    return static_cast<std::int64_t>(std::ceil(radius / cell_side()));
  }
};

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

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
#include "physics/measures.hpp"

// Particles near a position: coarse cells to find them, and spheres that grow outward to a density limit. Also the sums
// over groups and spheres that CPU and CUDA share: both add in one order, so that both have the same bits.
namespace pergola {

/// Over the members of a group, by rising id.
struct MemberSums {
  double mass = 0;
  Vec3<double> momentum{0, 0, 0};
  double square = 0;  // Σ m v²
};

/// A sphere of fewer particles has no density and no peak speed.
inline constexpr std::int64_t least_in_sphere = 10;

/// Whether the mean density of a sphere is at least `density`.
PERGOLA_HD bool is_as_dense(double mass, double radius, double density) {
  return mass >= density * physics::shell_volume(0.0, radius);
}

/// The first particles from a centre outward.
struct SphereMass {
  double mass = 0;
  std::int64_t particles = 0;
};

/// Over the spheres of 200 mean and 200 critical densities about a centre, from the centre outward.
struct SphereSums {
  double within = 0;  // the mass of all particles within the search radius
  SphereMass of_mean, of_critical;
  // Of the sphere of critical density:
  double peak_speed = 0;                   // the largest circular speed from least_in_sphere particles on
  Vec3<double> angular_momentum{0, 0, 0};  // about the centre, as seen from the mean velocity
};

/// Coarse cells of a periodic box, numbered by z, then y, then x. In open space there is one cell. For CPU and CUDA.
struct CoarseCells {
  Box box;
  std::int64_t side = 1;  // cells along an axis

  /// `filled`: the part of the periodic box that holds the particles.
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
  /// The cell of a coordinate on an axis that begins at `low`.
  PERGOLA_HD std::int64_t place(double x, double low) const {
    if (side == 1) return 0;
    const double from_corner = wrap(x, low, box.side.x) - low;
    const auto at = static_cast<std::int64_t>(from_corner / cell_side());
    return at < side ? at : side - 1;
  }
  PERGOLA_HD std::int64_t cell_of(const Vec3<double>& at) const {
    return index(place(at.x, box.corner.x), place(at.y, box.corner.y), place(at.z, box.corner.z));
  }
  /// The largest distance in cells of particles within `radius`; −1: all cells.
  PERGOLA_HD std::int64_t reach(double radius) const {
    if (side == 1 || 2 * std::ceil(radius / cell_side()) + 1 >= static_cast<double>(side)) return -1;
    return static_cast<std::int64_t>(std::ceil(radius / cell_side()));
  }
};

/// Half of a periodic box, the largest distance of a nearest image; infinite in open space.
double farthest_in(const Box& box);

/// All particles in coarse cells. `snapshot` must outlive it. Several threads may call it.
class Neighbourhood {
 public:
  /// `filled`: the part of the periodic box that holds the particles; sets the size of the cells.
  Neighbourhood(const AnalysisSnapshot& snapshot, int threads, double filled = 1);

  double farthest() const { return farthest_in(snapshot_.box); }
  /// The particles within `radius`, at most farthest(), nearest first.
  SeenFromCenter within(const Vec3<double>& center, double radius) const;
  const AnalysisSnapshot& snapshot() const { return snapshot_; }

 private:
  const AnalysisSnapshot& snapshot_;
  CoarseCells cells_;
  std::vector<std::size_t> begin_;
  std::unique_ptr<std::uint32_t[]> order_;  // particles by cell
  std::unique_ptr<Vec3<double>[]> places_;  // their positions, contiguous for each cell
};

/// The sphere in which the mean density falls to a limit.
struct Overdensity : SphereMass {
  double radius = 0;  // of the sphere of this mass with the limit as mean density
};
Overdensity overdensity_of(const SphereMass& sphere, double density);

/// Grows outward until the mean density falls below `density`. With fewer than least_in_sphere particles a lower
/// density does not end the search.
Overdensity overdensity_in(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, double density);

/// The mean velocity of the particles in a sphere.
Vec3<double> velocity_of(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, const SphereMass& sphere);

double seen_mass(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen);

/// The radius of the search: starts from the radius of the expected mass, then grows, at most to `farthest`.
class DensitySearch {
 public:
  DensitySearch(double mass, double density, double farthest);
  double radius() const { return radius_ < farthest_ ? radius_ : farthest_; }
  /// Whether `mass` within radius() is enough for overdensity_in(). If not, the radius grows.
  bool is_enough(double mass);

 private:
  double radius_, density_, farthest_;
};

/// All particles around a position, far enough outward for overdensity_in(). `mass`: the expected mass. In a periodic
/// box at most half of its side.
SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density);

}  // namespace pergola

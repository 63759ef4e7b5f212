#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"

// Discs: their frame, and rings in it. `disc_frame` finds the centre and takes the direction of the angular momentum as
// the axis; `disc_rings` sums particles in rings of equal width. The analyses `rotation` (rotation curve, circular
// speed, dispersions, Toomre's Q) and `bar` (strength and phase of the m = 2 mode) are built on them.
// Particles are summed in the order of their distance from the axis, then by id: results do not depend on the order of
// the file.
namespace pergola {

/// The particles of a disc in cylindrical coordinates about its centre. The axis is the angular momentum.
struct DiscFrame {
  SystemCenter center;
  Vec3<double> axis;                 // of length 1
  std::vector<std::size_t> order;    // places in the particle arrays, nearest to the axis first, then by id
  std::vector<double> radius, x, y;  // of order[k], in the plane of the disc
  std::vector<double> v_radial, v_azimuthal, v_vertical;

  /// The radial component of a vector at particle order[k].
  double radial_part(std::size_t k, const Vec3<double>& vector) const;

  Vec3<double> first, second;  // directions of x and y
};

/// Throws Error(input) for particles without angular momentum.
DiscFrame disc_frame(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device);

/// Measured properties of a ring.
struct DiscRing {
  double inner = 0, outer = 0;
  std::int64_t particles = 0;
  double surface_density = 0;
  double rotation = 0;  // mean azimuthal velocity
  double circular_speed = 0;
  double sigma_radial = 0, sigma_azimuthal = 0, sigma_vertical = 0;
  double kappa = 0;  // epicyclic frequency, from the slopes between the rings
  double toomre_q = 0;
};

/// Rings of equal width from `low` to `high`. `pull`: the acceleration of each particle of the frame's snapshot. Values
/// of a ring with too few particles are not_known.
std::vector<DiscRing> disc_rings(const AnalysisSnapshot& snapshot, const DiscFrame& frame,
                                 const std::vector<Vec3<double>>& pull, double low, double high, std::int64_t bins);

}  // namespace pergola

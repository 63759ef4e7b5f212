#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"

namespace pergola {

/// Particles of a disc in cylindrical coordinates about its centre, with the axis along the angular momentum.
struct DiscFrame {
  SystemCenter center;
  Vec3<double> axis;                 // of length 1
  std::vector<std::size_t> order;    // places in the particle arrays, nearest to the axis first, then by id
  std::vector<double> radius, x, y;  // of order[k], in the plane of the disc
  std::vector<double> v_radial, v_azimuthal, v_vertical;

  /// A vector's component towards larger radius at particle order[k].
  double radial_part(std::size_t k, const Vec3<double>& vector) const;

  Vec3<double> first, second;  // directions of x and y
};

/// Throws Error(input) for particles without angular momentum, which are no disc.
DiscFrame disc_frame(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device);

/// What a ring of a disc shows.
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

/// Rings of equal width from `low` to `high`. `pull` is the acceleration of each particle of the frame's snapshot. What
/// a ring of fewer than two particles does not show is not a number.
std::vector<DiscRing> disc_rings(const AnalysisSnapshot& snapshot, const DiscFrame& frame,
                                 const std::vector<Vec3<double>>& pull, double low, double high, std::int64_t bins);

}  // namespace pergola

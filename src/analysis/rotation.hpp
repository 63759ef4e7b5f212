#pragma once
#include <cstdint>
#include <vector>

#include "analysis/disc_frame.hpp"

namespace pergola {

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

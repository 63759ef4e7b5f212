#pragma once
#include <cstddef>
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

}  // namespace pergola

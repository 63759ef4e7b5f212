#include <algorithm>
#include <cmath>
#include <iterator>

#include "gravity/tree.hpp"

namespace pergola {

namespace {

/// Parameters for accuracies from `above` down to `below`, interpolated in the logarithm. Chosen so that the median
/// error of Plummer, Hernquist, disc and cube models lies between a fifth of the accuracy and the accuracy;
/// docs/tree.md has the measurements.
struct Calibration {
  double above, below;
  int order;
  double angle[2], target_angle[2], tolerance[2];
};
constexpr Calibration rows[] = {{1e-2, 1e-3, 4, {1.0, 0.845}, {0.65, 0.495}, {1.5e-1, 6.3e-3}},
                                {1e-3, 1e-5, 5, {0.93, 0.7}, {0.54, 0.4}, {1.6e-2, 3e-5}}};

double between(double a, double b, double part) { return std::exp(std::log(a) + part * (std::log(b) - std::log(a))); }

}  // namespace

tree::Opening tree_opening(const TreeOptions& options) {
  tree::Opening opening;
  if (options.opening == TreeOptions::Opening::geometric) {
    opening.order = options.order > 0 ? options.order : 4;
    opening.angle = options.opening_angle;
    opening.target_angle = options.opening_angle / 2;
    return opening;
  }
  const double x = std::clamp(options.accuracy, std::end(rows)[-1].below, rows[0].above);
  std::size_t k = 0;
  while (k + 1 < std::size(rows) && x < rows[k].below) ++k;
  const Calibration& row = rows[k];
  const double part = (std::log(row.above) - std::log(x)) / (std::log(row.above) - std::log(row.below));
  const auto at = [part](const double(&ends)[2]) { return between(ends[0], ends[1], part); };
  opening.order = options.order > 0 ? options.order : row.order;
  opening.angle = at(row.angle);
  opening.target_angle = at(row.target_angle);
  opening.tolerance = at(row.tolerance);
  opening.softening = x / 4;
  return opening;
}

}  // namespace pergola

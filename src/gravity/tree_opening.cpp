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
constexpr Calibration rows[] = {{1e-2, 3e-3, 3, {0.8, 0.6}, {0.45, 0.27}, {1e-1, 1.1e-2}},
                                {3e-3, 3e-4, 4, {0.84, 0.58}, {0.41, 0.22}, {4.5e-2, 1.3e-3}},
                                {3e-4, 1e-5, 5, {0.66, 0.405}, {0.285, 0.122}, {2e-3, 3.5e-5}}};

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

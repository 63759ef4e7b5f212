// Opening parameters for the accuracy that a user asks for; and what is said when a force is not a number.
//
// An accuracy is the wanted median relative error of a force. Rows of the calibration hold the opening parameters at
// its two ends; between them parameters are interpolated, logarithm against logarithm.
#include "gravity/tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace pergola {

namespace {

/// Parameters for accuracies from `above` down to `below`, interpolated in the logarithm. Chosen so that the median
/// error of Plummer, Hernquist, disc and cube models lies between a fifth of the accuracy and the accuracy;
/// docs/tree.md has the measurements. Where softening lengths differ and particles are kept apart, more cells act on a
/// target, and their errors add up: less is left out of each.
struct Calibration {
  double above, below;
  int order;
  double angle[2], target_angle[2], tolerance[2];
  double unequal[2];  // part of the tolerance where softening lengths differ
};
constexpr Calibration tree_calibration[] = {
    {1e-2, 1e-3, 4, {1.0, 0.845}, {0.65, 0.495}, {1.5e-1, 6.3e-3}, {0.35, 0.35}},
    {1e-3, 1e-5, 5, {0.93, 0.7}, {0.54, 0.4}, {1.6e-2, 3e-5}, {0.3, 0.8}}};

/// Cells a few softening lengths ε wide act on each other from about their width w on, with lengths that may be wrong
/// for most of their pairs: an error of the order of (ε/w)², which is to stay a fraction of the accuracy.
constexpr double apart_factor = 0.3;

/// Between a and b, with the logarithm linear in `part`.
double between(double a, double b, double part) { return std::exp(std::log(a) + part * (std::log(b) - std::log(a))); }

}  // namespace

// Geometric opening uses the angle as given; relative opening follows from the accuracy.
tree::Opening tree_opening(const TreeOptions& options, const Softening& softening) {
  tree::Opening opening;
  if (options.opening == TreeOptions::Opening::geometric) {
    opening.order = options.order > 0 ? options.order : 4;
    opening.angle = options.opening_angle;
    opening.target_angle = options.opening_angle / 2;
    return opening;
  }
  const double x = std::clamp(options.accuracy, std::end(tree_calibration)[-1].below, tree_calibration[0].above);
  std::size_t k = 0;
  while (k + 1 < std::size(tree_calibration) && x < tree_calibration[k].below) ++k;
  const Calibration& row = tree_calibration[k];
  const double part = (std::log(row.above) - std::log(x)) / (std::log(row.above) - std::log(row.below));
  const auto at = [part](const double(&ends)[2]) { return between(ends[0], ends[1], part); };
  opening.order = options.order > 0 ? options.order : row.order;
  opening.angle = at(row.angle);
  opening.target_angle = at(row.target_angle);
  opening.tolerance = at(row.tolerance) * (softening.uniform() ? 1 : at(row.unequal));
  opening.softening = x;
  opening.apart = apart_factor / std::sqrt(x);
  return opening;
}

tree::TreeSoftening tree_softening(const Softening& softening, const tree::Opening& opening) {
  const double largest = *std::max_element(softening.epsilon.begin(), softening.epsilon.end());
  return {softening.epsilon.data(), softening.uniform(), softening.kernel, opening.apart * largest};
}

// The tree has no prediction: integrators that predict use the direct sum. Places are 32 bits wide.
void check_tree_sources(std::int64_t count, bool to_be_predicted) {
  if (to_be_predicted) throw Error(ErrorKind::input, "tree: expected sources at the time of the evaluation");
  if (count >= std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::input, fmt::format("tree: expected fewer than 2^32 particles, found {}", count));
}

void check_tree_wants(unsigned want) {
  if (want & (want_jerk | want_nearest)) throw Error(ErrorKind::input, "tree: gives accelerations and potentials only");
}

/// Finds the nearest particle to the one that failed, and says which of the two reasons it is.
template <class Real>
void tree_failure(std::int64_t place, std::int64_t count, const Real* x, const Real* y, const Real* z,
                  const std::uint8_t* species, const SolverOptions& options) {
  std::int64_t partner = -1;
  double least = std::numeric_limits<double>::infinity();
  const auto apart = [&](const Real* values, std::int64_t j) {
    return static_cast<double>(values[j]) - static_cast<double>(values[place]);
  };
  for (std::int64_t j = 0; j < count; ++j) {
    const double dx = apart(x, j), dy = apart(y, j), dz = apart(z, j), square = dx * dx + dy * dy + dz * dz;
    if (j != place && square < least) least = square, partner = j;
  }
  const auto epsilon = [&](std::int64_t j) { return options.softening.epsilon[species ? species[j] : 0]; };
  tree_failure(place, partner, least, partner >= 0 ? std::max(epsilon(place), epsilon(partner)) : 0, options);
}

void tree_failure(std::int64_t place, std::int64_t partner, double square, double epsilon,
                  const SolverOptions& options) {
  if (partner >= 0 && epsilon == 0)
    throw CoincidentParticles(
        place, partner,
        fmt::format("tree: two particles too close for precision \"{}\" (places {} and {}, distance {}); expected a "
                    "larger distance or a softening above 0",
                    precision_name(options.precision), place, partner, std::sqrt(square)));
  throw Error(ErrorKind::numerics,
              fmt::format("tree: the force on the particle in place {} is beyond the range of precision \"{}\"", place,
                          precision_name(options.precision)));
}

template void tree_failure(std::int64_t, std::int64_t, const float*, const float*, const float*, const std::uint8_t*,
                           const SolverOptions&);
template void tree_failure(std::int64_t, std::int64_t, const double*, const double*, const double*, const std::uint8_t*,
                           const SolverOptions&);

}  // namespace pergola

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gravity/tree.hpp"

namespace pergola {

void check_tree_sources(std::int64_t count, bool to_be_predicted) {
  if (to_be_predicted) throw Error(ErrorKind::input, "tree: expected sources at the time of the evaluation");
  if (count >= std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::input, fmt::format("tree: expected fewer than 2^32 particles, found {}", count));
}

void check_tree_wants(unsigned want) {
  if (want & (want_jerk | want_nearest)) throw Error(ErrorKind::input, "tree: gives accelerations and potentials only");
}

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

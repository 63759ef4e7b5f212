#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "gravity/tree.hpp"

namespace pergola {

/// Numbers of things on all ranks, and how many of them are on ranks before this one. All ranks call it.
inline std::vector<std::int64_t> counts_of_all(Communicator& ranks, std::int64_t count) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::int64_t> counts(size);
  counts[static_cast<std::size_t>(ranks.rank())] = count;
  ranks.all_gather_in_place(counts.data(), std::vector<std::size_t>(size, sizeof(std::int64_t)));
  return counts;
}
inline std::int64_t places_before(Communicator& ranks, std::int64_t count) {
  const auto counts = counts_of_all(ranks, count);
  return std::accumulate(counts.begin(), counts.begin() + ranks.rank(), std::int64_t{0});
}

/// Says why a force is not a number, on all ranks: that on the first of all particles that has one, by its place among
/// all. `place`: the first that this rank knows of, or the largest number. Sources are those that it keeps, on the
/// host.
template <class State>
[[noreturn]] void distributed_tree_failure(Communicator& ranks, std::int64_t place, const Sources<State>& sources,
                                           const SolverOptions& options) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> counts = counts_of_all(ranks, sources.count);
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + ranks.rank(), std::int64_t{0});
  ranks.all_reduce(&place, 1, Reduction::minimum);

  struct Particle {
    double x, y, z, epsilon;
  };
  const auto particle = [&](std::int64_t i) {
    return Particle{static_cast<double>(sources.x[i]), static_cast<double>(sources.y[i]),
                    static_cast<double>(sources.z[i]),
                    options.softening.epsilon[sources.species ? sources.species[i] : 0]};
  };
  const auto keeper = [&](std::int64_t of) {
    std::size_t r = 0;
    for (std::int64_t end = counts[0]; end <= of;) end += counts[++r];
    return static_cast<int>(r);
  };
  const auto share = [&](std::int64_t of) {
    Particle one{};
    if (keeper(of) == ranks.rank()) one = particle(of - first);
    ranks.broadcast(&one, sizeof one, keeper(of));
    return one;
  };
  const Particle one = share(place);
  std::int64_t partner = none;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < sources.count; ++j) {
    const Particle other = particle(j);
    const double dx = other.x - one.x, dy = other.y - one.y, dz = other.z - one.z;
    const double square = dx * dx + dy * dy + dz * dz;
    if (first + j != place && square < least) least = square, partner = first + j;
  }
  double nearest = least;
  ranks.all_reduce(&nearest, 1, Reduction::minimum);
  if (least > nearest) partner = none;
  ranks.all_reduce(&partner, 1, Reduction::minimum);
  if (partner == none) tree_failure(place, -1, nearest, 0, options);
  tree_failure(place, partner, nearest, std::max(one.epsilon, share(partner).epsilon), options);
}

}  // namespace pergola

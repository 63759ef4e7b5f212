#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "gravity/tree.hpp"

namespace pergola {

/// Says why a force is not a number, on all ranks, where one is not: that on the first of all particles that has one,
/// by its place among all. `failed`: the first source of this rank that has one, or their count.
template <class State>
void check_distributed_forces(Communicator& ranks, const Device& device, std::int64_t failed,
                              const Sources<State>& sources, const SolverOptions& options) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  std::int64_t any = failed < sources.count ? 1 : 0;
  ranks.all_reduce(&any, 1, Reduction::maximum);
  if (!any) return;

  const auto on_host = [&](const auto* values) {
    std::vector<std::remove_cvref_t<decltype(*values)>> host(static_cast<std::size_t>(values ? sources.count : 0));
    if (!host.empty()) device.memory().to_host(host.data(), values, host.size() * sizeof host[0]);
    return host;
  };
  const auto x = on_host(sources.x), y = on_host(sources.y), z = on_host(sources.z);
  const auto species = on_host(sources.species);
  std::vector<std::int64_t> place(static_cast<std::size_t>(sources.count));
  const std::vector<std::int64_t> counts = gather_values(ranks, sources.count);
  std::iota(place.begin(), place.end(), std::reduce(counts.begin(), counts.begin() + ranks.rank(), std::int64_t{0}));
  const auto given = on_host(sources.place);  // none where there are no sources
  std::copy(given.begin(), given.end(), place.begin());

  struct Particle {
    std::int64_t place;
    double x, y, z, epsilon;
  };
  /// That of the lowest place among those which ranks name by their number there, or −1.
  const auto lowest = [&](std::int64_t here) {
    Particle one{none, 0, 0, 0, 0};
    if (here >= 0) {
      const auto i = static_cast<std::size_t>(here);
      one = {place[i], static_cast<double>(x[i]), static_cast<double>(y[i]), static_cast<double>(z[i]),
             options.softening.epsilon[species.empty() ? 0 : species[i]]};
    }
    const std::vector<Particle> all = gather_values(ranks, one);
    return *std::min_element(all.begin(), all.end(),
                             [](const Particle& a, const Particle& b) { return a.place < b.place; });
  };
  const Particle one = lowest(failed < sources.count ? failed : -1);
  std::int64_t partner = -1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < sources.count; ++j) {
    const auto k = static_cast<std::size_t>(j);
    const double dx = static_cast<double>(x[k]) - one.x, dy = static_cast<double>(y[k]) - one.y,
                 dz = static_cast<double>(z[k]) - one.z;
    const double square = dx * dx + dy * dy + dz * dz;
    if (place[k] != one.place && square < least) least = square, partner = j;
  }
  double nearest = least;
  ranks.all_reduce(&nearest, 1, Reduction::minimum);
  const Particle other = lowest(least > nearest ? -1 : partner);
  if (other.place == none) tree_failure(one.place, -1, nearest, 0, options);
  tree_failure(one.place, other.place, nearest, std::max(one.epsilon, other.epsilon), options);
}

}  // namespace pergola

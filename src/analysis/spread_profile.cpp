#include "analysis/spread_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/gather.hpp"
#include "comm/lists.hpp"
#include "domain/route_particles.hpp"

namespace pergola {

namespace {

/// By what particles are sorted.
struct Distance {
  double radius = 0;
  std::uint64_t id = 0;
  bool operator<(const Distance& other) const { return radius != other.radius ? radius < other.radius : id < other.id; }
};

/// The next particles by distance for each rank, about as many for all: cut where samples of all ranks say so. Those of
/// `own` are gone then.
Particles sorted_over_ranks(Communicator& ranks, AnalysisSnapshot& own, const Vec3<double>& center, int threads) {
  constexpr std::size_t samples_for_each = 16;
  SeenFromCenter seen = seen_from(own, center);
  const auto size = static_cast<std::size_t>(ranks.size());
  const auto distance = [&](std::size_t k) { return Distance{seen.radius[k], own.particles.id[seen.order[k]]}; };
  std::vector<Distance> samples;
  for (std::size_t k = 0; k < samples_for_each * size && !seen.order.empty(); ++k)
    samples.push_back(distance(k * seen.order.size() / (samples_for_each * size)));
  samples = gather_lists_on_all(ranks, samples);
  std::sort(samples.begin(), samples.end());
  std::vector<std::vector<std::uint32_t>> lists(size);
  std::size_t to = 0;
  for (std::size_t k = 0; k < seen.order.size(); ++k) {
    while (to + 1 < size && !(distance(k) < samples[(to + 1) * samples.size() / size])) ++to;
    lists[to].push_back(static_cast<std::uint32_t>(seen.order[k]));
  }
  seen = {};
  const Routing routing = route_lists(ranks, threads, lists);
  lists.clear();
  return route_particles(routing, std::move(own.particles));
}

/// Those of all ranks, of which each has the next ones.
SortedRadii radii_of_all(Communicator& ranks, const std::vector<double>& own) {
  constexpr double beyond = std::numeric_limits<double>::infinity();
  const auto counts = gather_lists_on_all(ranks, std::vector<std::size_t>{own.size()});
  const auto before = std::accumulate(counts.begin(), counts.begin() + ranks.rank(), std::size_t{0});
  const auto least = [&ranks](double value) {
    ranks.all_reduce(&value, 1, Reduction::minimum);
    return value;
  };
  return {std::accumulate(counts.begin(), counts.end(), std::size_t{0}),
          [=, &own](std::size_t k) { return least(k >= before && k - before < own.size() ? own[k - before] : beyond); },
          [=, &own](double length) {
            const auto found = std::lower_bound(own.begin(), own.end(), length);
            return least(found == own.end() ? beyond : *found);
          }};
}

/// Sums of the shells, from rank to rank.
std::vector<ShellSums> sums_of_all(Communicator& ranks, const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                   const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass) {
  std::vector<ShellSums> sums(edges.size() - 1);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) add_to_shells(snapshot, center, seen, edges, by_mass, sums);
    ranks.broadcast(sums.data(), sums.size() * sizeof sums[0], rank);
  }
  return sums;
}

}  // namespace

PlaceProfile profile_of_spread_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                      const AnalysisOptions& options, std::int64_t bins, int threads) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  AnalysisSnapshot own = chosen_species(std::move(snapshot), options, ranks);
  const bool named = options.center == "density" || options.center == "mass";
  const Vec3<double> place = place_of_center(own, options, *ranks);
  const double mass = add_in_turn(*ranks, 0.0, [&](double& sum) {
    for (const double one : own.particles.mass) sum += one;
  });
  std::array<std::int64_t, species_count + 1> counts{};  // of each species; and whether any has mass
  for (const std::uint8_t species : own.particles.species) ++counts[species];
  counts.back() = has_mass(own.particles) ? 1 : 0;
  ranks->all_reduce(counts.data(), counts.size(), Reduction::sum);
  own.particles = sorted_over_ranks(*ranks, own, place, threads);
  const SeenFromCenter seen = seen_from(own, place);
  const auto count = std::accumulate(counts.begin(), counts.end() - 1, std::int64_t{0});
  const SystemCenter center{place, mean_velocity(own, seen, count, mass, *ranks), named ? options.center : "given"};
  const auto edges = profile_edges(radii_of_all(*ranks, seen.radius), bins, options.low, options.high);
  PlaceProfile profile{{center, 0, 0, none, none}, {}};
  const auto add = [&](std::int64_t species, const SeenFromCenter& part) {
    const auto sums = sums_of_all(*ranks, own, center, part, edges, counts.back() > 0);
    profile.parts.push_back({species, shells_from(own, sums, edges)});
  };
  for (std::size_t species = 0; species < species_count; ++species)
    if (counts[species] > 0)
      add(static_cast<std::int64_t>(species), only_species(own.particles, seen, static_cast<std::uint8_t>(species)));
  if (profile.parts.size() > 1) add(species_count, seen);
  return profile;
}

}  // namespace pergola

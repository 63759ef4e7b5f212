#include "analysis/spread_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/distance.hpp"
#include "analysis/neighbourhood.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "domain/route_particles.hpp"

namespace pergola {

namespace {

/// The next particles by distance for each rank. Those of `own` are gone then.
Particles sorted_over_ranks(Communicator& ranks, AnalysisSnapshot& own, const Vec3<double>& center, int threads) {
  SeenFromCenter seen = seen_from(own, center);
  const auto counts = counts_by_distance(ranks, seen.order.size(), [&](std::size_t k) {
    return Distance{seen.radius[k], own.particles.id[seen.order[k]]};
  });
  std::vector<std::uint32_t> order(seen.order.begin(), seen.order.end());
  seen = {};
  const Routing routing(ranks, threads, std::move(order), {counts.begin(), counts.end()});
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
  return add_lists_in_turn(ranks, std::vector<ShellSums>(edges.size() - 1), [&](std::vector<ShellSums>& sums) {
    add_to_shells(snapshot, center, seen, edges, by_mass, sums);
  });
}

/// The halo about a place from the sphere about it, which rank 0 has.
void measure_spread_halo(Communicator& ranks, const AnalysisSnapshot& own, int threads, ProfiledPlace& place) {
  const HaloDensities limits = halo_densities(own, threads, ranks);
  if (std::isnan(limits.mean)) return;
  std::int64_t count = own.particles.size();
  ranks.all_reduce(&count, 1, Reduction::sum);
  DensitySearch search(mass_to_look_for(limits, own.box, count), limits.lowest(), farthest_in(own.box));
  AnalysisSnapshot near;
  near.box = own.box;
  SeenFromCenter seen;
  do {
    std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(ranks.size()));
    for (std::size_t i = 0; i < own.particles.id.size(); ++i) {
      const Vec3<double> d = place_from(own, i, place.center.place);
      if (std::sqrt(dot(d, d)) <= search.radius()) lists[0].push_back(static_cast<std::uint32_t>(i));
    }
    near.particles = route_particles(route_lists(ranks, threads, lists), own.particles);
    seen = seen_from(near, place.center.place);
  } while (!search.is_enough(share_value(ranks, seen_mass(near, seen))));
  if (ranks.is_root()) measure_halo(near, seen, limits, place);
  place.center.velocity = share_value(ranks, place.center.velocity);
  place.r200c = share_value(ranks, place.r200c), place.m200c = share_value(ranks, place.m200c);
}

}  // namespace

PlaceProfile profile_of_spread_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                      const AnalysisOptions& options, std::int64_t bins, const Device& device) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const bool keeps_others = snapshot.box.periodic() && options.species != "all";  // for the halo
  AnalysisSnapshot own = chosen_species(keeps_others ? snapshot : std::move(snapshot), options, ranks);
  const Vec3<double> place = place_of_center(own, options, device, ranks);
  const double mass = add_in_turn(*ranks, 0.0, [&](double& sum) {
    for (const double one : own.particles.mass) sum += one;
  });
  std::array<std::int64_t, species_count + 1> counts{};  // of each species; and whether any has mass
  for (const std::uint8_t species : own.particles.species) ++counts[species];
  counts.back() = has_mass(own.particles) ? 1 : 0;
  ranks->all_reduce(counts.data(), counts.size(), Reduction::sum);
  own.particles = sorted_over_ranks(*ranks, own, place, device.threads());
  const SeenFromCenter seen = seen_from(own, place);
  const auto count = std::accumulate(counts.begin(), counts.end() - 1, std::int64_t{0});
  PlaceProfile profile{
      {{place, mean_velocity(own, seen, count, mass, *ranks), name_of_center(options)}, 0, 0, none, none}, {}};
  if (own.box.periodic()) measure_spread_halo(*ranks, keeps_others ? snapshot : own, device.threads(), profile.place);
  const auto edges = profile_edges(radii_of_all(*ranks, seen.radius), bins, options.low, options.high);
  const auto add = [&](std::int64_t species, const SeenFromCenter& part) {
    const auto sums = sums_of_all(*ranks, own, profile.place.center, part, edges, counts.back() > 0);
    profile.parts.push_back({species, shells_from(own, sums, edges)});
  };
  for (std::size_t species = 0; species < species_count; ++species)
    if (counts[species] > 0)
      add(static_cast<std::int64_t>(species), only_species(own.particles, seen, static_cast<std::uint8_t>(species)));
  if (profile.parts.size() > 1) add(species_count, seen);
  return profile;
}

}  // namespace pergola

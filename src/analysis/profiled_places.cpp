#include "analysis/profiled_places.hpp"
#include "analysis/groups.hpp"
#include "analysis/neighbourhood.hpp"
#include "analysis/radii.hpp"
#include "analysis/spread_groups.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "domain/route_particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

// One process keeps all particles and searches them by cells. With several ranks a group's surroundings are sent to one
// rank per group; a whole system is sorted by distance over the ranks, and sums continue from rank to rank.
namespace pergola {

namespace {

/// A periodic box has no centre of density: there the largest group takes its place.
bool asks_for_groups(const AnalysisSnapshot& snapshot, const AnalysisOptions& options) {
  return options.group > 0 || options.groups > 0 || (snapshot.box.periodic() && options.center == "density");
}

/// The requested groups; numbers start at 0.
struct WantedGroups {
  std::int64_t first = 0, count = 1;
};

/// `found`: the number of existing groups.
WantedGroups wanted_groups(std::int64_t found, const AnalysisOptions& options, const std::string& name) {
  if (options.group > 0 && options.groups > 0)
    throw Error(ErrorKind::input, "--group, --groups: expected one of them, found both");
  if (options.center != "density")
    throw Error(ErrorKind::input,
                fmt::format("--center, {}: expected one of them, found both; a group has its own centre",
                            options.group > 0 ? "--group" : "--groups"));
  if (found == 0 || options.group > found)
    throw Error(ErrorKind::input,
                fmt::format("{}: profile: expected at least {} groups of at least {} particles, found {}", name,
                            std::max<std::int64_t>(options.group, 1), options.least, found));
  if (options.group > 0) return {options.group - 1, 1};
  return {0, std::min(found, std::max<std::int64_t>(options.groups, 1))};
}

/// The profile of a group. `farthest`: half of a periodic box.
ProfiledPlace place_of(const GroupProperties& group, std::int64_t number, const AnalysisOptions& options,
                       double farthest) {
  ProfiledPlace place;
  place.group = number + 1;
  place.center = {group.center, group.velocity, fmt::format("group {}", place.group)};
  place.r200c = group.r200c, place.m200c = group.m200c;
  place.high = group.r200m > 0 ? 2 * group.r200m : group.reach;
  place.high = std::min(options.high > 0 ? options.high : place.high, farthest);
  return place;
}

}  // namespace

// Keeps the order by distance.
SeenFromCenter only_species(const Particles& p, const SeenFromCenter& all, std::uint8_t species) {
  SeenFromCenter some;
  for (std::size_t k = 0; k < all.order.size(); ++k)
    if (p.species[all.order[k]] == species) some.order.push_back(all.order[k]), some.radius.push_back(all.radius[k]);
  return some;
}

// The mass of 100 mean particles: a first guess for the radius of the search.
double mass_to_look_for(const HaloDensities& limits, const Box& box, std::int64_t count) {
  return 100 * limits.mean / halo_overdensity * box.volume() / static_cast<double>(count);
}

// The velocity is that of the sphere of 200 mean densities, the radius that of 200 critical ones.
void measure_halo(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                  ProfiledPlace& place) {
  const Overdensity of_mean = overdensity_in(all, seen, limits.mean);
  if (of_mean.particles < least_in_sphere) return;
  place.center.velocity = velocity_of(all, seen, of_mean);
  if (std::isnan(limits.critical)) return;
  const Overdensity of_critical = overdensity_in(all, seen, limits.critical);
  place.r200c = of_critical.radius, place.m200c = of_critical.mass;
}

namespace {

/// One profile per species, and one of all if there are several.
std::vector<SpeciesShells> shells_about(const AnalysisSnapshot& chosen, const ProfiledPlace& place,
                                        const SeenFromCenter& seen, const AnalysisOptions& options, std::int64_t bins,
                                        bool by_mass) {
  const auto edges = profile_edges(seen, bins, options.low, place.high > 0 ? place.high : options.high);
  std::array<std::size_t, species_count> counts{};
  for (const std::size_t i : seen.order) ++counts[chosen.particles.species[i]];
  std::vector<SpeciesShells> parts;
  const auto add = [&](std::size_t species, const SeenFromCenter& part) {
    parts.push_back({static_cast<std::int64_t>(species), profile_of(chosen, place.center, part, edges, by_mass)});
  };
  for (std::size_t species = 0; species < species_count; ++species)
    if (counts[species] > 0 && counts[species] < seen.order.size())
      add(species, only_species(chosen.particles, seen, static_cast<std::uint8_t>(species)));
    else if (counts[species] > 0)
      add(species, seen);
  if (parts.size() > 1) add(species_count, seen);
  return parts;
}

/// One process: groups of the chosen particles, each with the particles around it.
std::vector<PlaceProfile> profiles_of_groups(const ChosenParticles& particles, const AnalysisOptions& options,
                                             std::int64_t bins, const Device& device) {
  const AnalysisSnapshot& chosen = particles.chosen();
  const FoundGroups found(chosen, options, device);
  const WantedGroups wanted = wanted_groups(found.count(), options, chosen.name);
  const auto groups = found.properties(particles.all(), wanted.first, wanted.count);
  const Neighbourhood near(chosen, device.threads());
  const bool by_mass = has_mass(chosen.particles);
  std::vector<PlaceProfile> profiles;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const auto place = place_of(groups[k], wanted.first + static_cast<std::int64_t>(k), options, near.farthest());
    const SeenFromCenter seen = near.within(place.center.place, place.high);
    profiles.push_back({place, shells_about(chosen, place, seen, options, bins, by_mass)});
  }
  return profiles;
}

/// Also returns the chosen particles sorted by distance from the centre.
ProfiledPlace place_about_center(const ChosenParticles& particles, const AnalysisOptions& options, const Device& device,
                                 SeenFromCenter& seen_from_it) {
  const AnalysisSnapshot &chosen = particles.chosen(), &all = particles.all();
  ProfiledPlace place;
  place.center = find_center(chosen, options, device, &seen_from_it);
  place.r200c = place.m200c = not_known;
  const HaloDensities limits = halo_densities(all, device.threads());
  if (std::isnan(limits.mean)) return place;
  const SeenFromCenter seen = seen_to_density(Neighbourhood(all, device.threads()), place.center.place,
                                              mass_to_look_for(limits, all.box, all.particles.size()), limits.lowest());
  measure_halo(all, seen, limits, place);
  return place;
}

/// One process, a whole system.
PlaceProfile profile_about_center(const ChosenParticles& particles, const AnalysisOptions& options, std::int64_t bins,
                                  const Device& device) {
  SeenFromCenter seen;
  const ProfiledPlace place = place_about_center(particles, options, device, seen);
  return {place, shells_about(particles.chosen(), place, seen, options, bins, has_mass(particles.chosen().particles))};
}

/// A shell as a message to all ranks.
struct ShellRow {
  std::int64_t place = 0, species = 0;
  ProfileShell shell;
};

/// Shells as rows, in the order of their species.
void add_rows(std::int64_t place, const std::vector<SpeciesShells>& parts, std::vector<ShellRow>& to) {
  for (const auto& [species, shells] : parts)
    for (const ProfileShell& shell : shells) to.push_back({place, species, shell});
}

/// Puts the shells of all ranks into their profiles, on all ranks.
void share_shells(Communicator& ranks, const std::vector<ShellRow>& own, std::vector<PlaceProfile>& profiles) {
  for (const ShellRow& row : gather_lists_on_all(ranks, own)) {
    auto& parts = profiles[static_cast<std::size_t>(row.place)].parts;
    if (parts.empty() || parts.back().species != row.species) parts.push_back({row.species, {}});
    parts.back().shells.push_back(row.shell);
  }
}

/// Each group is profiled by one rank, in rounds.
std::vector<PlaceProfile> profiles_of_distributed_groups(const std::shared_ptr<Communicator>& ranks,
                                                         AnalysisSnapshot snapshot, const AnalysisOptions& options,
                                                         std::int64_t bins, const Device& device) {
  DistributedGroups groups(ranks, std::move(snapshot), options, device);
  const WantedGroups wanted = wanted_groups(groups.count(), options, groups.frame().name);
  std::vector<PlaceProfile> profiles;
  for (const GroupProperties& group : groups.properties(wanted.first, wanted.count)) {
    const std::int64_t number = wanted.first + static_cast<std::int64_t>(profiles.size());
    profiles.push_back({place_of(group, number, options, groups.farthest()), {}});
  }
  std::vector<ShellRow> rows;
  for (std::int64_t round = 0; round < wanted.count; round += ranks->size()) {
    const std::int64_t mine = round + ranks->rank();
    std::vector<Sphere> spheres;
    if (mine < wanted.count) {
      const ProfiledPlace& place = profiles[static_cast<std::size_t>(mine)].place;
      spheres.push_back({place.center.place, place.high});
    }
    const auto found = groups.chosen_in(spheres);
    on_all(*ranks, [&] {
      if (found.empty()) return;
      const ProfiledPlace& place = profiles[static_cast<std::size_t>(mine)].place;
      const SeenFromCenter seen = seen_from(found[0], place.center.place);
      add_rows(mine, shells_about(found[0], place, seen, options, bins, groups.has_mass()), rows);
    });
  }
  share_shells(*ranks, rows, profiles);
  return profiles;
}

}  // namespace

// Collective with several ranks. Four cases: groups or one system, on one process or on ranks.
std::vector<PlaceProfile> profiles_in(AnalysisSnapshot snapshot, const AnalysisOptions& options, std::int64_t bins,
                                      const Device& device, const std::shared_ptr<Communicator>& ranks) {
  const bool of_groups = asks_for_groups(snapshot, options);
  if (ranks->size() > 1) {
    if (of_groups) return profiles_of_distributed_groups(ranks, std::move(snapshot), options, bins, device);
    return {profile_of_distributed_system(ranks, std::move(snapshot), options, bins, device)};
  }
  const ChosenParticles particles(std::move(snapshot), options);
  if (of_groups) return profiles_of_groups(particles, options, bins, device);
  return {profile_about_center(particles, options, bins, device)};
}

std::vector<Key<AnalysisOptions>> profiled_group_keys() {
  std::vector<Key<AnalysisOptions>> keys{
      integer_option<AnalysisOptions>(
          "groups", "of so many of the largest groups; 0: about --center, in a periodic box of the largest group",
          Range::between(0, 1e6), [](auto& options) -> auto& { return options.groups; }),
      integer_option<AnalysisOptions>(
          "group", "of the group with this number in `analyze groups`, the largest is 1; 0: as --groups says",
          Range::between(0, 1e12), [](auto& options) -> auto& { return options.group; })};
  for (auto& key : group_keys()) keys.push_back(std::move(key));
  return keys;
}

namespace {

/// Gives each rank the next range of particles by distance. Frees the particles of `own`.
Particles particles_by_distance(Communicator& ranks, AnalysisSnapshot& own, const Vec3<double>& center, int threads) {
  SeenFromCenter seen = seen_from(own, center);
  const auto counts = counts_by_distance(ranks, seen.order.size(), [&](std::size_t k) {
    return Distance{seen.radius[k], own.particles.id[seen.order[k]]};
  });
  std::vector<std::uint32_t> order(seen.order.begin(), seen.order.end());
  seen = {};
  const Routing routing(ranks, threads, std::move(order), {counts.begin(), counts.end()});
  return route_particles(routing, std::move(own.particles));
}

/// Sorted distances of all ranks. Each rank has the next range.
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

/// Sums of the shells, added from rank to rank.
std::vector<ShellSums> sums_of_all(Communicator& ranks, const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                   const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass) {
  return add_lists_in_turn(ranks, std::vector<ShellSums>(edges.size() - 1), [&](std::vector<ShellSums>& sums) {
    add_to_shells(snapshot, center, seen, edges, by_mass, sums);
  });
}

/// The halo about a centre: rank 0 gathers the sphere around it.
void measure_distributed_halo(Communicator& ranks, const AnalysisSnapshot& own, int threads, ProfiledPlace& place) {
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

// The particles are sorted by distance over the ranks; then each rank adds its range to the sums of those before it.
PlaceProfile profile_of_distributed_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                           const AnalysisOptions& options, std::int64_t bins, const Device& device) {
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
  own.particles = particles_by_distance(*ranks, own, place, device.threads());
  const SeenFromCenter seen = seen_from(own, place);
  const auto count = std::accumulate(counts.begin(), counts.end() - 1, std::int64_t{0});
  PlaceProfile profile{
      {{place, mean_velocity(own, seen, count, mass, *ranks), name_of_center(options)}, 0, 0, not_known, not_known},
      {}};
  if (own.box.periodic())
    measure_distributed_halo(*ranks, keeps_others ? snapshot : own, device.threads(), profile.place);
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

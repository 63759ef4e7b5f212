#include "analysis/profiled_places.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/found_groups.hpp"
#include "analysis/neighbourhood.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

bool asks_for_groups(const AnalysisSnapshot& snapshot, const AnalysisOptions& options) {
  return options.group > 0 || options.groups > 0 || (snapshot.box.periodic() && options.center == "density");
}

/// The groups that are asked for, the first of them with its number.
struct WantedGroups {
  std::int64_t first = 1;
  FriendGroups friends;
};

WantedGroups wanted_groups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device) {
  if (options.group > 0 && options.groups > 0)
    throw Error(ErrorKind::input, "--group, --groups: expected one of them, found both");
  if (options.center != "density")
    throw Error(ErrorKind::input,
                fmt::format("--center, {}: expected one of them, found both; a group has its own centre",
                            options.group > 0 ? "--group" : "--groups"));
  WantedGroups wanted;
  wanted.friends = find_groups(chosen, options, device).friends;
  auto& groups = wanted.friends.groups;
  const auto found = static_cast<std::int64_t>(groups.size());
  if (found == 0 || options.group > found)
    throw Error(ErrorKind::input,
                fmt::format("{}: profile: expected at least {} groups of at least {} particles, found {}", chosen.name,
                            std::max<std::int64_t>(options.group, 1), options.least, found));
  wanted.first = std::max<std::int64_t>(options.group, 1);
  const std::int64_t count = options.group > 0 ? 1 : std::min(found, std::max<std::int64_t>(options.groups, 1));
  groups.erase(groups.begin(), groups.begin() + (wanted.first - 1));
  groups.resize(static_cast<std::size_t>(count));
  return wanted;
}

std::vector<ProfiledPlace> places_of_groups(const ChosenParticles& particles, const AnalysisOptions& options,
                                            const Device& device) {
  const AnalysisSnapshot& chosen = particles.chosen();
  const WantedGroups wanted = wanted_groups(chosen, options, device);
  const auto groups =
      group_properties(chosen, Neighbourhood(particles.all(), device.threads()), wanted.friends, device);
  const Neighbourhood near(chosen, device.threads());
  std::vector<ProfiledPlace> places;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const GroupProperties& group = groups[k];
    ProfiledPlace place;
    place.group = wanted.first + static_cast<std::int64_t>(k);
    place.center = {group.center, group.velocity, fmt::format("group {}", place.group)};
    place.r200c = group.r200c, place.m200c = group.m200c;
    place.high = group.r200m > 0 ? 2 * group.r200m : group.reach;
    place.high = std::min(options.high > 0 ? options.high : place.high, near.farthest());
    place.seen = near.within(group.center, place.high);
    places.push_back(std::move(place));
  }
  return places;
}

ProfiledPlace place_about_center(const ChosenParticles& particles, const AnalysisOptions& options,
                                 const Device& device) {
  const AnalysisSnapshot &chosen = particles.chosen(), &all = particles.all();
  ProfiledPlace place;
  place.center = find_center(chosen, options, device);
  place.seen = seen_from(chosen, place.center.place);
  place.r200c = place.m200c = none;
  const HaloDensities limits = halo_densities(all, device.threads());
  if (std::isnan(limits.mean)) return place;
  // In a box half of the mass says nothing of how a halo moves: the sphere of 200 mean densities does.
  const double guess =
      100 * limits.mean / halo_overdensity * all.box.volume() / static_cast<double>(all.particles.size());
  const SeenFromCenter seen = seen_to_density(Neighbourhood(all, device.threads()), place.center.place, guess,
                                              std::fmin(limits.mean, limits.critical));
  const Overdensity of_mean = overdensity_in(all, seen, limits.mean);
  if (of_mean.particles < least_in_sphere) return place;
  place.center.velocity = velocity_of(all, seen, of_mean);
  if (std::isnan(limits.critical)) return place;
  const Overdensity of_critical = overdensity_in(all, seen, limits.critical);
  place.r200c = of_critical.radius, place.m200c = of_critical.mass;
  return place;
}

}  // namespace

std::vector<ProfiledPlace> profiled_places(const ChosenParticles& particles, const AnalysisOptions& options,
                                           const Device& device) {
  if (asks_for_groups(particles.chosen(), options)) return places_of_groups(particles, options, device);
  return {place_about_center(particles, options, device)};
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

}  // namespace pergola

#include "analysis/group_properties.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/centers.hpp"
#include "analysis/neighbourhood.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "particles/separation.hpp"
#include "physics/halo.hpp"
#include "physics/profiles.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
/// Groups of more find their potentials by the tree with all threads; smaller ones by pairs, one thread each.
constexpr std::int64_t most_for_pairs_in_group = 4096;
constexpr std::size_t least_for_concentration = 100;

/// The members about the first of them, so that a group at the edge of a periodic box is whole.
AnalysisSnapshot members_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  AnalysisSnapshot part;
  part.name = snapshot.name;
  part.gravitational_constant = snapshot.gravitational_constant;
  part.particles.resize(static_cast<std::int64_t>(group.size()));
  Particles& to = part.particles;
  const Vec3<double> first{p.x[group[0]], p.y[group[0]], p.z[group[0]]};
  for (std::size_t k = 0; k < group.size(); ++k) {
    const std::size_t i = group[k];
    const Vec3<double> d = place_from(snapshot, i, first);
    to.id[k] = p.id[i], to.mass[k] = p.mass[i];
    to.x[k] = d.x, to.y[k] = d.y, to.z[k] = d.z;
    to.vx[k] = p.vx[i], to.vy[k] = p.vy[i], to.vz[k] = p.vz[i];
  }
  return part;
}

/// The place of the member with the lowest potential of the others; a softening of a hundredth of the group's size
/// keeps one close pair from being the centre.
Vec3<double> deepest(const AnalysisSnapshot& members, const Device& device) {
  const Particles& p = members.particles;
  double size = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) size = std::max(size, std::hypot(p.x[i], p.y[i], p.z[i]));
  if (!(size > 0)) return {0, 0, 0};
  const auto potential = potentials_in(members, 0.01 * size, device, most_for_pairs_in_group);
  const auto best = static_cast<std::size_t>(std::min_element(potential.begin(), potential.end()) - potential.begin());
  return {p.x[best], p.y[best], p.z[best]};
}

GroupProperties properties_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                              const Device& device) {
  const AnalysisSnapshot members = members_of(snapshot, group);
  const Particles& p = members.particles;
  GroupProperties found;
  found.particles = p.size();
  Vec3<double> momentum{0, 0, 0};
  double square = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    found.mass += p.mass[i];
    momentum = momentum + p.mass[i] * v;
    square += p.mass[i] * dot(v, v);
  }
  if (found.mass > 0) {
    found.velocity = (1 / found.mass) * momentum;
    found.dispersion = std::sqrt(std::max(0.0, square / found.mass - dot(found.velocity, found.velocity)) / 3);
  }
  const Particles& all = snapshot.particles;
  found.center = Vec3<double>{all.x[group[0]], all.y[group[0]], all.z[group[0]]} + deepest(members, device);
  if (snapshot.box.periodic()) found.center = wrap(found.center, snapshot.box);
  return found;
}

/// Σ m r × v about the centre, with v relative to the mean velocity of these particles.
Vec3<double> angular_momentum(const AnalysisSnapshot& all, const SeenFromCenter& seen, const Overdensity& sphere,
                              const Vec3<double>& center) {
  const Vec3<double> mean = velocity_of(all, seen, sphere);
  Vec3<double> sum{0, 0, 0};
  for (std::size_t k = 0; k < sphere.particles; ++k) {
    const std::size_t i = seen.order[k];
    sum = sum + all.particles.mass[i] * cross(place_from(all, i, center), velocity_from(all, i, mean));
  }
  return sum;
}

/// Lengths of the file are comoving: proper ones are a times as long.
void measure_sphere(const AnalysisSnapshot& all, const SeenFromCenter& seen, const Overdensity& sphere,
                    GroupProperties& group) {
  const double g = all.gravitational_constant, a = all.universe ? all.universe->scale_factor : 1;
  const auto speed = [g, a](double mass, double radius) { return physics::circular_speed(g, mass, a * radius); };
  double mass = 0, most = 0;
  for (std::size_t k = 0; k < sphere.particles; ++k) {
    mass += all.particles.mass[seen.order[k]];
    if (k + 1 >= least_in_sphere && seen.radius[k] > 0) most = std::max(most, speed(mass, seen.radius[k]));
  }
  const double at_edge = speed(sphere.mass, sphere.radius);
  if (sphere.particles >= least_in_sphere) group.peak_speed = most;
  const Vec3<double> momentum = angular_momentum(all, seen, sphere, group.center);
  group.spin = physics::bullock_spin(std::sqrt(dot(momentum, momentum)), sphere.mass, at_edge, sphere.radius);
  if (sphere.particles >= least_for_concentration)
    group.concentration = physics::nfw_concentration(most * most / (at_edge * at_edge));
}

void measure_overdensities(const Neighbourhood& neighbourhood, const HaloDensities& limits, GroupProperties& group) {
  const AnalysisSnapshot& all = neighbourhood.snapshot();
  const double lowest = limits.critical < limits.mean ? limits.critical : limits.mean;
  const SeenFromCenter seen = seen_to_density(neighbourhood, group.center, group.mass, lowest);
  const Overdensity of_mean = overdensity_in(all, seen, limits.mean);
  group.m200m = of_mean.mass, group.r200m = of_mean.radius;
  if (std::isnan(limits.critical)) return;
  const Overdensity of_critical = overdensity_in(all, seen, limits.critical);
  group.m200c = of_critical.mass, group.r200c = of_critical.radius;
  if (of_critical.mass > 0) measure_sphere(all, seen, of_critical, group);
}

}  // namespace

HaloDensities halo_densities(const AnalysisSnapshot& all) {
  ExactSum sum;  // the same in any order
  for (const double mass : all.particles.mass) sum.add(mass);
  const double total = sum.value();
  if (!all.box.periodic() || !(total > 0)) return {none, none};
  const double mean = halo_overdensity * total / all.box.volume();
  return {mean, all.matter_part ? mean / *all.matter_part : none};
}

std::vector<GroupProperties> group_properties(const AnalysisSnapshot& chosen, const Neighbourhood& all,
                                              const FriendGroups& groups, const Device& device) {
  const auto count = static_cast<std::int64_t>(groups.groups.size());
  const Device one_thread = Device::open("cpu", 1);
  std::vector<GroupProperties> found(groups.groups.size());
  const auto measure = [&](std::size_t k, const Device& by) {
    found[k] = properties_of(chosen, groups.groups[k], by);
    GroupProperties& group = found[k];
    group.m200m = group.r200m = group.m200c = group.r200c = none;
    group.peak_speed = group.spin = group.concentration = none;
  };
  std::size_t large = 0;  // the largest are first
  for (; large < found.size() && static_cast<std::int64_t>(groups.groups[large].size()) > most_for_pairs_in_group;
       ++large)
    measure(large, device);
  const auto first = static_cast<std::int64_t>(large);
  parallel_for(device.threads(), count - first,
               [&](std::int64_t k) { measure(static_cast<std::size_t>(first + k), one_thread); });
  const HaloDensities limits = halo_densities(all.snapshot());
  if (std::isnan(limits.mean)) return found;
  parallel_for(device.threads(), count,
               [&](std::int64_t k) { measure_overdensities(all, limits, found[static_cast<std::size_t>(k)]); });
  return found;
}

ChosenParticles::ChosenParticles(AnalysisSnapshot all, const AnalysisOptions& options) {
  if (options.species == "all") {
    all_ = chosen_species(std::move(all), options);
  } else {
    some_ = chosen_species(all, options);
    all_ = std::move(all);
  }
}

}  // namespace pergola

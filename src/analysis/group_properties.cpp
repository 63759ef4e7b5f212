#include "analysis/group_properties.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/centers.hpp"
#include "analysis/group_centers.hpp"
#include "analysis/groups_on_gpu.hpp"
#include "analysis/neighbourhood.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "particles/separation.hpp"
#include "physics/halos.hpp"
#include "physics/measures.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t least_for_concentration = 100;

MemberSums sum_members(const Particles& p, const std::vector<std::size_t>& group) {
  MemberSums sums;
  for (const std::size_t i : group) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    sums.mass += p.mass[i];
    sums.momentum = sums.momentum + p.mass[i] * v;
    sums.square += p.mass[i] * dot(v, v);
  }
  return sums;
}

bool are_equal(const double* numbers, std::int64_t count) {
  bool equal = true;
  for (std::int64_t i = 1; i < count; ++i) equal &= numbers[i] == numbers[0];
  return equal;
}

/// How far the members are from the centre, at most.
double reach_of(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group, const Vec3<double>& center) {
  double most2 = 0;
  for (const std::size_t i : group) {
    const Vec3<double> d = place_from(chosen, i, center);
    most2 = std::max(most2, dot(d, d));
  }
  return std::sqrt(most2);
}

/// Lengths of the file are comoving: proper ones are a times as long.
struct CircularSpeed {
  double g, a;
  explicit CircularSpeed(const AnalysisSnapshot& all)
      : g(all.gravitational_constant), a(all.universe ? all.universe->scale_factor : 1) {}
  double operator()(double mass, double radius) const { return physics::circular_speed(g, mass, a * radius); }
};

/// Of the sphere of critical density.
void sum_sphere(const AnalysisSnapshot& all, const SeenFromCenter& seen, const Vec3<double>& center, SphereSums& sums) {
  const CircularSpeed speed(all);
  const Vec3<double> mean = velocity_of(all, seen, sums.of_critical);
  double mass = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(sums.of_critical.particles); ++k) {
    const std::size_t i = seen.order[k];
    const double own = all.particles.mass[i];
    mass += own;
    if (static_cast<std::int64_t>(k) + 1 >= least_in_sphere && seen.radius[k] > 0)
      sums.peak_speed = std::max(sums.peak_speed, speed(mass, seen.radius[k]));
    sums.angular_momentum =
        sums.angular_momentum + own * cross(place_from(all, i, center), velocity_from(all, i, mean));
  }
}

}  // namespace

double total_mass(const AnalysisSnapshot& all, int threads, Communicator& ranks) {
  constexpr std::int64_t chunk = 65536;
  const auto& mass = all.particles.mass;
  std::vector<ExactSum> parts(mass.size() / chunk + 1);
  parallel_chunks(threads, all.particles.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    ExactSum& part = parts[static_cast<std::size_t>(begin / chunk)];
    const double* const own = mass.data() + begin;
    // A power of two times a number is exact.
    if (const double sum = chunk * own[0]; end - begin == chunk && std::isfinite(sum) && are_equal(own, chunk))
      return part.add(sum);
    for (std::int64_t i = begin; i < end; ++i) part.add(mass[static_cast<std::size_t>(i)]);
  });
  std::vector<ExactSum> of_ranks(static_cast<std::size_t>(ranks.size()));
  for (const ExactSum& part : parts) of_ranks[static_cast<std::size_t>(ranks.rank())].add(part);
  ranks.all_gather_in_place(of_ranks.data(), std::vector<std::size_t>(of_ranks.size(), sizeof(ExactSum)));
  ExactSum sum;
  for (const ExactSum& one : of_ranks) sum.add(one);
  return sum.value();
}

HaloDensities halo_densities(const AnalysisSnapshot& all, int threads, Communicator& ranks) {
  const double total = total_mass(all, threads, ranks);
  if (!all.box.periodic() || !(total > 0)) return {none, none};
  const double mean = halo_overdensity * total / all.box.volume();
  return {mean, all.matter_part ? mean / *all.matter_part : none};
}

double group_mass(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group) {
  return sum_members(chosen.particles, group).mass;
}

GroupProperties properties_of(const MemberSums& sums, std::int64_t particles) {
  GroupProperties group;
  group.particles = particles;
  group.mass = sums.mass;
  if (group.mass > 0) {
    group.velocity = (1 / group.mass) * sums.momentum;
    group.dispersion = std::sqrt(std::max(0.0, sums.square / group.mass - dot(group.velocity, group.velocity)) / 3);
  }
  group.m200m = group.r200m = group.m200c = group.r200c = none;
  group.peak_speed = group.spin = group.concentration = none;
  return group;
}

Vec3<double> place_of_member(const AnalysisSnapshot& chosen, std::size_t first, std::size_t member) {
  const Particles& p = chosen.particles;
  const Vec3<double> from{p.x[first], p.y[first], p.z[first]};
  const Vec3<double> place = from + place_from(chosen, member, from);
  return chosen.box.periodic() ? wrap(place, chosen.box) : place;
}

void set_overdensities(const AnalysisSnapshot& all, const HaloDensities& limits, const SphereSums& sums,
                       GroupProperties& group) {
  const Overdensity of_mean = overdensity_of(sums.of_mean, limits.mean);
  group.m200m = of_mean.mass, group.r200m = of_mean.radius;
  if (std::isnan(limits.critical)) return;
  const Overdensity sphere = overdensity_of(sums.of_critical, limits.critical);
  group.m200c = sphere.mass, group.r200c = sphere.radius;
  if (!(sphere.mass > 0)) return;
  const double at_edge = CircularSpeed(all)(sphere.mass, sphere.radius), peak = sums.peak_speed;
  if (sphere.particles >= least_in_sphere) group.peak_speed = peak;
  const double momentum = std::sqrt(dot(sums.angular_momentum, sums.angular_momentum));
  group.spin = physics::bullock_spin(momentum, sphere.mass, at_edge, sphere.radius);
  if (sphere.particles >= least_for_concentration)
    group.concentration = physics::nfw_concentration(peak * peak / (at_edge * at_edge));
}

void measure_overdensities(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                           GroupProperties& group) {
  SphereSums sums;
  sums.of_mean = overdensity_in(all, seen, limits.mean);
  if (!std::isnan(limits.critical)) sums.of_critical = overdensity_in(all, seen, limits.critical);
  if (sums.of_critical.mass > 0) sum_sphere(all, seen, group.center, sums);
  set_overdensities(all, limits, sums, group);
}

std::vector<GroupProperties> member_properties(const AnalysisSnapshot& chosen,
                                               std::span<const std::vector<std::size_t>> groups, const Device& device) {
  if constexpr (cuda_built) {
    if (GroupsOnGpu::can_measure(device, chosen))
      return GroupsOnGpu(device, chosen, groups).member_properties(0, static_cast<std::int64_t>(groups.size()));
  }
  const Device one_thread = Device::open("cpu", 1);
  std::vector<GroupProperties> found(groups.size());
  const auto measure = [&](std::size_t k, const Device& by) {
    const auto& members = groups[k];
    found[k] = properties_of(sum_members(chosen.particles, members), static_cast<std::int64_t>(members.size()));
    found[k].center = place_of_member(chosen, members[0], members[deepest_member(chosen, members, by)]);
    found[k].reach = reach_of(chosen, members, found[k].center);
  };
  std::size_t alone = 0;  // one after the other, each by all threads: the largest are first
  for (; alone < groups.size() && static_cast<std::int64_t>(groups[alone].size()) > most_for_pairs_in_group; ++alone)
    measure(alone, device);
  parallel_for(device.threads(), static_cast<std::int64_t>(found.size() - alone),
               [&](std::int64_t number) { measure(alone + static_cast<std::size_t>(number), one_thread); });
  return found;
}

void measure_spheres(const AnalysisSnapshot& all, const HaloDensities& limits, int threads,
                     std::vector<GroupProperties>& groups) {
  const Neighbourhood near(all, threads);
  parallel_for(threads, static_cast<std::int64_t>(groups.size()), [&](std::int64_t number) {
    GroupProperties& group = groups[static_cast<std::size_t>(number)];
    const SeenFromCenter seen = seen_to_density(near, group.center, group.mass, limits.lowest());
    measure_overdensities(all, seen, limits, group);
  });
}

std::vector<GroupProperties> group_properties(const AnalysisSnapshot& chosen, const AnalysisSnapshot& all,
                                              std::span<const std::vector<std::size_t>> groups, const Device& device) {
  if constexpr (cuda_built) {
    if (GroupsOnGpu::can_measure(device, chosen))
      return GroupsOnGpu(device, chosen, groups).properties(all, 0, static_cast<std::int64_t>(groups.size()));
  }
  auto found = member_properties(chosen, groups, device);
  const HaloDensities limits = halo_densities(all, device.threads());
  if (!std::isnan(limits.mean)) measure_spheres(all, limits, device.threads(), found);
  return found;
}

ChosenParticles::ChosenParticles(AnalysisSnapshot all, const AnalysisOptions& options,
                                 const std::shared_ptr<Communicator>& ranks) {
  if (options.species == "all") {
    all_ = chosen_species(std::move(all), options, ranks);
  } else {
    some_ = chosen_species(all, options, ranks);
    all_ = std::move(all);
  }
}

}  // namespace pergola

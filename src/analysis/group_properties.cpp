#include "analysis/group_properties.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/centers.hpp"
#include "analysis/group_depths.hpp"
#include "analysis/neighbourhood.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "gravity/solver.hpp"
#include "particles/separation.hpp"
#include "physics/halo.hpp"
#include "physics/profiles.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
/// Groups of more find their potentials by the tree with all threads; smaller ones by pairs, one thread each.
constexpr std::int64_t most_for_pairs_in_group = 4096;
/// A GPU sums over the pairs of all groups up to this size at once.
constexpr std::int64_t most_for_pairs_on_gpu = std::int64_t{1} << 19;
/// Rough potentials err by less than this part of the lowest: those of a tree, and sums of pairs in single precision.
constexpr double tree_doubt = 1e-3, pair_doubt = 5e-5;
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

/// A member as seen from the first.
Vec3<double> place_in(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group, std::size_t member) {
  const Particles& p = snapshot.particles;
  return place_from(snapshot, group[member], {p.x[group[0]], p.y[group[0]], p.z[group[0]]});
}

/// A softening of a hundredth of the group's size keeps one close pair from being the centre.
double softening_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  double size = 0;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const Vec3<double> place = place_in(snapshot, group, k);
    size = std::max(size, std::hypot(place.x, place.y, place.z));
  }
  return 0.01 * size;
}

/// The member with the lowest potential of the others, the first of equal ones.
std::size_t lowest_by_pairs(const AnalysisSnapshot& members, double softening, const std::vector<std::int64_t>& among,
                            const Device& device) {
  SolverOptions options;
  options.softening = Softening::same(softening);
  options.precision = Precision::double_;
  const Device cpu = device.is_cuda() ? Device::open("cpu", device.threads()) : device;
  const auto potential =
      evaluate_forces(*make_solver(options, cpu), cpu, members.particles, want_potential, among).potential;
  const auto lowest = std::min_element(potential.begin(), potential.end()) - potential.begin();
  return static_cast<std::size_t>(among[static_cast<std::size_t>(lowest)]);
}

/// Those whose depths −φ, of which all are known roughly, may be the largest.
template <class Depths>
std::vector<std::int64_t> perhaps_deepest(const Depths& depths, std::size_t count, double doubt) {
  double most = 0;
  for (std::size_t k = 0; k < count; ++k) most = std::max(most, static_cast<double>(depths[k]));
  std::vector<std::int64_t> among;
  for (std::size_t k = 0; k < count && most > 0; ++k)
    if (static_cast<double>(depths[k]) >= (1 - doubt) * most) among.push_back(static_cast<std::int64_t>(k));
  return among;
}

/// The member with the lowest potential of the others. Where potentials are known roughly, the few that may be it are
/// summed by pairs: it does not matter how the others were found. `depths`: of the members, by pairs on a GPU; null:
/// not known.
std::size_t deepest(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group, const Device& device,
                    const float* depths) {
  std::vector<std::int64_t> among;
  if (depths) {
    among = perhaps_deepest(depths, group.size(), pair_doubt);
    if (among.size() <= 1) return among.empty() ? 0 : static_cast<std::size_t>(among[0]);
  }
  const double softening = softening_of(snapshot, group);
  if (!(softening > 0)) return 0;
  const AnalysisSnapshot members = members_of(snapshot, group);
  if (!depths) {
    auto potential = potentials_in(members, softening, device, most_for_pairs_in_group);
    if (members.particles.size() <= most_for_pairs_in_group)
      return static_cast<std::size_t>(std::min_element(potential.begin(), potential.end()) - potential.begin());
    for (double& one : potential) one = -one;
    among = perhaps_deepest(potential, potential.size(), tree_doubt);
  }
  return among.empty() ? 0 : lowest_by_pairs(members, softening, among, device);
}

/// Depths of members of groups, found at once where there is a GPU.
class GroupDepths {
 public:
  GroupDepths(const AnalysisSnapshot& snapshot, const FriendGroups& friends, const Device& device) {
    if (!device.is_cuda()) return;
    const auto& groups = friends.groups;
    while (first_ < groups.size() && static_cast<std::int64_t>(groups[first_].size()) > most_for_pairs_on_gpu) ++first_;
    placed_.begin.push_back(0);
    for (std::size_t g = first_; g < groups.size(); ++g)
      placed_.begin.push_back(placed_.begin.back() + static_cast<std::int64_t>(groups[g].size()));
    placed_.members.resize(static_cast<std::size_t>(placed_.begin.back()));
    placed_.softening2.resize(groups.size() - first_);
    parallel_for(device.threads(), static_cast<std::int64_t>(groups.size() - first_), [&](std::int64_t g) {
      place(snapshot, groups[first_ + static_cast<std::size_t>(g)], static_cast<std::size_t>(g));
    });
    if constexpr (cuda_built) depths_ = group_depths_cuda(device, placed_);
  }
  /// Of the members of a group; null: not known.
  const float* of(std::size_t group) const {
    return depths_.empty() || group < first_ ? nullptr : depths_.data() + placed_.begin[group - first_];
  }

 private:
  void place(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group, std::size_t number) {
    const double softening = softening_of(snapshot, group);
    placed_.softening2[number] = static_cast<float>(softening * softening);
    PlacedMember* const to = placed_.members.data() + placed_.begin[number];
    for (std::size_t k = 0; k < group.size(); ++k) {
      const Vec3<double> at = place_in(snapshot, group, k);
      to[k] = {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(at.z),
               static_cast<float>(snapshot.particles.mass[group[k]])};
    }
  }

  std::size_t first_ = 0;  // the largest are first
  PlacedGroups placed_;
  std::vector<float> depths_;
};

GroupProperties properties_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                              const Device& device, const float* depths) {
  const Particles& p = snapshot.particles;
  GroupProperties found;
  found.particles = static_cast<std::int64_t>(group.size());
  Vec3<double> momentum{0, 0, 0};
  double square = 0;
  for (const std::size_t i : group) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    found.mass += p.mass[i];
    momentum = momentum + p.mass[i] * v;
    square += p.mass[i] * dot(v, v);
  }
  if (found.mass > 0) {
    found.velocity = (1 / found.mass) * momentum;
    found.dispersion = std::sqrt(std::max(0.0, square / found.mass - dot(found.velocity, found.velocity)) / 3);
  }
  const std::size_t first = group[0];
  found.center = Vec3<double>{p.x[first], p.y[first], p.z[first]} +
                 place_in(snapshot, group, deepest(snapshot, group, device, depths));
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

/// How far the members are from the centre, at most.
double reach_of(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group, const Vec3<double>& center) {
  double most = 0;
  for (const std::size_t i : group) {
    const Vec3<double> d = place_from(chosen, i, center);
    most = std::max(most, std::sqrt(dot(d, d)));
  }
  return most;
}

}  // namespace

double total_mass(const AnalysisSnapshot& all, int threads, Communicator& ranks) {
  constexpr std::int64_t chunk = 65536;
  const auto& mass = all.particles.mass;
  std::vector<ExactSum> parts(mass.size() / chunk + 1);
  parallel_chunks(threads, all.particles.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      parts[static_cast<std::size_t>(begin / chunk)].add(mass[static_cast<std::size_t>(i)]);
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
  double mass = 0;
  for (const std::size_t i : group) mass += chosen.particles.mass[i];
  return mass;
}

void measure_overdensities(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                           GroupProperties& group) {
  const Overdensity of_mean = overdensity_in(all, seen, limits.mean);
  group.m200m = of_mean.mass, group.r200m = of_mean.radius;
  if (std::isnan(limits.critical)) return;
  const Overdensity of_critical = overdensity_in(all, seen, limits.critical);
  group.m200c = of_critical.mass, group.r200c = of_critical.radius;
  if (of_critical.mass > 0) measure_sphere(all, seen, of_critical, group);
}

std::vector<GroupProperties> member_properties(const AnalysisSnapshot& chosen, const FriendGroups& groups,
                                               const Device& device) {
  const Device one_thread = Device::open("cpu", 1);
  const GroupDepths depths(chosen, groups, device);
  std::vector<GroupProperties> found(groups.groups.size());
  const auto measure = [&](std::size_t k, const Device& by) {
    GroupProperties& group = found[k];
    group = properties_of(chosen, groups.groups[k], by, depths.of(k));
    group.reach = reach_of(chosen, groups.groups[k], group.center);
    group.m200m = group.r200m = group.m200c = group.r200c = none;
    group.peak_speed = group.spin = group.concentration = none;
  };
  std::vector<std::size_t> alone;  // one after the other, each by all threads
  for (std::size_t k = 0; k < found.size(); ++k)
    if (!depths.of(k) && static_cast<std::int64_t>(groups.groups[k].size()) > most_for_pairs_in_group)
      alone.push_back(k);
  for (const std::size_t k : alone) measure(k, device);
  parallel_for(device.threads(), static_cast<std::int64_t>(found.size() - alone.size()),
               [&](std::int64_t number) { measure(alone.size() + static_cast<std::size_t>(number), one_thread); });
  return found;
}

std::vector<GroupProperties> group_properties(const AnalysisSnapshot& chosen, const Neighbourhood& all,
                                              const FriendGroups& groups, const Device& device) {
  auto found = member_properties(chosen, groups, device);
  const HaloDensities limits = halo_densities(all.snapshot(), device.threads());
  if (std::isnan(limits.mean)) return found;
  parallel_for(device.threads(), static_cast<std::int64_t>(found.size()), [&](std::int64_t number) {
    GroupProperties& group = found[static_cast<std::size_t>(number)];
    const SeenFromCenter seen = seen_to_density(all, group.center, group.mass, limits.lowest());
    measure_overdensities(all.snapshot(), seen, limits, group);
  });
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

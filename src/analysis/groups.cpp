#include "analysis/groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "analysis/centers.hpp"
#include "analysis/groups_on_gpu.hpp"
#include "analysis/neighbourhood.hpp"
#include "analysis/spread_groups.hpp"
#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "physics/halos.hpp"
#include "physics/measures.hpp"

// Large groups are measured one after the other, each with all threads; small groups in parallel, each with one thread.
// A group's centre is searched with a softening of a hundredth of its size.
namespace pergola {

namespace {

/// Rough potentials of a tree err by less than this part of the lowest.
constexpr double tree_doubt = 1e-3;

/// The place of the first member, the one with the lowest id.
Vec3<double> first_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  return {p.x[group[0]], p.y[group[0]], p.z[group[0]]};
}

/// Positions of the members relative to the first, so that a group at the edge of a periodic box is whole.
AnalysisSnapshot members_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  AnalysisSnapshot part;
  part.name = snapshot.name;
  part.gravitational_constant = snapshot.gravitational_constant;
  part.particles.resize(static_cast<std::int64_t>(group.size()));
  Particles& to = part.particles;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const std::size_t i = group[k];
    const Vec3<double> d = place_from(snapshot, i, first_of(snapshot, group));
    to.id[k] = p.id[i], to.mass[k] = p.mass[i];
    to.x[k] = d.x, to.y[k] = d.y, to.z[k] = d.z;
    to.vx[k] = p.vx[i], to.vy[k] = p.vy[i], to.vz[k] = p.vz[i];
  }
  return part;
}

/// The size of a group is the largest distance of a member from the first.
double softening_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  double size2 = 0;
  for (const std::size_t i : group) {
    const Vec3<double> place = place_from(snapshot, i, first_of(snapshot, group));
    size2 = std::max(size2, dot(place, place));
  }
  return softening_in_sizes * std::sqrt(size2);
}

/// The member with the lowest potential in the field of the others, the first of equal ones.
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

/// Members whose rough potential may be the lowest.
std::vector<std::int64_t> perhaps_lowest(const std::vector<double>& potential) {
  const double lowest = std::min(0.0, *std::min_element(potential.begin(), potential.end()));
  std::vector<std::int64_t> among;
  for (std::size_t k = 0; k < potential.size() && lowest < 0; ++k)
    if (potential[k] <= (1 - tree_doubt) * lowest) among.push_back(static_cast<std::int64_t>(k));
  return among;
}

}  // namespace

// Small groups: by pairs. Large groups: roughly by the tree, then by pairs for the members that may be the lowest.
std::size_t deepest_member(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                           const Device& device) {
  const double softening = softening_of(snapshot, group);
  if (!(softening > 0)) return 0;
  const AnalysisSnapshot members = members_of(snapshot, group);
  const auto potential = potentials_in(members, softening, device, most_for_pairs_in_group);
  if (members.particles.size() <= most_for_pairs_in_group)
    return static_cast<std::size_t>(std::min_element(potential.begin(), potential.end()) - potential.begin());
  const auto among = perhaps_lowest(potential);
  return among.empty() ? 0 : lowest_by_pairs(members, softening, among, device);
}

namespace {

/// Fewer particles in the sphere have no profile to speak of.
constexpr std::int64_t least_for_concentration = 100;

/// In the order of the members, by rising id.
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

/// The largest distance of a member from the centre.
double reach_of(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group, const Vec3<double>& center) {
  double most2 = 0;
  for (const std::size_t i : group) {
    const Vec3<double> d = place_from(chosen, i, center);
    most2 = std::max(most2, dot(d, d));
  }
  return std::sqrt(most2);
}

/// Lengths in a file are comoving; proper lengths are a times as long.
struct CircularSpeed {
  double g, a;
  explicit CircularSpeed(const AnalysisSnapshot& all)
      : g(all.gravitational_constant), a(all.universe ? all.universe->scale_factor : 1) {}
  double operator()(double mass, double radius) const { return physics::circular_speed(g, mass, a * radius); }
};

/// Sums over the sphere of critical density.
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

// Exact, so that it does not depend on threads and ranks. A chunk of equal masses is one product.
double total_mass(const AnalysisSnapshot& all, int threads, Communicator& ranks) {
  constexpr std::int64_t chunk = 65536;
  const auto& mass = all.particles.mass;
  std::vector<ExactSum> parts(mass.size() / chunk + 1);
  parallel_chunks(threads, all.particles.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    ExactSum& part = parts[static_cast<std::size_t>(begin / chunk)];
    const double* const own = mass.data() + begin;
    // The chunk is a power of two: its product with a mass is exact.
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

// 200 times the mean density and, where the cosmology is known, the critical one; comoving.
HaloDensities halo_densities(const AnalysisSnapshot& all, int threads, Communicator& ranks) {
  const double total = total_mass(all, threads, ranks);
  if (!all.box.periodic() || !(total > 0)) return {not_known, not_known};
  const double mean = halo_overdensity * total / all.box.volume();
  return {mean, all.matter_part ? mean / *all.matter_part : not_known};
}

double group_mass(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group) {
  return sum_members(chosen.particles, group).mass;
}

// The part that needs only the members; everything about spheres is not known yet.
GroupProperties properties_of(const MemberSums& sums, std::int64_t particles) {
  GroupProperties group;
  group.particles = particles;
  group.mass = sums.mass;
  if (group.mass > 0) {
    group.velocity = (1 / group.mass) * sums.momentum;
    group.dispersion = std::sqrt(std::max(0.0, sums.square / group.mass - dot(group.velocity, group.velocity)) / 3);
  }
  group.m200m = group.r200m = group.m200c = group.r200c = not_known;
  group.peak_speed = group.spin = group.concentration = not_known;
  return group;
}

// Relative to the first member, so that members beyond the edge of a periodic box are near it.
Vec3<double> place_of_member(const AnalysisSnapshot& chosen, std::size_t first, std::size_t member) {
  const Particles& p = chosen.particles;
  const Vec3<double> from{p.x[first], p.y[first], p.z[first]};
  const Vec3<double> place = from + place_from(chosen, member, from);
  return chosen.box.periodic() ? wrap(place, chosen.box) : place;
}

// M200, R200, and what follows from the sphere of critical density: peak of the circular speed, spin (Bullock et al.
// 2001) and concentration. Values that the sphere is too poor for stay not_known.
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
  std::size_t alone = 0;  // large groups one by one, each with all threads
  for (; alone < groups.size() && static_cast<std::int64_t>(groups[alone].size()) > most_for_pairs_in_group; ++alone)
    measure(alone, device);
  parallel_for(device.threads(), static_cast<std::int64_t>(found.size() - alone),
               [&](std::int64_t number) { measure(alone + static_cast<std::size_t>(number), one_thread); });
  return found;
}

// Small pieces of work in parallel: each group reads its neighbourhood out to the lower of the two densities.
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

// From the option, else in units of the mean spacing of `particles` in the box.
double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles) {
  if (options.linking_length > 0) return options.linking_length;
  if (!snapshot.box.periodic())
    throw Error(ErrorKind::input, fmt::format("{}: is not a periodic box, so its particles have no mean spacing; "
                                              "expected --linking-length above 0",
                                              snapshot.name));
  return options.linking * std::cbrt(snapshot.box.volume() / static_cast<double>(particles));
}

// On the GPU if memory suffices, else on the CPU: with the same groups.
FoundGroups::FoundGroups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device)
    : chosen_(chosen), device_(device), length_(linking_length(chosen, options, chosen.particles.size())) {
  if constexpr (cuda_built) {
    const FriendFrame frame = friend_frame(*serial_communicator(), chosen.particles, chosen.box, length_);
    if (GroupsOnGpu::can_find(device, chosen.particles.size(), frame)) {
      on_gpu_ = std::make_unique<GroupsOnGpu>(device, chosen, frame, options.least);
      return;
    }
  }
  friends_ = friends_of_friends(chosen.particles, chosen.box, length_, options.least, device);
}

FoundGroups::~FoundGroups() = default;

std::int64_t FoundGroups::count() const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->count();
  }
  return static_cast<std::int64_t>(friends_.groups.size());
}

std::vector<double> FoundGroups::masses() const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->masses();
  }
  std::vector<double> masses;
  for (const auto& group : friends_.groups) masses.push_back(group_mass(chosen_, group));
  return masses;
}

std::vector<GroupProperties> FoundGroups::properties(const AnalysisSnapshot& all, std::int64_t first,
                                                     std::int64_t count) const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->properties(all, first, count);
  }
  const std::span<const std::vector<std::size_t>> groups(friends_.groups);
  return group_properties(chosen_, all,
                          groups.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), device_);
}

std::vector<Key<AnalysisOptions>> group_keys() {
  return {real_option<AnalysisOptions>(
              "linking", "linking length in mean spacings of a periodic box", Range::between(1e-6, 10),
              [](auto& options) -> auto& { return options.linking; }),
          with_dimension(real_option<AnalysisOptions>(
                             "linking-length", "the same in the unit of the file; 0: from --linking",
                             Range::at_least(0), [](auto& options) -> auto& { return options.linking_length; }),
                         dimension::length),
          integer_option<AnalysisOptions>(
              "least", "particles of the smallest group", Range::between(1, 1e12),
              [](auto& options) -> auto& { return options.least; })};
}

namespace {

/// One row per group.
void add_groups(const AnalysisSnapshot& snapshot, const std::vector<GroupProperties>& groups, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  double number = 0;
  for (const GroupProperties& group : groups) {
    table.add("time", units.time, snapshot.time);
    table.add("group", "", ++number);
    table.add("particles", "", static_cast<double>(group.particles));
    table.add("mass", units.mass, group.mass);
    table.add("x", units.length, group.center.x);
    table.add("y", units.length, group.center.y);
    table.add("z", units.length, group.center.z);
    table.add("vx", units.velocity, group.velocity.x);
    table.add("vy", units.velocity, group.velocity.y);
    table.add("vz", units.velocity, group.velocity.z);
    table.add("dispersion", units.velocity, group.dispersion);
    table.add("m200m", units.mass, group.m200m);
    table.add("r200m", units.length, group.r200m);
    table.add("m200c", units.mass, group.m200c);
    table.add("r200c", units.length, group.r200c);
    table.add("vmax", units.velocity, group.peak_speed);
    table.add("spin", "", group.spin);
    table.add("concentration", "", group.concentration);
  }
}

/// A table without groups still has its columns.
Table empty_table(const AnalysisUnits& units) {
  Table table;
  AnalysisSnapshot nothing;
  nothing.units = units;
  add_groups(nothing, {GroupProperties{}}, table);
  for (auto& column : table.columns) column.values = std::vector<double>();
  return table;
}

/// Groups of a snapshot, and the snapshot without its particles.
struct MeasuredGroups {
  AnalysisSnapshot frame;
  double length = 0;  // linking length
  std::vector<GroupProperties> groups;
};

/// By all ranks together if there are several, else by this process.
MeasuredGroups measure_groups(const AnalysisFiles& files, std::size_t number, const AnalysisOptions& options,
                              const Device& device) {
  AnalysisSnapshot snapshot = files.snapshot(number);
  if (files.ranks->size() > 1) {
    DistributedGroups spread(files.ranks, std::move(snapshot), options, device);
    return {spread.frame(), spread.length(), spread.properties(0, spread.count())};
  }
  MeasuredGroups measured{frame_of(snapshot), 0, {}};
  const ChosenParticles particles(std::move(snapshot), options);
  const FoundGroups found(particles.chosen(), options, device);
  measured.length = found.length();
  measured.groups = found.properties(particles.all(), 0, found.count());
  return measured;
}

AnalysisResult analyze_groups(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Figure figure{"Groups", "rank", "", "mass", "", true, true, {}};
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const auto [snapshot, length, groups] = measure_groups(files, k, options, device);
    if (k == 0) result.table = empty_table(snapshot.units);
    add_groups(snapshot, groups, result.table);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "", {}, {}, true};
    for (const GroupProperties& group : groups)
      line.x.push_back(static_cast<double>(line.x.size() + 1)), line.y.push_back(group.mass);
    figure.lines.push_back(line);
    figure.y_unit = snapshot.units.mass;
    result.findings.push_back({"linking length", snapshot.units.length, length});
    result.findings.push_back({"groups", "", static_cast<double>(groups.size())});
  }
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry groups_entry() {
  auto keys = group_keys();
  keys.push_back(species_key());
  return {.name = "groups",
          .help = "Friends-of-friends groups: masses, M200, centres, velocities, spin, concentration",
          .details =
              "One line per group, the largest first. Columns: time, group, particles, mass (of the members), x, y, "
              "z (the member with the lowest potential in the field of the members), vx, vy, vz (mean), "
              "dispersion (of one component), m200m and r200m (the sphere of all particles about the centre with "
              "200 times the mean density of the box), m200c and r200c (200 times the critical density, where the "
              "file knows its cosmology), and of this last sphere vmax (the largest circular speed), spin (J over "
              "sqrt(2) M V R, Bullock et al. 2001) and concentration (of the halo of Navarro, Frenk & White with this "
              "vmax over the circular speed at r200c). In a cosmological file lengths are comoving and velocities "
              "peculiar, a dx/dt. What cannot be known is nan. The same for any order of the particles and any number "
              "of threads and ranks.",
          .example = "box.hdf5 --linking 0.2 --least 32 -o groups.csv",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .periodic_only = true,
          .by_ranks = true,
          .keys = keys,
          .analyze = analyze_groups};
}

}  // namespace pergola

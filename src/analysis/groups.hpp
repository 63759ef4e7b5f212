#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friends.hpp"
#include "analysis/neighbourhood.hpp"
#include "base/vec.hpp"
#include "device/device.hpp"

// Groups of friends of one process, and their properties: centre, velocity, dispersion, spherical overdensities, peak
// speed, spin, concentration. For distributed particles: analysis/spread_groups.hpp.
// Steps: (1) find the groups, (2) sum over the members, (3) find the member with the lowest potential, (4) look at all
// particles around it, nearest first, until the mean density falls below the limit.
// What always holds: members are summed by rising id, spheres from the centre outward. The bits do not depend on the
// order of particles, on threads, ranks or the device.
namespace pergola {

/// Properties of a group.
struct GroupProperties {
  std::int64_t particles = 0;
  double mass = 0;
  Vec3<double> center{};        // the member with the lowest potential in the field of the members
  Vec3<double> velocity{};      // mean, weighted with mass
  double dispersion = 0;        // of one component
  double reach = 0;             // the farthest member from the centre
  double m200m = 0, r200m = 0;  // not_known without a mean density
  double m200c = 0, r200c = 0;  // not_known without a critical density
  // Of the sphere of 200 critical densities; not_known without one.
  double peak_speed = 0;     // the largest circular speed, from least_in_sphere particles on
  double spin = 0;           // Bullock's
  double concentration = 0;  // from peak_speed over the circular speed at r200c; of at least a hundred particles
};

/// Properties of groups of `chosen` particles. Groups come largest first, members by rising id. M200m and M200c are
/// spheres of `all` particles about the centre with 200 times the mean and the critical density. Same bits on CPU and
/// GPU.
std::vector<GroupProperties> group_properties(const AnalysisSnapshot& chosen, const AnalysisSnapshot& all,
                                              std::span<const std::vector<std::size_t>> groups, const Device& device);

/// Step 1 of 2: what follows from the members. All other values are not_known.
std::vector<GroupProperties> member_properties(const AnalysisSnapshot& chosen,
                                               std::span<const std::vector<std::size_t>> groups, const Device& device);

inline constexpr double halo_overdensity = 200;
/// 200 times the mean and the critical density of a box; not_known where a density is.
struct HaloDensities {
  double mean = 0, critical = 0;

  /// The density at which the search for a sphere ends.
  double lowest() const { return critical < mean ? critical : mean; }
};
/// Collective.
HaloDensities halo_densities(const AnalysisSnapshot& all, int threads, Communicator& ranks = *serial_communicator());
/// The mass of all particles of all ranks, summed without rounding, so that the order does not matter. Collective.
double total_mass(const AnalysisSnapshot& all, int threads, Communicator& ranks = *serial_communicator());

/// The sum over the members, in their order.
double group_mass(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group);

/// Step 2 of 2: what follows from the sphere about the centre. `seen`: all particles out to the lowest density
/// (DensitySearch). `limits` must have a mean.
void measure_overdensities(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                           GroupProperties& group);

/// Step 2 for all groups of one process, on the CPU. Their centres and masses are known.
void measure_spheres(const AnalysisSnapshot& all, const HaloDensities& limits, int threads,
                     std::vector<GroupProperties>& groups);

// Conversions of sums to properties, for sums from CPU and GPU.
/// Properties from the sums over `particles` members. The centre and the reach are not set.
GroupProperties properties_of(const MemberSums& sums, std::int64_t particles);
/// The position of a member in the image next to the first member. Both arguments are places in the particle arrays.
Vec3<double> place_of_member(const AnalysisSnapshot& chosen, std::size_t first, std::size_t member);
/// Sets M200m and M200c, and the properties of the sphere of M200c.
void set_overdensities(const AnalysisSnapshot& all, const HaloDensities& limits, const SphereSums& sums,
                       GroupProperties& group);

/// All particles, and those of them whose species the options name.
class ChosenParticles {
 public:
  /// Throws Error(input) as chosen_species() does.
  ChosenParticles(AnalysisSnapshot all, const AnalysisOptions& options,
                  const std::shared_ptr<Communicator>& ranks = serial_communicator());
  const AnalysisSnapshot& all() const { return all_; }
  const AnalysisSnapshot& chosen() const { return some_ ? *some_ : all_; }
  /// Moves all particles out of this object.
  Particles take_all() { return std::exchange(all_.particles, {}); }

 private:
  AnalysisSnapshot all_;
  std::optional<AnalysisSnapshot> some_;  // only if not all are chosen, to save memory
};

/// Larger groups find potentials by the tree with all threads; smaller ones by pairs, one thread each.
inline constexpr std::int64_t most_for_pairs_in_group = 4096;
/// The softening as a part of the group's size: one close pair must not become the centre.
inline constexpr double softening_in_sizes = 0.01;

/// The member with the lowest potential in the field of the other members, the first of equal ones. If a tree gives
/// rough potentials, the few candidates are summed again by pairs, so that the result does not depend on the tree.
std::size_t deepest_member(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                           const Device& device);

/// The linking length: given, or in mean spacings of `particles` particles in a periodic box. Throws Error(input) if
/// neither is possible.
double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles);

class GroupsOnGpu;

/// Groups of friends among the chosen particles of a snapshot, on one process. Groups are numbered from 0, in the order
/// of friends_of_friends(). On a GPU members stay on the device.
class FoundGroups {
 public:
  /// `chosen` must outlive this object.
  FoundGroups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device);
  ~FoundGroups();

  double length() const { return length_; }
  std::int64_t count() const;
  /// Masses of all groups.
  std::vector<double> masses() const;
  /// Properties of the groups first … first + count − 1. `all` as in group_properties().
  std::vector<GroupProperties> properties(const AnalysisSnapshot& all, std::int64_t first, std::int64_t count) const;

 private:
  const AnalysisSnapshot& chosen_;
  Device device_;
  double length_ = 0;
  std::unique_ptr<GroupsOnGpu> on_gpu_;  // or else
  FriendGroups friends_;
};

/// The keys linking, linking-length and least.
std::vector<Key<AnalysisOptions>> group_keys();

}  // namespace pergola

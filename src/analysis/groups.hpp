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

namespace pergola {

/// What a group is like.
struct GroupProperties {
  std::int64_t particles = 0;
  double mass = 0;
  Vec3<double> center{};        // the member with the lowest potential in the field of the members
  Vec3<double> velocity{};      // mean, weighted with mass
  double dispersion = 0;        // of one component
  double reach = 0;             // the farthest member from the centre
  double m200m = 0, r200m = 0;  // not a number where there is no mean density
  double m200c = 0, r200c = 0;  // nor where the part of matter in the critical density is not known
  // Of the sphere of 200c; not numbers where there is none.
  double peak_speed = 0;     // the largest circular speed in it, of at least least_in_sphere
  double spin = 0;           // Bullock's
  double concentration = 0;  // from peak_speed over the circular speed at r200c; of at least a hundred particles
};

/// Properties of groups of `chosen` particles, in the order of the groups: the largest are first, members by rising id.
/// M200m and M200c are spherical overdensities of `all` particles about the centre, 200 times the mean and the critical
/// density. The same on either device, to the bit.
std::vector<GroupProperties> group_properties(const AnalysisSnapshot& chosen, const AnalysisSnapshot& all,
                                              std::span<const std::vector<std::size_t>> groups, const Device& device);

/// The same, each in two steps. What the members tell, with numbers for nothing else:
std::vector<GroupProperties> member_properties(const AnalysisSnapshot& chosen,
                                               std::span<const std::vector<std::size_t>> groups, const Device& device);

inline constexpr double halo_overdensity = 200;
/// 200 times the mean and the critical density of a box; not numbers where they are not known.
struct HaloDensities {
  double mean = 0, critical = 0;

  /// How far outward a sphere is looked for.
  double lowest() const { return critical < mean ? critical : mean; }
};
/// Where each rank has a part of the particles all call it together.
HaloDensities halo_densities(const AnalysisSnapshot& all, int threads, Communicator& ranks = *serial_communicator());
/// Of all particles, of all ranks: without rounding, so that their order does not matter.
double total_mass(const AnalysisSnapshot& all, int threads, Communicator& ranks = *serial_communicator());

/// Of the members, in their order.
double group_mass(const AnalysisSnapshot& chosen, const std::vector<std::size_t>& group);

/// And what the sphere about the centre tells, from what is `seen` of all particles (DensitySearch, from the members'
/// mass to the lowest density); `limits` have a mean.
void measure_overdensities(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                           GroupProperties& group);

/// The same for all groups of one process, whose centres and masses are known, on the CPU.
void measure_spheres(const AnalysisSnapshot& all, const HaloDensities& limits, int threads,
                     std::vector<GroupProperties>& groups);

// What sums come to, wherever they were made.
/// Of so many members; the centre and how far they reach are not known yet.
GroupProperties properties_of(const MemberSums& sums, std::int64_t particles);
/// Where a member is, as seen from the first one of its group; both are places in the particle arrays.
Vec3<double> place_of_member(const AnalysisSnapshot& chosen, std::size_t first, std::size_t member);
/// M200m and M200c, and what is known of the sphere of the latter.
void set_overdensities(const AnalysisSnapshot& all, const HaloDensities& limits, const SphereSums& sums,
                       GroupProperties& group);

/// Particles, and those of them that the options' species name.
class ChosenParticles {
 public:
  /// Throws Error(input) as chosen_species() does.
  ChosenParticles(AnalysisSnapshot all, const AnalysisOptions& options,
                  const std::shared_ptr<Communicator>& ranks = serial_communicator());
  const AnalysisSnapshot& all() const { return all_; }
  const AnalysisSnapshot& chosen() const { return some_ ? *some_ : all_; }
  /// All particles, which it then has no longer.
  Particles take_all() { return std::exchange(all_.particles, {}); }

 private:
  AnalysisSnapshot all_;
  std::optional<AnalysisSnapshot> some_;  // where they are not all: there may be many
};

/// Groups of more find their potentials by the tree with all threads; smaller ones by pairs, one thread each.
inline constexpr std::int64_t most_for_pairs_in_group = 4096;
/// A softening of a hundredth of the group's size keeps one close pair from being the centre.
inline constexpr double softening_in_sizes = 0.01;

/// The member with the lowest potential of the others, the first of equal ones. Where potentials are known roughly, the
/// few that may be it are summed by pairs: it does not matter how the others were found.
std::size_t deepest_member(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                           const Device& device);

/// The linking length of the options: in mean spacings of so many particles in a periodic box, or as it was given.
/// Throws Error(input) where neither can be had.
double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles);

class GroupsOnGpu;

/// Friends of friends of the chosen particles of a snapshot with that length, as SpreadGroups finds them among ranks.
/// Numbers of groups are those of friends_of_friends(), from 0. On a GPU members do not leave it.
class FoundGroups {
 public:
  /// `chosen` outlives it.
  FoundGroups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device);
  ~FoundGroups();

  double length() const { return length_; }
  std::int64_t count() const;
  /// Of all groups.
  std::vector<double> masses() const;
  /// Of the groups first … first + count − 1; `all`: group_properties().
  std::vector<GroupProperties> properties(const AnalysisSnapshot& all, std::int64_t first, std::int64_t count) const;

 private:
  const AnalysisSnapshot& chosen_;
  Device device_;
  double length_ = 0;
  std::unique_ptr<GroupsOnGpu> on_gpu_;  // or else
  FriendGroups friends_;
};

/// --linking, --linking-length, --least.
std::vector<Key<AnalysisOptions>> group_keys();

}  // namespace pergola

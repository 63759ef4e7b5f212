#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friend_slabs.hpp"
#include "analysis/group_properties.hpp"
#include "analysis/neighbourhood.hpp"

namespace pergola {

/// A place and how far one looks around it.
struct Sphere {
  Vec3<double> center;
  double radius = 0;
};

/// Groups of particles that are spread over ranks. Each rank gets the particles of a slab, and all members of some of
/// the groups; what a group is like is measured by the rank that has it, from the members and from what it is given of
/// the particles around. All have the bits that one process finds. Numbers of groups are those of friends_of_friends(),
/// from 0. All ranks make all calls together.
class SpreadGroups {
 public:
  /// `own`: a rank's part of the particles, in any order. Throws Error(input) on all ranks, as chosen_species() and
  /// linking_length() do.
  SpreadGroups(std::shared_ptr<Communicator> ranks, AnalysisSnapshot own, const AnalysisOptions& options,
               const Device& device);
  SpreadGroups(const SpreadGroups&) = delete;
  SpreadGroups& operator=(const SpreadGroups&) = delete;

  /// The snapshot without its particles.
  const AnalysisSnapshot& frame() const { return frame_; }
  double length() const { return slabs_->frame().length; }
  /// Over all ranks.
  std::int64_t count() const { return count_; }
  /// Of all groups by number, on all ranks.
  std::vector<double> masses() const;
  /// The same of the groups first … first + count − 1.
  std::vector<GroupProperties> properties(std::int64_t first, std::int64_t count);
  /// As Neighbourhood::farthest() of all particles.
  double farthest() const { return near_->farthest(); }
  /// Whether any of the chosen particles of all ranks has mass.
  bool has_mass() const { return has_mass_; }
  /// The chosen particles of all ranks in each of this rank's spheres, of a radius of at most farthest().
  std::vector<AnalysisSnapshot> chosen_in(const std::vector<Sphere>& spheres);

 private:
  /// The same of all particles.
  std::vector<AnalysisSnapshot> all_in(const std::vector<Sphere>& spheres);
  void measure_spheres(std::vector<GroupProperties>& groups);

  std::shared_ptr<Communicator> ranks_;
  Device device_;
  AnalysisSnapshot frame_;
  AnalysisOptions options_;
  std::optional<FriendSlabs> slabs_;
  std::optional<ChosenParticles> here_;  // those of the slab
  std::optional<Neighbourhood> near_;
  AnalysisSnapshot members_;  // of this rank's groups
  FriendGroups friends_;
  std::vector<std::int64_t> numbers_;  // of this rank's groups, rising
  std::int64_t count_ = 0;
  bool has_mass_ = false;
};

}  // namespace pergola

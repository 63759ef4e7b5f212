#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friends.hpp"
#include "analysis/groups.hpp"
#include "analysis/neighbourhood.hpp"
#include "comm/communicator.hpp"
#include "domain/routing.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Particles that ranks whose slabs lie before theirs see too: as many planes as friends may be apart.
struct SlabGuests {
  std::vector<Routing> routings;       // from the slabs; a particle is in each of them once at most
  std::vector<std::uint8_t> is_guest;  // of the slab's particles, whether another rank sees it
};

/// Which rank looks for friends where: slabs of planes of cells along z, cut by counting so that all have about as many
/// particles. A slab may have no planes.
class FriendSlabs {
 public:
  /// For particles of which each rank has its own; all ranks make it together.
  FriendSlabs(Communicator& ranks, const FriendFrame& frame, const Particles& own);

  const FriendFrame& frame() const { return frame_; }
  /// The part of all planes that a rank has.
  double part_of(int rank) const;
  /// Whose slab a particle is in.
  int rank_at(double z) const { return rank_of(plane_at(z)); }
  /// The ranks into whose slabs a sphere may reach, rising.
  std::vector<int> ranks_near(double z, double radius) const;
  /// Of the particles of this rank's slab. All ranks call it.
  SlabGuests guests_of(Communicator& ranks, const Particles& here, int threads) const;

 private:
  /// In open space the first or last one for what is beyond them.
  std::int64_t plane_at(double z) const;
  int rank_of(std::int64_t plane) const;

  FriendFrame frame_;
  std::vector<std::int64_t> first_;  // planes of the ranks, and the end
};

/// The particles of the slab of this rank, of all ranks. All ranks call it.
Particles bring_to_slabs(Communicator& ranks, const FriendSlabs& slabs, Particles own, int threads);

/// Groups of which this rank has all members; each group is on one rank, that with the most members in its slab.
struct OwnGroups {
  Particles members;
  FriendGroups friends;  // places in `members`; ordered as friends_of_friends() does
};

/// Friends of friends of particles in slabs. All ranks call it.
OwnGroups friends_in_slabs(Communicator& ranks, const FriendSlabs& slabs, const Particles& here, std::int64_t least,
                           const Device& device);

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

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

// Groups of friends among distributed particles.
// Steps: (1) particles go to slabs of cells along z, cut so that ranks have about equal numbers; (2) each rank joins
// friends among its slab and the ghosts from the next slabs; (3) ranks exchange the lowest id of each set until nothing
// changes; (4) each group goes to the rank with most of its members; (5) that rank measures it, and asks other ranks
// for particles around it.
// What always holds: groups, their numbers and their properties have the bits of one process. All calls are
// collective.
namespace pergola {

/// Ghosts: particles of a slab that ranks with earlier slabs also need, because friends may be that near.
struct SlabGhosts {
  std::vector<Routing> routings;       // each particle is at most once in each
  std::vector<std::uint8_t> is_ghost;  // whether another rank has the particle as a ghost
};

/// Slabs of planes of cells along z. Cuts come from counts, so that all ranks have about equal numbers of particles. A
/// slab may be empty.
class FriendSlabs {
 public:
  /// From distributed particles in any order. Collective.
  FriendSlabs(Communicator& ranks, const FriendFrame& frame, const Particles& own);

  const FriendFrame& frame() const { return frame_; }
  /// The part of all planes that belongs to a rank.
  double part_of(int rank) const;
  /// The rank whose slab holds a position.
  int rank_at(double z) const { return rank_of(plane_at(z)); }
  /// The ranks whose slabs a sphere may reach, in ascending order.
  std::vector<int> ranks_near(double z, double radius) const;
  /// The ghosts of this rank's slab. Collective.
  SlabGhosts ghosts_of(Communicator& ranks, const Particles& here, int threads) const;

 private:
  /// In open space, positions beyond the planes belong to the first or last one.
  std::int64_t plane_at(double z) const;
  int rank_of(std::int64_t plane) const;

  FriendFrame frame_;
  std::vector<std::int64_t> first_;  // planes of the ranks, and the end
};

/// Brings every particle to the rank of its slab. Collective.
Particles bring_to_slabs(Communicator& ranks, const FriendSlabs& slabs, Particles own, int threads);

/// Groups of which this rank has all members. A group belongs to the rank with most of its members.
struct OwnGroups {
  Particles members;
  FriendGroups friends;  // places in `members`; ordered as friends_of_friends() does
};

/// Friends of friends of particles in slabs. Collective.
OwnGroups friends_in_slabs(Communicator& ranks, const FriendSlabs& slabs, const Particles& here, std::int64_t least,
                           const Device& device);

/// A position and a radius around it.
struct Sphere {
  Vec3<double> center;
  double radius = 0;
};

/// Groups of distributed particles. Each rank has the particles of a slab and all members of some groups. Groups are
/// numbered from 0, in the order of friends_of_friends().
class DistributedGroups {
 public:
  /// `own`: this rank's part of the particles, in any order. Throws Error(input) on all ranks, as chosen_species() and
  /// linking_length() do.
  DistributedGroups(std::shared_ptr<Communicator> ranks, AnalysisSnapshot own, const AnalysisOptions& options,
                    const Device& device);
  DistributedGroups(const DistributedGroups&) = delete;
  DistributedGroups& operator=(const DistributedGroups&) = delete;

  /// The snapshot without its particles.
  const AnalysisSnapshot& frame() const { return frame_; }
  double length() const { return slabs_->frame().length; }
  /// The number of groups on all ranks.
  std::int64_t count() const { return count_; }
  /// Masses of all groups by number, on all ranks.
  std::vector<double> masses() const;
  /// Properties of the groups first … first + count − 1, on all ranks.
  std::vector<GroupProperties> properties(std::int64_t first, std::int64_t count);
  /// As Neighbourhood::farthest() of all particles.
  double farthest() const { return near_->farthest(); }
  /// Whether any chosen particle of any rank has mass.
  bool has_mass() const { return has_mass_; }
  /// The chosen particles of all ranks in each of this rank's spheres. Radii are at most farthest().
  std::vector<AnalysisSnapshot> chosen_in(const std::vector<Sphere>& spheres);

 private:
  /// The same for all particles.
  std::vector<AnalysisSnapshot> all_in(const std::vector<Sphere>& spheres);
  void measure_spheres(std::vector<GroupProperties>& groups);

  std::shared_ptr<Communicator> ranks_;
  Device device_;
  AnalysisSnapshot frame_;
  AnalysisOptions options_;
  std::optional<FriendSlabs> slabs_;
  std::optional<ChosenParticles> here_;  // particles of the slab
  std::optional<Neighbourhood> near_;
  AnalysisSnapshot members_;  // of this rank's groups
  FriendGroups friends_;
  std::vector<std::int64_t> numbers_;  // of this rank's groups, rising
  std::int64_t count_ = 0;
  bool has_mass_ = false;
};

}  // namespace pergola

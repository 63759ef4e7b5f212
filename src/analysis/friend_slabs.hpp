#pragma once
#include <cstdint>
#include <vector>

#include "analysis/friend_cells.hpp"
#include "analysis/friends.hpp"
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

}  // namespace pergola

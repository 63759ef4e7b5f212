#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"

namespace pergola {

/// The planes of a periodic mesh, shared out over ranks: rank r of K has those from P r / K on. Where there are more
/// ranks than planes some have none.
class SlabPlanes {
 public:
  SlabPlanes() = default;
  SlabPlanes(const Communicator& ranks, int planes);
  int planes() const { return static_cast<int>(shares_.total); }
  int first() const { return first_; }
  int count() const { return count_; }
  const Shares& shares() const { return shares_; }
  /// Who has a plane of the mesh.
  int owner(int plane) const { return owner_[static_cast<std::size_t>(plane)]; }

 private:
  Shares shares_;
  int first_ = 0, count_ = 0;
  std::vector<int> owner_;
};

/// Planes around those of a rank, some below its first and some above its last, which other ranks have, or the same
/// one. A rank without planes wants none. All calls are made by all ranks together.
class PlanesAround {
 public:
  PlanesAround() = default;
  PlanesAround(const Communicator& ranks, const SlabPlanes& slab, int below, int above);
  int below() const { return below_; }
  int above() const { return above_; }

  /// Fills the planes around; `first` is the rank's first plane, the others stand before and after it.
  void fetch(Communicator& ranks, std::byte* first, std::size_t plane_bytes);
  /// The other way: gives planes around to those who have them. `around`: those below and then those above. Returns
  /// what arrives here, plane by plane: of that number k is for plane arriving()[k] of this rank.
  const std::byte* give(Communicator& ranks, const std::byte* around, std::size_t plane_bytes);
  const std::vector<int>& arriving() const { return owned_; }
  std::int64_t bytes(std::size_t plane_bytes) const {
    return static_cast<std::int64_t>((wanted_.size() + owned_.size()) * plane_bytes);
  }

 private:
  void make_room(std::size_t plane_bytes) {
    far_.resize(wanted_.size() * plane_bytes), near_.resize(owned_.size() * plane_bytes);
  }
  static std::vector<std::size_t> times(const std::vector<std::size_t>& counts, std::size_t bytes);

  int below_ = 0, above_ = 0;
  std::vector<int> wanted_;             // of the planes around, in the order of their owners; negative: below the first
  std::vector<int> owned_;              // planes of this rank that others want, in the order of those ranks
  std::vector<std::size_t> from_, to_;  // how many, by rank
  int own_planes_ = 0;
  std::vector<std::byte> far_, near_;  // messages with planes of others, with own ones
};

}  // namespace pergola

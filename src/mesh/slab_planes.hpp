#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/device.hpp"

namespace pergola {

class DeviceMessages;

/// The planes of a mesh, shared out over ranks in units of `unit` planes (the last unit has what is left): of U units
/// rank r of K has those from U r / K on. With more ranks than units some ranks have none. Every rank computes the same
/// cuts, without a message.
class SlabPlanes {
 public:
  SlabPlanes() = default;
  SlabPlanes(const Communicator& ranks, int planes, int unit = 1);
  int planes() const { return planes_; }
  /// Of this rank, and of any.
  int first() const { return first(rank_); }
  int count() const { return count(rank_); }
  int first(int rank) const { return std::min(planes_, unit_ * static_cast<int>(units_.first(rank))); }
  int count(int rank) const { return first(rank + 1) - first(rank); }
  /// The rank that has a plane of the mesh.
  int owner(int plane) const { return owner_[static_cast<std::size_t>(plane)]; }

 private:
  Shares units_;
  int planes_ = 0, unit_ = 1, rank_ = 0;
  std::vector<int> owner_;
};

/// Planes first … first + count − 1 of a mesh.
struct PlaneRange {
  int first = 0, count = 0;
};

/// What is beyond the first and the last plane of a mesh: the last and the first, nothing, or one plane, which the rank
/// with the first or the last plane keeps next to it.
enum class BeyondPlanes { wrap, none, one };

/// Ghost planes of a rank: some below its first plane and some above its last, which other ranks have, or the same one.
/// fetch() copies them from their owners; give() sends what was added to them to their owners. A rank without planes
/// wants none, and planes that do not exist are not wanted. All calls are made by all ranks together.
class PlanesAround {
 public:
  PlanesAround() = default;
  PlanesAround(const Communicator& ranks, const SlabPlanes& slab, int below, int above,
               BeyondPlanes beyond = BeyondPlanes::wrap);
  /// For each rank: the planes it works on, plus `above` ghost planes. They may belong to another rank's slab. Wanted
  /// are those at the places begin … end − 1, counted from the rank's first.
  PlanesAround(const Communicator& ranks, const SlabPlanes& slab, const std::vector<PlaneRange>& worked_on, int above,
               BeyondPlanes beyond, int begin, int end);
  int below() const { return below_; }
  int above() const { return above_; }

  /// Fills the ghost planes, in the memory of a device. `first` is the rank's first plane; ghosts stand before it and
  /// after its last. Waits for the device.
  void fetch(Communicator& ranks, const Device& device, std::byte* first, std::size_t plane_bytes) {
    fetch(ranks, device, first, first, plane_bytes);
  }
  /// The same where the planes of the slab, from `owned` on, are not those that are worked on.
  void fetch(Communicator& ranks, const Device& device, const std::byte* owned, std::byte* first,
             std::size_t plane_bytes);
  /// The other way, on the host: sends ghost planes to their owners. `around`: those below and then those above, or all
  /// at the places from `begin` on. Returns the received planes one after the other; the k-th is for plane
  /// arriving()[k] of this rank.
  const std::byte* give(Communicator& ranks, const std::byte* around, std::size_t plane_bytes);
  const std::vector<int>& arriving() const { return owned_; }
  /// The planes around, counted from the rank's first (or the first that it works on), in the order of their owners;
  /// how many each rank has, and how many of this rank's own ones each wants.
  const std::vector<int>& wanted() const { return wanted_; }
  const std::vector<std::size_t>& wanted_of() const { return from_; }
  const std::vector<std::size_t>& owned_for() const { return to_; }
  /// Of messages with planes of others and with own ones, and with either at most.
  std::int64_t bytes(std::size_t plane_bytes) const {
    return static_cast<std::int64_t>((wanted_.size() + owned_.size()) * plane_bytes);
  }
  std::int64_t message_bytes(std::size_t plane_bytes) const {
    return static_cast<std::int64_t>(std::max(wanted_.size(), owned_.size()) * plane_bytes);
  }

 private:
  struct Wanted {
    int place, plane;  // from the first of the rank that wants it, and of the mesh
  };
  template <class Around>
  void list(const Communicator& ranks, const SlabPlanes& slab, const Around& around);
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

/// The planes that ranks work on and their ghosts, in rounds: in one round no rank sends or receives much more than
/// `most_bytes`.
class PlanesWorkedOn {
 public:
  struct Round {
    int begin = 0, end = 0;  // places of planes, counted from the rank's first
    PlanesAround planes;
  };

  PlanesWorkedOn() = default;
  PlanesWorkedOn(const Communicator& ranks, const SlabPlanes& slab, const std::vector<PlaneRange>& worked_on, int below,
                 int above, BeyondPlanes beyond, std::size_t plane_bytes, std::int64_t most_bytes);
  std::vector<Round>& rounds() { return rounds_; }
  const std::vector<Round>& rounds() const { return rounds_; }
  /// Of planes that a rank has in a round, at most.
  int most_at_once() const { return at_once_; }
  /// PlanesAround::message_bytes() at most.
  std::int64_t message_bytes(std::size_t plane_bytes) const;

 private:
  std::vector<Round> rounds_;
  int at_once_ = 0;
};

/// Ghost planes that travel from device to device (domain/device_messages.hpp). All calls are made by all ranks
/// together. In mesh/slab_planes_cuda.cu; present where cuda_built is true.
class DevicePlanes {
 public:
  DevicePlanes(const Device& device, std::shared_ptr<Communicator> ranks);
  /// With message buffers that other parts use as well.
  explicit DevicePlanes(std::shared_ptr<DeviceMessages> messages);

  /// PlanesAround::fetch(), of several fields in one exchange.
  struct Wanted {
    const PlanesAround* around = nullptr;
    std::byte* first = nullptr;
    std::size_t plane_bytes = 0;
    const std::byte* owned = nullptr;  // the planes of the slab, if they are not those from `first` on
  };
  void fetch(const std::vector<Wanted>& fields);
  void fetch(const PlanesAround& around, std::byte* first, std::size_t plane_bytes) {
    fetch({{&around, first, plane_bytes}});
  }
  /// PlanesAround::give(), for planes that stand before and after the rank's first. The received planes are valid until
  /// the next call, for loops on the device.
  const std::byte* give(const PlanesAround& around, const std::byte* first, std::size_t plane_bytes);
  /// Gathers every rank's piece of an array, in the order of ranks, on all; the rank's own piece is at its place
  /// already.
  void gather(std::byte* all, const std::vector<std::size_t>& piece_bytes);

 private:
  void exchange(const std::byte* out, const std::vector<std::size_t>& leaving, std::byte* in,
                const std::vector<std::size_t>& coming, std::size_t plane_bytes);

  Device device_;
  std::shared_ptr<DeviceMessages> messages_;
};

}  // namespace pergola

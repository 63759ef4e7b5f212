#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "device/peer_memory.hpp"

namespace pergola {

/// Messages between ranks of values that lie on their devices. This is the only place that knows how they travel. Where
/// every rank can open the memory of every other one, as on one machine, the rooms are memory of the devices, and each
/// rank copies what it is sent from where it stands. Elsewhere MPI takes it from there, if it can. Else the
/// device's loops write into page-locked memory of the host and read from there, and any communicator takes it; with
/// PERGOLA_DEVICE_MESSAGES=host in the environment always. In domain/device_messages_cuda.cu; present where cuda_built
/// is true.
///
/// Those who exchange one after the other, with the same ranks and on the same device, share one of these: it has rooms
/// as large as the largest of what they send. What came in is there until the next exchange of any of them.
class DeviceMessages {
 public:
  /// With two rooms for what goes out ranks need not wait until all have taken what an exchange has sent them: the next
  /// one goes out from the other room. Who has two must not be destroyed before another call of all ranks.
  enum class Rooms { one, two };
  DeviceMessages(const Device& device, std::shared_ptr<Communicator> ranks, Rooms rooms = Rooms::one)
      : DeviceMessages(device, ranks, rooms, most_bytes(ranks->size())) {}
  DeviceMessages(const Device& device, std::shared_ptr<Communicator> ranks, Rooms rooms, std::int64_t most_bytes);

  const Device& device() const { return device_; }
  Communicator& ranks() const { return *ranks_; }
  std::size_t own_rank() const { return static_cast<std::size_t>(ranks_->rank()); }
  std::size_t size() const { return static_cast<std::size_t>(ranks_->size()); }

  /// What an exchange should have at most, out or in: who has more to send sends it in pieces. Where ranks are many
  /// that is so much that pieces which two of them send each other are worth a message: 2 MiB up to 64 of them.
  std::int64_t most_bytes() const { return most_bytes_; }
  static std::int64_t most_bytes(int ranks) {
    constexpr std::int64_t mebi = std::int64_t{1} << 20;
    const std::int64_t others = ranks - 1;
    return std::max({16 * mebi, others * mebi / 2, others >= 32 ? std::min(2 * others * mebi, 128 * mebi) : 0});
  }
  /// Of the device's memory, where exchanges have at most so many bytes out or in.
  std::int64_t bytes(std::int64_t most) const;

  /// Room for what goes out in the next exchange and for what comes in, which the loops of the device reach. Calls of
  /// all ranks.
  std::byte* outgoing(std::int64_t bytes);
  std::byte* incoming(std::int64_t bytes);
  /// Waits for the device, and exchanges messages that stand in either room; what comes in is there for what the device
  /// does next. A call of all ranks.
  void exchange(const std::vector<Communicator::Outgoing>& out, const std::vector<Communicator::Incoming>& in);
  /// A stretch of a room into memory of the device, and the other way.
  void unload(void* to, const void* message, std::int64_t bytes) const;
  void load(void* message, const void* from, std::int64_t bytes) const;

 private:
  enum class Way { unknown, through_host, opened, by_mpi };
  bool on_device() const { return way_ != Way::through_host; }
  /// Memory of a device that others may have open.
  struct OpenRoom {
    Buffer<std::byte> memory;
    MemoryHandle ticket;
    std::int64_t number = 0;    // of those that this rank had
    Buffer<std::byte> retired;  // others may still have it open
  };
  /// A room of another rank.
  struct OpenedRoom {
    PeerMemory memory;
    std::int64_t number = 0;
  };

  void find_way();
  bool all_reach_all() const;
  std::byte* room_on_host(SharedBuffer<std::byte>& memory, std::int64_t bytes) const;
  void take_from_devices(const std::vector<Communicator::Outgoing>& out, const std::vector<Communicator::Incoming>& in);

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  Way way_ = Way::unknown;
  SharedBuffer<std::byte> host_out_, host_in_;
  std::size_t rooms_;
  std::int64_t most_bytes_;
  std::size_t now_ = 0;  // whose turn it is
  OpenRoom out_[2];
  Buffer<std::byte> in_;
  std::unique_ptr<OpenedRoom[]> peers_;  // by rank, for each room
};

/// For several who exchange one after the other; as a function, for those who are not built with CUDA alone.
std::shared_ptr<DeviceMessages> make_device_messages(const Device& device, std::shared_ptr<Communicator> ranks);

}  // namespace pergola

#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "device/shared_buffer.hpp"

namespace pergola {

/// Messages between ranks of values that lie on their devices. This is the only place that knows how they travel: the
/// device's loops write them into page-locked memory of the host and read them from there, and any communicator takes
/// them. Were an MPI to take pointers of devices, or a rank to open the memory of another one on the same machine,
/// outgoing() and incoming() would be memory of the device, and nobody else would know.
class DeviceMessages {
 public:
  DeviceMessages(const Device& device, std::shared_ptr<Communicator> ranks)
      : device_(device), ranks_(std::move(ranks)) {}

  Communicator& ranks() const { return *ranks_; }
  std::size_t own_rank() const { return static_cast<std::size_t>(ranks_->rank()); }
  std::size_t size() const { return static_cast<std::size_t>(ranks_->size()); }

  /// Room for what goes out and for what comes in, which the loops of the device reach; it serves the next messages
  /// too.
  std::byte* outgoing(std::int64_t bytes) { return room(outgoing_, bytes); }
  std::byte* incoming(std::int64_t bytes) { return room(incoming_, bytes); }
  /// Waits for the device, and exchanges messages that stand in either room. A call of all ranks.
  void exchange(const std::vector<Communicator::Outgoing>& out, const std::vector<Communicator::Incoming>& in) const {
    device_.synchronize();
    ranks_->exchange(out, in);
  }
  /// A stretch of a room into memory of the device, and the other way.
  void unload(void* to, const void* message, std::int64_t bytes) const {
    if (bytes > 0) device_.memory().from_host(to, message, static_cast<std::size_t>(bytes));
  }
  void load(void* message, const void* from, std::int64_t bytes) const {
    if (bytes > 0) device_.memory().to_host(message, from, static_cast<std::size_t>(bytes));
  }

 private:
  std::byte* room(SharedBuffer<std::byte>& memory, std::int64_t bytes) const {
    if (memory.size() < bytes) {
      device_.synchronize();  // it may still be read
      memory = SharedBuffer<std::byte>();
      memory = SharedBuffer<std::byte>(device_, bytes + bytes / 16);  // numbers change a little from step to step
    }
    return memory.data();
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  SharedBuffer<std::byte> outgoing_, incoming_;
};

}  // namespace pergola

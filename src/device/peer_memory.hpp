#pragma once
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace pergola {

/// What another rank on the same machine needs to reach a piece of a CUDA device's memory: plain bytes, to be sent.
struct MemoryTicket {
  unsigned char handle[64] = {};  // CUDA's, for other processes
  std::uint64_t machine[2] = {};  // since it was started
  std::int64_t process = 0;
  const std::byte* data = nullptr;  // within that process
};

/// The ticket of memory that a Buffer has from its beginning on. Buffers that others open have their pages for
/// themselves: sizes are multiples of ticket_unit. In device/peer_memory_cuda.cu; present where cuda_built is true.
MemoryTicket ticket_for(const Device& device, const void* memory);
inline constexpr std::int64_t ticket_unit = std::int64_t{1} << 21;

/// Memory that a ticket leads to, until it is closed.
class PeerMemory {
 public:
  PeerMemory() = default;
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory() { close(); }

  /// False where it cannot be reached: on another machine, or from a device that is no neighbour.
  bool open(const Device& device, const MemoryTicket& ticket);
  void close() noexcept;
  const std::byte* data() const { return data_; }

 private:
  const std::byte* data_ = nullptr;
  void* mapped_ = nullptr;  // null where it is memory of this process
};

}  // namespace pergola

#pragma once
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace pergola {

/// A handle by which another rank on the same machine opens memory of a CUDA device. Plain bytes, sent as a message.
struct MemoryHandle {
  unsigned char handle[64] = {};  // CUDA's handle for other processes
  std::uint64_t machine[2] = {};  // identifies the machine since its start
  std::int64_t process = 0;
  const std::byte* data = nullptr;  // address within that process
};

/// The ticket of the memory of a Buffer, from its beginning. The size of such a buffer is a multiple of ticket_unit, so
/// that no other buffer shares its pages. In device/peer_memory_cuda.cu; present where cuda_built is true.
MemoryHandle ticket_for(const Device& device, const void* memory);
inline constexpr std::int64_t ticket_unit = std::int64_t{1} << 21;

/// Memory opened by a ticket, until close().
class PeerMemory {
 public:
  PeerMemory() = default;
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory() { close(); }

  /// False if it cannot be opened: it is on another machine, or on a GPU that this one cannot access.
  bool open(const Device& device, const MemoryHandle& ticket);
  void close() noexcept;
  const std::byte* data() const { return data_; }

 private:
  const std::byte* data_ = nullptr;
  void* mapped_ = nullptr;  // null if it is memory of this process
};

}  // namespace pergola

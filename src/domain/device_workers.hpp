#pragma once
#include <cstdint>

#include "device/arena.hpp"
#include "domain/device_routing.hpp"

namespace pergola {

/// By particle that is kept here: the rank that works on it, and its number there.
struct WorkersOf {
  const std::uint32_t *rank = nullptr, *number = nullptr;
};

/// Finds that for a way, when it is first asked for. In domain/device_workers_cuda.cu; present where cuda_built is
/// true.
class Workers {
 public:
  Workers(const Device& device, int own_rank) : device_(device), own_rank_(static_cast<std::uint32_t>(own_rank)) {}

  /// There is another way.
  void forget() { known_ = false; }
  /// All ranks call it.
  WorkersOf of(DeviceRouting& way);
  /// Where n particles are kept, and as many worked on.
  std::int64_t bytes(std::int64_t n) const {
    Arena count;
    room(*this, count, n, n);
    return count.bytes();
  }

 private:
  template <class Self>
  static void room(Self& self, Arena& arena, std::int64_t kept, std::int64_t own) {
    arena.room(self.rank_, kept, kept / 16), arena.room(self.number_, kept, kept / 16);
    arena.room(self.own_ranks_, own, own / 16), arena.room(self.own_numbers_, own, own / 16);
  }

  Device device_;
  std::uint32_t own_rank_;
  bool known_ = false;
  Buffer<std::uint32_t> rank_, number_, own_ranks_, own_numbers_;
};

}  // namespace pergola

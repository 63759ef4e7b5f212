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
  /// All ranks call it. `lent`: memory for two numbers of each particle that is worked on here, in place of its own.
  WorkersOf of(DeviceRouting& way, std::uint32_t* borrowed = nullptr);
  /// Where n particles are kept, and as many worked on.
  std::int64_t bytes(std::int64_t n) const {
    Arena count;
    room_for_kept(*this, count, n);
    room_for_own(*this, count, n);
    return count.bytes();
  }
  /// Of these, where memory is lent.
  std::int64_t kept_bytes(std::int64_t n) const {
    Arena count;
    room_for_kept(*this, count, n);
    return count.bytes();
  }

 private:
  template <class Self>
  static void room_for_kept(Self& self, Arena& arena, std::int64_t kept) {
    arena.room(self.rank_, kept, kept / 16), arena.room(self.number_, kept, kept / 16);
  }
  template <class Self>
  static void room_for_own(Self& self, Arena& arena, std::int64_t own) {
    arena.room(self.own_, 2 * own, own / 8);
  }

  Device device_;
  std::uint32_t own_rank_;
  bool known_ = false;
  Buffer<std::uint32_t> rank_, number_, own_;
};

}  // namespace pergola

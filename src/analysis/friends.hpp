#pragma once
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "device/device.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Groups of particles of which each is within `length` of another member: friends of friends. Davis et al. 1985, ApJ
/// 292, 371. In a periodic box by the nearest images.
struct FriendGroups {
  /// Members of each group as places in the particle arrays, by rising id; groups of fewer than `least` are left out.
  /// The largest group is first; of groups of one size that with the lowest id.
  std::vector<std::vector<std::size_t>> groups;
};

/// The same for any order of the particles, any number of threads and on either device. `length` is at most a quarter
/// of a periodic box. Throws Error(input) for one that is not.
PERGOLA_API FriendGroups friends_of_friends(const Particles& particles, const Box& box, double length,
                                            std::int64_t least, const Device& device);

}  // namespace pergola

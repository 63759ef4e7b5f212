#pragma once
#include <cstdint>
#include <vector>

#include "device/device.hpp"

namespace pergola {

/// A member of a group, about the first of it.
struct PlacedMember {
  float x, y, z, mass;
};

/// Groups one after the other: group g has the members from begin[g] to begin[g + 1].
struct PlacedGroups {
  std::vector<PlacedMember> members;
  std::vector<std::int64_t> begin;
  std::vector<float> softening2;  // ε² of each group
};

/// Of each member −φ/G in the field of the others of its group, by pairs in single precision: good to 1e-5. Where
/// cuda_built is true.
std::vector<float> group_depths_cuda(const Device& device, const PlacedGroups& groups);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis_input.hpp"
#include "analysis/friends.hpp"
#include "base/vec.hpp"
#include "device/device.hpp"

namespace pergola {

/// What a group is like.
struct GroupProperties {
  std::int64_t particles = 0;
  double mass = 0;
  Vec3<double> center{};        // the member with the lowest potential in the field of the members
  Vec3<double> velocity{};      // mean, weighted with mass
  double dispersion = 0;        // of one component
  double m200m = 0, r200m = 0;  // not a number where there is no mean density
  double m200c = 0, r200c = 0;  // nor where the part of matter in the critical density is not known
};

/// The sphere about a place in which the mean density of all particles falls to `density`: mass and radius.
struct Overdensity {
  double mass = 0, radius = 0;
};

/// Properties of groups, in their order. M200m and M200c are spherical overdensities of all particles about the centre,
/// 200 times the mean and the critical density.
std::vector<GroupProperties> group_properties(const AnalysisSnapshot& snapshot, const FriendGroups& groups,
                                              const Device& device);

}  // namespace pergola

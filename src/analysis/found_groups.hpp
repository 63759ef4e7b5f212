#pragma once
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friends.hpp"

namespace pergola {

/// The linking length of the options: in mean spacings of so many particles in a periodic box, or as it was given.
/// Throws Error(input) where neither can be had.
double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles);

/// Friends of friends of the chosen particles with it.
struct FoundGroups {
  double length = 0;
  FriendGroups friends;
};
FoundGroups find_groups(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device);

/// --linking, --linking-length, --least.
std::vector<Key<AnalysisOptions>> group_keys();

}  // namespace pergola

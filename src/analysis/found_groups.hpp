#pragma once
#include <memory>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friends.hpp"
#include "analysis/group_properties.hpp"

namespace pergola {

/// The linking length of the options: in mean spacings of so many particles in a periodic box, or as it was given.
/// Throws Error(input) where neither can be had.
double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles);

class GroupsOnGpu;

/// Friends of friends of the chosen particles of a snapshot with that length, as SpreadGroups finds them among ranks.
/// Numbers of groups are those of friends_of_friends(), from 0. On a GPU members do not leave it.
class FoundGroups {
 public:
  /// `chosen` outlives it.
  FoundGroups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device);
  ~FoundGroups();

  double length() const { return length_; }
  std::int64_t count() const;
  /// Of all groups.
  std::vector<double> masses() const;
  /// Of the groups first … first + count − 1; `all`: group_properties().
  std::vector<GroupProperties> properties(const AnalysisSnapshot& all, std::int64_t first, std::int64_t count) const;

 private:
  const AnalysisSnapshot& chosen_;
  Device device_;
  double length_ = 0;
  std::unique_ptr<GroupsOnGpu> on_gpu_;  // or else
  FriendGroups friends_;
};

/// --linking, --linking-length, --least.
std::vector<Key<AnalysisOptions>> group_keys();

}  // namespace pergola

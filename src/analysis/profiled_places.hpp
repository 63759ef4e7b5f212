#pragma once
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/group_properties.hpp"

namespace pergola {

/// Something that has a profile: the whole system about its centre, or a group.
struct ProfiledPlace {
  SystemCenter center;
  SeenFromCenter seen;     // of the chosen particles
  double high = 0;         // where shells end unless it is asked for; 0: found from what is seen
  std::int64_t group = 0;  // as `groups` numbers them; 0: none
  double r200c = 0;        // not a number where it is not known
  double m200c = 0;
};

/// What the options ask for: one group, the largest groups, or the centre; in a periodic box without any of these the
/// largest group. Throws Error(input) for a group that is not there.
std::vector<ProfiledPlace> profiled_places(const ChosenParticles& particles, const AnalysisOptions& options,
                                           const Device& device);

/// --group, --groups and those of the groups themselves.
std::vector<Key<AnalysisOptions>> profiled_group_keys();

}  // namespace pergola

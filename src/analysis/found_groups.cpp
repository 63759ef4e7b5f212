#include "analysis/found_groups.hpp"

#include <fmt/core.h>

#include <cmath>

#include "base/error.hpp"

namespace pergola {

double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles) {
  if (options.linking_length > 0) return options.linking_length;
  if (!snapshot.box.periodic())
    throw Error(ErrorKind::input, fmt::format("{}: is not a periodic box, so its particles have no mean spacing; "
                                              "expected --linking-length above 0",
                                              snapshot.name));
  return options.linking * std::cbrt(snapshot.box.volume() / static_cast<double>(particles));
}

FoundGroups find_groups(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device) {
  FoundGroups found;
  found.length = linking_length(snapshot, options, snapshot.particles.size());
  found.friends = friends_of_friends(snapshot.particles, snapshot.box, found.length, options.least, device);
  return found;
}

std::vector<Key<AnalysisOptions>> group_keys() {
  return {real_option<AnalysisOptions>(
              "linking", "linking length in mean spacings of a periodic box", Range::between(1e-6, 10),
              [](auto& options) -> auto& { return options.linking; }),
          real_option<AnalysisOptions>(
              "linking-length", "the same in the unit of the file; 0: from --linking", Range::at_least(0),
              [](auto& options) -> auto& { return options.linking_length; }),
          integer_option<AnalysisOptions>(
              "least", "particles of the smallest group", Range::between(1, 1e12),
              [](auto& options) -> auto& { return options.least; })};
}

}  // namespace pergola

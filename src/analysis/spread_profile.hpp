#pragma once
#include <cstdint>
#include <memory>

#include "analysis/profiled_places.hpp"
#include "comm/communicator.hpp"

namespace pergola {

/// The profile of a system about its centre by all ranks, each of which has the next particles in the order of the
/// input. They are sorted by distance over the ranks, the nearest to rank 0, and sums go from rank to rank: the bits
/// are those of one that has all. All ranks call it and get the same.
PlaceProfile profile_of_spread_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                      const AnalysisOptions& options, std::int64_t bins, const Device& device);

}  // namespace pergola

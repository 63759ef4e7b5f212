#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis_input.hpp"
#include "device/device.hpp"

namespace pergola {

/// Groups of more find their potentials by the tree with all threads; smaller ones by pairs, one thread each.
inline constexpr std::int64_t most_for_pairs_in_group = 4096;
/// A softening of a hundredth of the group's size keeps one close pair from being the centre.
inline constexpr double softening_in_sizes = 0.01;

/// The member with the lowest potential of the others, the first of equal ones. Where potentials are known roughly, the
/// few that may be it are summed by pairs: it does not matter how the others were found.
std::size_t deepest_member(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                           const Device& device);

}  // namespace pergola

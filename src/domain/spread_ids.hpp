#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Throws Error(input) on all ranks, in the words of ParticleCheck, where an id occurs twice among those of all ranks.
/// All ranks call it.
PERGOLA_API void check_distributed_ids(Communicator& ranks, const std::string& where,
                                       const std::vector<std::uint64_t>& own);

}  // namespace pergola

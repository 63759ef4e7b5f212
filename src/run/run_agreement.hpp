#pragma once
#include <vector>

#include "comm/agreement.hpp"
#include "config/config.hpp"

namespace pergola {

/// What must be the same on all ranks of a run: every key of the configuration but run.threads and the number of the
/// device.
std::vector<Fact> configuration_facts(RunConfig config);

/// The program itself: version, commit and the instruction set that it computes with.
PERGOLA_API std::vector<Fact> program_facts();

}  // namespace pergola

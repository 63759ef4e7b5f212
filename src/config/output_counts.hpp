#pragma once
#include "config/config.hpp"

namespace pergola {

/// Throws Error(input) where an interval means more than 10^9 outputs between `start` and the end of the run.
void check_output_counts(const RunConfig& config, double start);

}  // namespace pergola

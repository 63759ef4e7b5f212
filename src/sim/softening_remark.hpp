#pragma once
#include <string>

#include "config/config.hpp"

namespace pergola {

/// gravity.softening has one default, whatever the units and the particles are. Where these have units, or where other
/// species have been given their own, it is hardly meant: what to say then, with what suits the model; empty: nothing.
std::string default_softening_remark(const RunConfig& config);

}  // namespace pergola

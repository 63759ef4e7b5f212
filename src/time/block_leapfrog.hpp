#pragma once
#include "time/integrator.hpp"

namespace pergola {

/// Kick-drift-kick leapfrog with a step for each particle, step_max / 2^level: all drift together, and those whose step
/// ends are kicked. Springel 2005, section 4; formulas in physics/leapfrog.hpp and physics/block_steps.hpp.
std::unique_ptr<Integrator> make_block_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                                const IntegratorContext& context);

}  // namespace pergola

#pragma once
#include "time/integrator.hpp"

namespace pergola {

/// Kick-drift-kick leapfrog with a shared step, fixed or chosen anew each time, on any device. Springel 2005, section
/// 4.1; formulas in physics/leapfrog.hpp.
std::unique_ptr<Integrator> make_leapfrog(const TimeOptions& time, const SolverOptions& gravity,
                                          const IntegratorContext& context);

}  // namespace pergola

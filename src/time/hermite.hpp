#pragma once
#include "time/integrator.hpp"

namespace pergola {

/// 4th-order Hermite with individual block steps. Makino & Aarseth 1992; formulas in physics/hermite.hpp.
std::unique_ptr<Integrator> make_hermite_cpu(const TimeOptions& time, const SolverOptions& gravity,
                                             const IntegratorContext& context);
/// The same with the whole state and the choice of the next block on the GPU.
std::unique_ptr<Integrator> make_hermite_cuda(const TimeOptions& time, const SolverOptions& gravity,
                                              const IntegratorContext& context);

}  // namespace pergola

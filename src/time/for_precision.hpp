#pragma once
#include <memory>

#include "time/integrator.hpp"

namespace pergola {

/// The instance of an integrator whose state has the numbers of the precision of the options.
template <template <class Real> class IntegratorOf>
std::unique_ptr<Integrator> make_for_precision(const TimeOptions& time, const SolverOptions& gravity,
                                               const IntegratorContext& context) {
  if (gravity.precision == Precision::single) return std::make_unique<IntegratorOf<float>>(time, gravity, context);
  return std::make_unique<IntegratorOf<double>>(time, gravity, context);
}

}  // namespace pergola

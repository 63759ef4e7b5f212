#pragma once
#include <memory>

#include "gravity/solver.hpp"

namespace pergola {

/// Calls the user's forces of the options after `inner` has answered. No jerk, and no sources that are to be predicted.
template <class Real>
std::unique_ptr<Solver<Real>> add_user_forces(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                              const Device& device);

}  // namespace pergola

#pragma once
#include <memory>

#include "comm/communicator.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// The direct sum over particles that are spread over ranks (comm/shares.hpp), on the CPU: the answers of one rank, bit
/// for bit. No nearest neighbours.
template <class Real>
std::unique_ptr<Solver<Real>> make_spread_direct(const SolverOptions& options, const Device& device,
                                                 std::shared_ptr<Communicator> ranks);

}  // namespace pergola

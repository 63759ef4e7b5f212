#pragma once
#include <memory>
#include <utility>

#include "comm/communicator.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// Between GPUs: how many sources travel at once, enough to fill one and few for its memory, and how many bytes take as
/// long as an exchange of messages by itself.
struct TravelLimits {
  std::int64_t sources_at_once = std::int64_t{1} << 17;
  std::int64_t bytes_of_an_exchange = std::int64_t{1} << 20;
};
/// What the direct sum can do where particles are spread over ranks: no nearest neighbours.
const SolverInfo& distributed_direct_info();
Error no_nearest_of_distributed();

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_direct_cpu(const SolverOptions& options, const Device& device,
                                                          std::shared_ptr<Communicator> ranks);
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_direct_cuda(const SolverOptions& options, const Device& device,
                                                           std::shared_ptr<Communicator> ranks,
                                                           TravelLimits limits = {});

/// With double precision, beside such a solver of a run, by whose rooms for messages its values travel; null beside any
/// other.
std::unique_ptr<Solver<double>> make_distributed_direct_cuda_beside(AnySolver& run, const SolverOptions& options,
                                                                    const Device& device,
                                                                    std::shared_ptr<Communicator> ranks);

/// The direct sum over particles distributed over ranks (comm/shares.hpp): the answers of one rank, bit for bit.
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_direct(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_distributed_direct_cuda<Real>(options, device, std::move(ranks));
  }
  return make_distributed_direct_cpu<Real>(options, device, std::move(ranks));
}

}  // namespace pergola

#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// A force evaluation that all ranks share: particles are replicated, rank r of K answers the targets n r / K … n (r +
/// 1) / K − 1 of n, and all ranks get all answers. The same bits as on one rank.
template <class Real>
class SharedEvaluation {
 public:
  SharedEvaluation(const Device& device, std::shared_ptr<Communicator> communicator)
      : device_(device), communicator_(std::move(communicator)) {}

  /// `index`: the targets' places on the device; null: all n of them. `forces` has room for n targets. Throws the same
  /// CoincidentParticles on all ranks.
  void evaluate(Solver<Real>& solver, const std::int64_t* index, std::int64_t n, unsigned want,
                const Forces<Real>& forces);

 private:
  void gather(std::int64_t n, const std::vector<Real*>& fields, const CoincidentParticles* own_collision);

  Device device_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<std::byte> message_;
};

}  // namespace pergola

#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/failure.hpp"
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

  /// Makes the solver ready for evaluate(). On several ranks what `action` throws waits for it, where all ranks learn
  /// of it.
  template <class Action>
  void prepare(const Action& action) {
    if (communicator_->size() == 1) return action();
    try {
      action();
    } catch (...) {
      failure_ = current_failure();
    }
  }

  /// `index`: the targets' places on the device; null: all n of them. `forces` has room for n targets. What one rank
  /// throws ends the evaluation on all: the rank throws it, the others CoincidentParticles where it was that, else an
  /// Error of the same kind and words; of several ranks that fail the first one's.
  void evaluate(Solver<Real>& solver, const std::int64_t* index, std::int64_t n, unsigned want,
                const Forces<Real>& forces);

 private:
  void gather(std::int64_t n, const std::vector<Real*>& fields);

  Device device_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<std::byte> message_;
  Failure failure_;  // of this rank, not yet shared
};

}  // namespace pergola

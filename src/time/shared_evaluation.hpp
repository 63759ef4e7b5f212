#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// A force evaluation that all ranks share.
///
/// If every rank has all particles, each finds the forces on its share of the targets (comm/shares.hpp), and one
/// message brings all of them to all ranks. If particles are distributed, the solver does what ranks do together, and a
/// rank has the forces on its own particles. Always: the bits of one rank; and what one rank throws ends the evaluation
/// on all ranks, with the same error.
template <class Real>
class SharedEvaluation {
 public:
  SharedEvaluation(const Device& device, std::shared_ptr<Communicator> communicator, bool spread = false)
      : device_(device), communicator_(std::move(communicator)), by_itself_(spread || communicator_->size() == 1) {}

  /// Makes the solver ready for evaluate(). On several ranks what `action` throws waits for it, where all ranks learn
  /// of it.
  template <class Action>
  void prepare(const Action& action) {
    if (by_itself_) return action();
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
  bool by_itself_;  // this rank answers all targets that it is asked for
  std::vector<std::byte> message_;
  Failure failure_;  // of this rank, not yet shared
};

}  // namespace pergola

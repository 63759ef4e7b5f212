#pragma once
#include <cstdint>

#include "base/state_source.hpp"

namespace pergola {

/// What solvers of spread particles are that save what update() builds on in shares, so that no rank has all of it:
/// AnySolver::save() and restore(), in pieces. All ranks make all calls.
class DistributedSolverState {
 public:
  virtual ~DistributedSolverState() = default;
  virtual void save(StateSource& to) = 0;
  /// `count`: of all ranks.
  virtual bool restore(StateInput& from, std::int64_t count) = 0;
};

}  // namespace pergola

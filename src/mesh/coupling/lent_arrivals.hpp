#pragma once
#include "device/lent_memory.hpp"

namespace pergola {

/// What a mesh of ranks on GPUs is, and its exchange with particles: these arrive from other ranks, from a deposit to
/// the last look at its particles, in memory of its own, or in what somebody lends.
class LentArrivals {
 public:
  virtual ~LentArrivals() = default;
  virtual void lend_arrivals(const LentMemory& memory) = 0;
};

}  // namespace pergola

#pragma once
#include "device/arena.hpp"

namespace pergola {

/// What a mesh of ranks on GPUs is, and its exchange with particles: these arrive from other ranks, from a deposit to
/// the last look at its particles, in memory of its own, or in what somebody lends, and for as long a number of each
/// that is kept here says in which order they went.
class LentArrivals {
 public:
  virtual ~LentArrivals() = default;
  virtual void lend_arrivals(const LentMemory& arrivals, const LentMemory& way) = 0;
};

}  // namespace pergola

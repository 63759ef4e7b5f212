#pragma once
#include <cstdint>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// mass_quantum() of the same particles again and again. To find it the masses of all ranks are added up in order;
/// where all are the same, as many and as large as the last time, it is the same too. All ranks call it.
template <class Real>
class KnownQuantum {
 public:
  double of(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks);

 private:
  double mass_ = 0, quantum_ = 0;
  std::int64_t count_ = -1;  // of all ranks, all with this mass; -1: nothing is known
};

}  // namespace pergola

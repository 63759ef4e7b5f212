#pragma once
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// Messages between the memories of devices by NCCL, for ranks on several machines that each have a device of their
/// own. Its library is opened when it is asked for, so that the program starts where it is missing. In
/// domain/nccl_ranks_cuda.cu; present where cuda_built is true.
class NcclRanks {
 public:
  virtual ~NcclRanks() = default;
  /// Exchanges messages that stand in memory of the devices, and waits for them. A call of all ranks.
  virtual void exchange(const std::vector<Communicator::Outgoing>& out,
                        const std::vector<Communicator::Incoming>& in) = 0;
};

/// Whether this machine has its library.
bool nccl_is_there();

/// Null on all ranks where one has no such library, or where two share a device, which NCCL refuses. A call of all
/// ranks.
std::unique_ptr<NcclRanks> open_nccl_ranks(const Device& device, Communicator& ranks);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"

namespace pergola {

/// The value that all particles of all ranks have, of those that lie on CUDA devices. In domain/common_value_cuda.cu;
/// present where cuda_built is true.
template <class Real>
class CommonValue {
 public:
  CommonValue(const Device& device, std::shared_ptr<Communicator> ranks) : device_(device), ranks_(std::move(ranks)) {}
  /// None where they differ, or there are no particles. All ranks call it; waits for the device.
  std::optional<Real> of(const Real* values, std::int64_t count);

 private:
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  Buffer<std::uint32_t> differ_;
};

/// Does not wait.
template <class Real>
void fill_cuda(const Device& device, Real value, std::int64_t count, Real* values);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <optional>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"

namespace pergola {

/// The value that all particles of all ranks have, of those that lie on CUDA devices; none where they differ, or there
/// are no particles. All ranks call it; waits for the device. In domain/common_value_cuda.cu; present where cuda_built
/// is true.
template <class Real>
std::optional<Real> common_value(const Device& device, Communicator& ranks, const Real* values, std::int64_t count);
/// Does not wait.
template <class Real>
void fill_cuda(const Device& device, Real value, std::int64_t count, Real* values);

}  // namespace pergola

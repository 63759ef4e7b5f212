#pragma once
// CUDA only: checked calls and wrapped launches.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "device/device.hpp"

namespace pergola::cuda {

inline cudaStream_t handle(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

/// Throws Error(device) that names the call when it failed.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorKind::device, std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
}

template <class Body>
__global__ void each_index(std::int64_t count, Body body) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) body(i);
}

/// Runs body(i) for i = 0 … count−1 on the stream. Does nothing for count = 0. Does not wait.
template <class Body>
void launch(const char* name, std::int64_t count, Stream stream, const Body& body) {
  if (count <= 0) return;
  constexpr int threads = 256;
  const std::int64_t blocks = (count + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(blocks < (1 << 20) ? blocks : (1 << 20));
  each_index<<<grid, threads, 0, handle(stream)>>>(count, body);
  check(cudaGetLastError(), name);
}

}  // namespace pergola::cuda

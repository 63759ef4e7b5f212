#pragma once
// CUDA only: sums over fixed chunks, device/chunk_sums.hpp.
#include "device/buffer.hpp"
#include "device/chunk_sums.hpp"
#include "device/launch.cuh"

namespace pergola::cuda {

inline constexpr int sum_threads = 256;

/// Adds up the sums of a block's threads in a fixed order, first of a warp, then of the warps, and calls
/// take(k, total of the k-th number).
template <int count, class Take>
__device__ void add_threads(Terms<count> sum, const Take& take) {
  constexpr int warps = sum_threads / 32;
  __shared__ double of_warp[warps][count];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    for (int apart = 16; apart > 0; apart /= 2) sum.value[k] += __shfl_xor_sync(0xffffffffu, sum.value[k], apart);
    if (lane == 0) of_warp[warp][k] = sum.value[k];
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= count) return;
  double all = 0;
  for (int w = 0; w < warps; ++w) all += of_warp[w][threadIdx.x];
  take(static_cast<int>(threadIdx.x), all);
}

/// One block per chunk: each thread adds every 256th number, then the threads are added up.
template <class Body>
__global__ void __launch_bounds__(sum_threads) sum_chunks(std::int64_t n, Body body, Terms<Body::count>* parts) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * sum_chunk;
  const std::int64_t end = begin + sum_chunk < n ? begin + sum_chunk : n;
  Terms<Body::count> sum;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += sum_threads) {
    const Terms<Body::count> one = body(i);
#pragma unroll
    for (int k = 0; k < Body::count; ++k) sum.value[k] += one.value[k];
  }
  add_threads(sum, [parts](int k, double all) { parts[blockIdx.x].value[k] = all; });
}

/// The sums of body(i) for i = 0 … n − 1, chunk by chunk. Waits.
template <class Body>
std::vector<Terms<Body::count>> chunk_sums(const char* name, const Device& device, std::int64_t n, const Body& body) {
  const std::int64_t chunks = (n + sum_chunk - 1) / sum_chunk;
  if (chunks == 0) return {};
  device.make_current();
  Buffer<Terms<Body::count>> parts(device, chunks);
  sum_chunks<<<static_cast<unsigned>(chunks), sum_threads, 0, handle(device.stream())>>>(n, body, parts.data());
  check(cudaGetLastError(), name);
  return parts.to_host();
}

/// Adds all chunks to `total`. Waits.
template <class Body>
void add_chunks(const char* name, const Device& device, std::int64_t n, const Body& body, Terms<Body::count>& total) {
  add_parts(chunk_sums(name, device, n, body), total);
}

}  // namespace pergola::cuda

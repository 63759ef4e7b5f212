#pragma once
// CUDA only: exact sums, device/exact_terms.hpp, and sums of a block's threads.
#include "device/buffer.hpp"
#include "device/exact_terms.hpp"
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

/// A block's part of an exact sum (base/exact_sum.hpp). A thread keeps the limbs of its last number in registers.
class BlockExactSum {
 public:
  using Limb = unsigned long long;  // of atomicAdd; two's complement

  /// `limbs`: ExactSum::limbs of them in shared memory. All threads call it, and wait before they add.
  __device__ void begin(Limb* limbs) {
    limbs_ = limbs;
    for (auto k = threadIdx.x; k < ExactSum::limbs; k += blockDim.x) limbs_[k] = 0;
  }
  __device__ void add(double number) {
    const ExactSum::Part part = ExactSum::part(number);
    if (part.first != sum_.first) flush(), sum_.first = part.first;
    for (int k = 0; k < 3; ++k) sum_.value[k] += part.value[k];
  }
  __device__ void flush() {
    for (int k = 0; k < 3; ++k) {
      if (sum_.value[k] != 0) atomicAdd(&limbs_[sum_.first + k], static_cast<Limb>(sum_.value[k]));
      sum_.value[k] = 0;
    }
  }
  /// After all threads have flushed. Whole numbers: the order of the atomics does not matter. With one carry no limb of
  /// the sum overflows.
  __device__ void add_to(Limb* total) const {
    for (auto k = threadIdx.x; k + 1 < ExactSum::limbs; k += blockDim.x) {
      const auto limb = static_cast<long long>(limbs_[k]);
      if (limb == 0) continue;
      atomicAdd(&total[k], static_cast<Limb>(limb & 0xffffffffLL));
      atomicAdd(&total[k + 1], static_cast<Limb>(limb >> 32));
    }
  }

 private:
  Limb* limbs_ = nullptr;
  ExactSum::Part sum_{0, {0, 0, 0}};
};

/// What a GPU has summed; the bits of `not_finite` name terms that were not finite.
template <int count>
struct SummedTerms {
  BlockExactSum::Limb limb[count][ExactSum::limbs];
  BlockExactSum::Limb not_finite;
};

template <class Body>
__global__ void __launch_bounds__(sum_threads) sum_exactly(std::int64_t n, Body body, SummedTerms<Body::count>* total) {
  __shared__ BlockExactSum::Limb limbs[Body::count][ExactSum::limbs];
  BlockExactSum sums[Body::count];
#pragma unroll
  for (int k = 0; k < Body::count; ++k) sums[k].begin(limbs[k]);
  __syncthreads();
  BlockExactSum::Limb not_finite = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * sum_threads) {
    const Terms<Body::count> one = body(i);
#pragma unroll
    for (int k = 0; k < Body::count; ++k) {
      if (isfinite(one.value[k]))
        sums[k].add(one.value[k]);
      else
        not_finite |= 1ULL << k;
    }
  }
#pragma unroll
  for (int k = 0; k < Body::count; ++k) sums[k].flush();
  if (not_finite != 0) atomicOr(&total->not_finite, not_finite);
  __syncthreads();
  for (int k = 0; k < Body::count; ++k) sums[k].add_to(total->limb[k]);
}

/// Adds body(i) for i = 0 … n − 1. Waits.
template <class Body>
void add_exactly(const char* name, const Device& device, std::int64_t n, const Body& body,
                 ExactTerms<Body::count>& total) {
  if (n == 0) return;
  constexpr std::int64_t most_blocks = 1024;
  device.make_current();
  Buffer<SummedTerms<Body::count>> summed(device, 1);
  summed.zero();
  const std::int64_t blocks = (n + sum_threads - 1) / sum_threads;
  sum_exactly<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), sum_threads, 0,
                handle(device.stream())>>>(n, body, summed.data());
  check(cudaGetLastError(), name);
  const SummedTerms<Body::count> of_device = summed.to_host()[0];
  ExactSum::Limbs limbs[Body::count];
  for (int k = 0; k < Body::count; ++k)
    for (int limb = 0; limb < ExactSum::limbs; ++limb)
      limbs[k][limb] = static_cast<std::int64_t>(of_device.limb[k][limb]);
  total.add(limbs, of_device.not_finite);
}

}  // namespace pergola::cuda

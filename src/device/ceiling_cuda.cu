#include "device/buffer.hpp"
#include "device/ceiling.hpp"
#include "device/launch.cuh"

namespace pergola {

namespace {

constexpr int chains = 16;  // independent sums per thread, enough to hide the latency of an instruction

template <class T>
__global__ void fma_loop(T* out, T a, T b, int turns) {
  T value[chains];
#pragma unroll
  for (int k = 0; k < chains; ++k) value[k] = static_cast<T>(threadIdx.x + k);
  for (int i = 0; i < turns; ++i)
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int k = 0; k < chains; ++k) value[k] = value[k] * a + b;
  T sum = 0;
#pragma unroll
  for (int k = 0; k < chains; ++k) sum += value[k];
  if (sum == T(-1)) *out = sum;  // never, but the compiler cannot know
}

template <class T>
double measure(const Device& device) {
  Buffer<T> out(device, 1);
  int multiprocessors = 0;
  cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()),
              "multiprocessor count");
  const int blocks = 4 * multiprocessors, threads = 128, turns = 20000;
  const auto stream = cuda::handle(device.stream());
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda::check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda::check(cudaEventCreate(&end), "cudaEventCreate");
  float best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    cuda::check(cudaEventRecord(begin, stream), "cudaEventRecord");
    fma_loop<T><<<blocks, threads, 0, stream>>>(out.data(), T(0.999), T(0.001), turns);
    cuda::check(cudaGetLastError(), "fma loop");
    cuda::check(cudaEventRecord(end, stream), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (repeat > 0 && (best == 0 || milliseconds < best)) best = milliseconds;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 8.0 * chains * turns * blocks * threads / (1e-3 * static_cast<double>(best));
}

}  // namespace

double fma_rate_cuda(const Device& device, bool double_precision) {
  return double_precision ? measure<double>(device) : measure<float>(device);
}

}  // namespace pergola

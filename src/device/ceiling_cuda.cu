#include "device/buffer.hpp"
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

/// Seconds of the shortest of a few runs of what `once` queues; the first run warms up.
template <class Once>
double shortest(const Device& device, const Once& once) {
  DeviceMemory& memory = device.memory();
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const Event begin = memory.record_event();
    once(cuda::handle(device.stream()));
    const Event end = memory.record_event();
    const double seconds = memory.seconds_between(begin, end);
    memory.release(begin), memory.release(end);
    if (repeat > 0 && (best == 0 || seconds < best)) best = seconds;
  }
  return best;
}

template <class T>
double fma_rate_of(const Device& device) {
  Buffer<T> out(device, 1);
  int multiprocessors = 0;
  cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()),
              "multiprocessor count");
  const int blocks = 4 * multiprocessors, threads = 128, turns = 20000;
  const double seconds = shortest(device, [&](cudaStream_t stream) {
    fma_loop<T><<<blocks, threads, 0, stream>>>(out.data(), T(0.999), T(0.001), turns);
    cuda::check(cudaGetLastError(), "fma loop");
  });
  return 8.0 * chains * turns * blocks * threads / seconds;
}

}  // namespace

double fma_rate_cuda(const Device& device, bool double_precision) {
  device.make_current();
  return double_precision ? fma_rate_of<double>(device) : fma_rate_of<float>(device);
}

double copy_rate_cuda(const Device& device) {
  constexpr std::int64_t bytes = std::int64_t{1} << 30;  // far beyond the cache
  device.make_current();
  Buffer<std::byte> from(device, bytes), to(device, bytes);
  from.zero();
  const double seconds = shortest(device, [&](cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "copy loop");
  });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

}  // namespace pergola

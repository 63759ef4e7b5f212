// The textbook tile kernel, for `pergola paper bertinelli` only.
// It measures how block size and unrolling matter, without the means of gravity/direct_kernel.cuh. Units are of no
// concern: random bodies of total mass 1 in a cube of side 1, softening 1/256.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/stopwatch.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "gravity/tile_kernel.hpp"
#include "physics/pair.hpp"
#include "physics/separation.hpp"

namespace pergola {

namespace {

constexpr float epsilon_squared = 1.0f / 65536;

/// One thread per target; the block brings a tile of as many sources into shared memory, and every thread goes through
/// it.
template <int unroll>
__global__ void sum_tiles(const float4* bodies, float4* accelerations, int n) {
  extern __shared__ float4 tile[];
  const int target = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float4 mine = bodies[target];
  physics::PairSum<float> sum{};
  for (int begin = 0; begin < n; begin += static_cast<int>(blockDim.x)) {
    tile[threadIdx.x] = bodies[begin + static_cast<int>(threadIdx.x)];
    __syncthreads();
#pragma unroll unroll
    for (int j = 0; j < static_cast<int>(blockDim.x); ++j) {
      const float4 source = tile[j];
      const Vec3<float> d = physics::separation<float>({mine.x, mine.y, mine.z}, {source.x, source.y, source.z});
      physics::add_pair<false, false>(d, Vec3<float>{}, source.w,
                                      physics::rsqrt(physics::softened_square(d, epsilon_squared)), sum);
    }
    __syncthreads();
  }
  accelerations[target] = {sum.ax, sum.ay, sum.az, 0.0f};
}

using Kernel = void (*)(const float4*, float4*, int);

/// The instance with this unrolling.
Kernel kernel_for(int unroll) {
  switch (unroll) {
    case 1:
      return sum_tiles<1>;
    case 2:
      return sum_tiles<2>;
    case 4:
      return sum_tiles<4>;
    case 8:
      return sum_tiles<8>;
    case 16:
      return sum_tiles<16>;
    case 32:
      return sum_tiles<32>;
    default:
      break;
  }
  throw Error(ErrorKind::input, fmt::format("tile kernel: unroll: expected 1, 2, 4, 8, 16 or 32, found {}", unroll));
}

/// Random bodies in a unit cube; massless ones fill the last tile.
std::vector<float4> make_bodies(std::int64_t n, int block_size) {
  const std::int64_t padded = (n + block_size - 1) / block_size * block_size;
  std::vector<float4> bodies(static_cast<std::size_t>(padded), float4{0, 0, 0, 0});
  for (std::int64_t i = 0; i < n; ++i) {
    Philox random(1, 0, static_cast<std::uint64_t>(i));
    bodies[static_cast<std::size_t>(i)] = {static_cast<float>(random.uniform()), static_cast<float>(random.uniform()),
                                           static_cast<float>(random.uniform()), 1.0f / static_cast<float>(n)};
  }
  return bodies;
}

}  // namespace

// Seconds of one evaluation: warmed up first, then repeated for about a twentieth of a second.
double measure_tile_kernel(const Device& device, std::int64_t n, int block_size, int unroll) {
  if (block_size < 32 || block_size > 1024 || (block_size & (block_size - 1)) != 0)
    throw Error(ErrorKind::input,
                fmt::format("tile kernel: block size: expected a power of two from 32 to 1024, found {}", block_size));
  const Kernel kernel = kernel_for(unroll);
  const Buffer<float4> bodies(device, make_bodies(n, block_size));
  Buffer<float4> accelerations(device, bodies.size());
  const auto evaluate = [&](int times) {
    const auto begin = Clock::now();
    for (int k = 0; k < times; ++k) {
      kernel<<<static_cast<unsigned>(bodies.size() / block_size), static_cast<unsigned>(block_size),
               static_cast<std::size_t>(block_size) * sizeof(float4), cuda::handle(device.stream())>>>(
          bodies.data(), accelerations.data(), static_cast<int>(bodies.size()));
      cuda::check(cudaGetLastError(), "sum_tiles");
    }
    device.synchronize();
    return seconds_since(begin) / times;
  };
  evaluate(2);
  const int times = static_cast<int>(std::clamp(0.05 / evaluate(1), 3.0, 1000.0));
  return evaluate(times);
}

}  // namespace pergola

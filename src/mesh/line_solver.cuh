#pragma once
// CUDA only: lines along z there, times the Green factors, and back, in one pass over the field.
#include <cmath>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "mesh/green_factor.cuh"
#include "mesh/register_fft.cuh"

namespace pergola::cuda {

/// Modes [kz][column] of a field, where lines are still to be transformed along z.
struct LineField {
  float2* modes;
  std::int64_t columns;  // (kx, ky) with kx fastest
  int kx_count;
  int filled;           // planes of the input; the others count as zero
  int wanted;           // planes 0 … wanted − 1 of the output and the last one are written
  const float2* roots;  // exp(−2πi j / length), j = 0 … length − 1
};

/// A block takes `width` neighbouring columns. With z = n1 N2 + n2 and k = k1 + N1 k2 a transform of length N1 N2 is
/// one of length N1 over n1 for each n2, a product with exp(−2πi n2 k1 / N1 N2), and one of length N2 over n2 for each
/// k1 (Gentleman & Sande 1966); backwards the same in reverse.
/// Between the two the block exchanges numbers in shared memory.
template <int N1, int N2, int width>
__global__ void __launch_bounds__(width* N2)
    solve_lines_kernel(LineField field, float scale, GreenFactor<float> factor) {
  static_assert(N1 == N2 || N1 == 2 * N2);
  constexpr int length = N1 * N2, parts = N1 / N2;
  extern __shared__ float2 shared[];  // [k1][n2][column]
  const int c = threadIdx.x % width, t = threadIdx.x / width;
  const std::int64_t column = std::int64_t{blockIdx.x} * width + c;
  const bool inside = column < field.columns;
  const auto place = [&](int k1, int n2) { return (k1 * N2 + n2) * width + c; };

  float2 line[N1];
#pragma unroll
  for (int n1 = 0; n1 < N1; ++n1) {
    const int z = n1 * N2 + t;
    line[n1] = inside && z < field.filled ? field.modes[z * field.columns + column] : float2{0, 0};
  }
  register_fft<N1, -1>(line);
#pragma unroll
  for (int k1 = 0; k1 < N1; ++k1) shared[place(k1, t)] = line[reversed_bits(k1, N1)] * __ldg(&field.roots[k1 * t]);
  __syncthreads();

  const int kx = static_cast<int>(column % field.kx_count), ky = static_cast<int>(column / field.kx_count);
  const auto green = factor.column(kx, ky);
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    const int k1 = part * N2 + t;
    float2 half[N2], product[N2];
#pragma unroll
    for (int n2 = 0; n2 < N2; ++n2) half[n2] = shared[place(k1, n2)];
    register_fft<N2, -1>(half);
#pragma unroll
    for (int k2 = 0; k2 < N2; ++k2) {
      const float f = inside ? scale * green(k1 + N1 * k2) : 0.0f;
      const float2 value = half[reversed_bits(k2, N2)];
      product[k2] = {f * value.x, f * value.y};
    }
    register_fft<N2, 1>(product);
#pragma unroll
    for (int n2 = 0; n2 < N2; ++n2)
      shared[place(k1, n2)] = product[reversed_bits(n2, N2)] * conjugate(__ldg(&field.roots[k1 * n2]));
  }
  __syncthreads();

#pragma unroll
  for (int k1 = 0; k1 < N1; ++k1) line[k1] = shared[place(k1, t)];
  register_fft<N1, 1>(line);
#pragma unroll
  for (int n1 = 0; n1 < N1; ++n1) {
    const int z = n1 * N2 + t;
    if (inside && (z < field.wanted || z == length - 1))
      field.modes[z * field.columns + column] = line[reversed_bits(n1, N1)];
  }
}

template <int N1, int N2, int width>
void launch_solve_lines(const LineField& field, float scale, const GreenFactor<float>& factor, Stream stream) {
  constexpr int bytes = N1 * N2 * width * static_cast<int>(sizeof(float2));
  const auto kernel = solve_lines_kernel<N1, N2, width>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "solve_lines");
  const auto blocks = static_cast<unsigned>((field.columns + width - 1) / width);
  kernel<<<blocks, width * N2, bytes, handle(stream)>>>(field, scale, factor);
  check(cudaGetLastError(), "solve_lines");
}

inline bool can_solve_lines(int length) {
  return length == 64 || length == 128 || length == 256 || length == 512 || length == 1024;
}

inline void solve_lines(int length, const LineField& field, float scale, const GreenFactor<float>& factor,
                        Stream stream) {
  switch (length) {
    case 64:
      return launch_solve_lines<8, 8, 16>(field, scale, factor, stream);
    case 128:
      return launch_solve_lines<16, 8, 16>(field, scale, factor, stream);
    case 256:
      return launch_solve_lines<16, 16, 16>(field, scale, factor, stream);
    case 512:
      return launch_solve_lines<32, 16, 16>(field, scale, factor, stream);
    default:
      return launch_solve_lines<32, 32, 8>(field, scale, factor, stream);
  }
}

inline std::vector<float2> roots_of_unity(int length) {
  std::vector<float2> roots;
  for (int j = 0; j < length; ++j) {
    const double angle = -2 * M_PI * j / length;
    roots.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return roots;
}

}  // namespace pergola::cuda

#pragma once
// CUDA only: lines along z forward, times Green factors or others, and back, in one pass over the field, by transforms
// whose numbers a thread holds in registers.
//
// A kernel replaces three passes over memory (transform, product, transform back) by one. It exists for floats and
// powers of two from 64 to 1024; other lengths and doubles use cuFFT. Modes are stored [z][ky][kx].
// Exact sums are not the aim here, but the order of all operations is fixed: results repeat.
#include <cuda_runtime.h>
#include <cmath>
#include <type_traits>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "mesh/fft/green_factor.cuh"

namespace pergola::cuda {

__device__ inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ inline float2 conjugate(float2 a) { return {a.x, -a.y}; }

/// cos(2π j / 32).
__device__ constexpr float cosine_of_32nd(int j) {
  constexpr float table[9] = {1.0f,        0.98078528f, 0.92387953f, 0.83146961f, 0.70710678f,
                              0.55557023f, 0.38268343f, 0.19509032f, 0.0f};
  j = j < 0 ? -j : j;
  return j <= 8 ? table[j] : -table[16 - j];
}

/// The place of result i of a transform of `size` numbers.
__device__ constexpr int reversed_bits(int i, int size) {
  int result = 0;
  for (int bit = 1; bit < size; bit *= 2) result = 2 * result + (i & bit ? 1 : 0);
  return result;
}

/// Transform of `size` numbers (a power of two up to 32) in place, forward with sign −1, unnormalised. The result for
/// mode k stands at reversed_bits(k, size). Cooley & Tukey with radix 2, decimated in frequency.
template <int size, int sign>
__device__ void register_fft(float2 (&v)[size]) {
  static_assert(size <= 32 && (size & (size - 1)) == 0);
#pragma unroll
  for (int span = size / 2; span >= 1; span /= 2)
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if (i & span) continue;
      const int j = (i % span) * (16 / span);  // of 32 parts of the circle
      const float2 a = v[i], b = v[i + span], d = a - b;
      v[i] = a + b;
      if (j == 0)
        v[i + span] = d;
      else if (j == 8)
        v[i + span] = sign < 0 ? float2{d.y, -d.x} : float2{-d.y, d.x};
      else
        v[i + span] = d * float2{cosine_of_32nd(j), static_cast<float>(sign) * cosine_of_32nd(j - 8)};
    }
}

/// Modes [z][column] of a field that is still to be transformed along z. In a padded one only the first half of the
/// planes holds anything, and only those, the next one and the last one are wanted in the end.
struct LineField {
  const float2* from;
  float2* modes;     // what comes of them; may be `from`
  int columns;       // (kx, ky) with kx fastest
  int first_column;  // of all those that a plane has
  int kx_count;
  const float2* roots;  // exp(−2πi j / length), j = 0 … length − 1
};

/// Threads of a multiprocessor for which there are registers: a thread holds N1 complex numbers and what it computes.
constexpr int resident_threads(int n1) { return n1 == 32 ? 512 : n1 == 16 ? 768 : 1024; }

/// A block takes `width` neighbouring columns. With z = n1 N2 + n2 and k = k1 + N1 k2 a transform of length N1 N2 is
/// one of length N1 over n1 for each n2, a product with exp(−2πi n2 k1 / N1 N2), and one of length N2 over n2 for each
/// k1 (Gentleman & Sande 1966); backwards the same in reverse. Between the two the block exchanges numbers in shared
/// memory. factor.column(kx, ky)(kz) is the factor of a mode, or −i times it where the factor turns.
template <int N1, int N2, int width, class Factor>
__global__ void __launch_bounds__(width* N2, resident_threads(N1) / (width * N2))
    solve_lines_kernel(LineField field, Factor factor) {
  static_assert(N1 == N2 || N1 == 2 * N2);
  constexpr int parts = N1 / N2;
  extern __shared__ float2 shared[];  // [k1][n2][column]
  const int c = threadIdx.x % width, t = threadIdx.x / width;
  const int wanted_column = static_cast<int>(blockIdx.x) * width + c;
  const int column = min(wanted_column, field.columns - 1);  // those beyond the last repeat it and write nothing
  const std::int64_t first = std::int64_t{t} * field.columns + column;
  const std::int64_t stride = std::int64_t{N2} * field.columns;  // from n1 to n1 + 1
  const auto place = [&](int k1, int n2) { return (k1 * N2 + n2) * width + c; };

  float2 line[N1];
#pragma unroll
  for (int n1 = 0; n1 < N1; ++n1)
    line[n1] = Factor::padded && n1 >= N1 / 2 ? float2{0, 0} : field.from[first + n1 * stride];
  register_fft<N1, -1>(line);
#pragma unroll
  for (int k1 = 0; k1 < N1; ++k1) shared[place(k1, t)] = line[reversed_bits(k1, N1)] * __ldg(&field.roots[k1 * t]);
  __syncthreads();

  const int of_plane = field.first_column + column;
  const auto green = factor.column(of_plane % field.kx_count, of_plane / field.kx_count);
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    const int k1 = part * N2 + t;
    float2 half[N2], product[N2];
#pragma unroll
    for (int n2 = 0; n2 < N2; ++n2) half[n2] = shared[place(k1, n2)];
    register_fft<N2, -1>(half);
#pragma unroll
    for (int k2 = 0; k2 < N2; ++k2) {
      const float f = green(k1 + N1 * k2);
      const float2 value = half[reversed_bits(k2, N2)];
      product[k2] = Factor::turns ? float2{f * value.y, -f * value.x} : float2{f * value.x, f * value.y};
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
  if (wanted_column >= field.columns) return;
#pragma unroll
  for (int n1 = 0; n1 < N1; ++n1) {
    if (Factor::padded && n1 >= N1 / 2 && !(n1 == N1 / 2 && t == 0) && !(n1 == N1 - 1 && t == N2 - 1)) continue;
    field.modes[first + n1 * stride] = line[reversed_bits(n1, N1)];
  }
}

/// Shared memory holds all numbers of `width` lines between the two parts of the transform.
template <int N1, int N2, int width, class Factor>
void launch_solve_lines(const LineField& field, const Factor& factor, Stream stream) {
  constexpr int bytes = N1 * N2 * width * static_cast<int>(sizeof(float2));
  const auto kernel = solve_lines_kernel<N1, N2, width, Factor>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "solve_lines");
  const auto blocks = static_cast<unsigned>((field.columns + width - 1) / width);
  kernel<<<blocks, width * N2, bytes, handle(stream)>>>(field, factor);
  check(cudaGetLastError(), "solve_lines");
}

inline bool can_solve_lines(int length) {
  return length == 64 || length == 128 || length == 256 || length == 512 || length == 1024;
}

/// Whether a field's lines along z are solved in one pass; if forces are made of modes, in a periodic box only.
template <class Real>
bool in_one_pass(bool periodic, bool spectral, int length) {
  return std::is_same_v<Real, float> && (periodic || !spectral) && can_solve_lines(length);
}
/// Places for the modes of a row of real values. Rows that forces are gathered from begin at multiples of four numbers;
/// the place added for that is not read. cuFFT's plans, and with them the last bits, depend on this number: it is the
/// same on one rank and on several.
template <class Real>
int row_modes(bool periodic, bool spectral, int row_length, int line_length) {
  const int modes = row_length / 2 + 1;
  return spectral && in_one_pass<Real>(periodic, spectral, line_length) ? (modes + 1) / 2 * 2 : modes;
}

/// Lengths are products N1 × N2; width is chosen for registers and shared memory.
template <class Factor>
void solve_lines(int length, const LineField& field, const Factor& factor, Stream stream) {
  switch (length) {
    case 64:
      return launch_solve_lines<8, 8, 16>(field, factor, stream);
    case 128:
      return launch_solve_lines<16, 8, 16>(field, factor, stream);
    case 256:
      return launch_solve_lines<16, 16, 16>(field, factor, stream);
    case 512:
      return launch_solve_lines<32, 16, 16>(field, factor, stream);
    default:
      return launch_solve_lines < 32, 32, Factor::padded ? 16 : 8 > (field, factor, stream);
  }
}

/// exp(-2πi j / length), from double precision.
inline std::vector<float2> roots_of_unity(int length) {
  std::vector<float2> roots;
  for (int j = 0; j < length; ++j) {
    const double angle = -2 * M_PI * j / length;
    roots.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return roots;
}

}  // namespace pergola::cuda

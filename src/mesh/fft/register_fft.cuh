#pragma once
// CUDA only: transforms of a few numbers that a thread holds in registers.
#include <cuda_runtime.h>

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

}  // namespace pergola::cuda

#pragma once
// The one place where a build without CUDA and a CUDA build differ in the text of a header.
#include <cmath>

#if defined(__CUDACC__)
#define PERGOLA_HD __host__ __device__ __forceinline__
#define PERGOLA_HD_INLINE PERGOLA_HD
#else
#define PERGOLA_HD inline
#define PERGOLA_HD_INLINE inline __attribute__((always_inline))
#endif

#if defined(__GNUC__)
#define PERGOLA_API __attribute__((visibility("default")))
#else
#define PERGOLA_API
#endif

namespace pergola {

/// True in a build that holds the CUDA backend. Used with `if constexpr`, which needs no stub for what is not built.
#if defined(PERGOLA_WITH_CUDA)
inline constexpr bool cuda_built = true;
#else
inline constexpr bool cuda_built = false;
#endif

}  // namespace pergola

namespace pergola::physics {

/// The two operations that the pair law asks of a number type and that the GPU has instructions for.
#if defined(__CUDA_ARCH__)
PERGOLA_HD float mul_add(float a, float b, float c) { return fmaf(a, b, c); }
PERGOLA_HD double mul_add(double a, double b, double c) { return fma(a, b, c); }
/// rsqrt.approx: largest relative error 2^-22.9.
PERGOLA_HD float rsqrt(float a) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
PERGOLA_HD double rsqrt(double a) { return ::rsqrt(a); }
#else
PERGOLA_HD float mul_add(float a, float b, float c) { return a * b + c; }
PERGOLA_HD double mul_add(double a, double b, double c) { return a * b + c; }
PERGOLA_HD float rsqrt(float a) { return 1.0f / std::sqrt(a); }
PERGOLA_HD double rsqrt(double a) { return 1.0 / std::sqrt(a); }
#endif

}  // namespace pergola::physics

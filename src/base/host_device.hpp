#pragma once
// The one place where a build without CUDA and a CUDA build differ in the text of a header.

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

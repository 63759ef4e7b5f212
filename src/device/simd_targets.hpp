#pragma once
// The instruction sets for which files with SIMD code are compiled; they include this before <hwy/…>. On x86 AVX-512,
// AVX2 and the baseline; older ones are left out to keep the build short. On ARM only NEON: a vector of SVE has no size
// at compile time, so it cannot be a member of Pack (device/simd_pack.inl). A build for one machine names those of
// AVX-512 and AVX2 that it does not use (PERGOLA_THIS_PROCESSOR in cmake/PergolaCompiler.cmake).
#ifndef PERGOLA_UNUSED_SIMD_TARGETS
#define PERGOLA_UNUSED_SIMD_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | PERGOLA_UNUSED_SIMD_TARGETS)

#pragma once
// Included before <hwy/…> by every file with SIMD code: the instruction sets it is compiled for. AVX-512, AVX2 and the
// baseline; the older ones are left out to keep the build short.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)

#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

#if defined(__CUDA_ARCH__)
PERGOLA_HD float mul_add(float a, float b, float c) { return fmaf(a, b, c); }
PERGOLA_HD double mul_add(double a, double b, double c) { return fma(a, b, c); }
/// rsqrt.approx: largest relative error 2^-22.9.
PERGOLA_HD float rsqrt(float a) { return ::rsqrtf(a); }
PERGOLA_HD double rsqrt(double a) { return ::rsqrt(a); }
#else
PERGOLA_HD float mul_add(float a, float b, float c) { return a * b + c; }
PERGOLA_HD double mul_add(double a, double b, double c) { return a * b + c; }
PERGOLA_HD float rsqrt(float a) { return 1.0f / std::sqrt(a); }
PERGOLA_HD double rsqrt(double a) { return 1.0 / std::sqrt(a); }
#endif

#include "physics/pair.inl"

}  // namespace pergola::physics

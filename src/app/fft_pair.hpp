#pragma once
#include <cstdint>
#include <vector>

#include "device/device.hpp"

namespace pergola::app {

/// Seconds of a real three-dimensional transform of n³ floats and back, in place, by the library's own plan: FFTW's
/// with FFTW_MEASURE on all threads of the CPU, or cuFFT's. The shortest of many within `budget` seconds. Throws
/// Error(numerics) unless what comes back is what went in.
double fft_pair_seconds(const Device& device, int n, double budget);

/// The CUDA side (app/fft_pair_cuda.cu); present where cuda_built is true.
double fft_pair_seconds_cuda(const Device& device, int n, double budget);

/// Rows in place are padded to hold half of the complex values.
inline std::int64_t fft_pair_row(int n) { return 2 * (std::int64_t{n} / 2 + 1); }
/// What is transformed to check a pair, and the check: values come back multiplied by n³.
std::vector<float> fft_pair_values(int n);
void check_fft_pair(int n, const std::vector<float>& back);

}  // namespace pergola::app

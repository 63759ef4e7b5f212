#pragma once
// Inner loops of the FFT Poisson solver on the CPU, for the best instruction set of the machine
// (mesh/fft/fft_kernels.cpp).
#include <complex>

namespace pergola {

/// Numbers (t, t') of a line of twiddle factors as a SIMD product wants them: real parts twice, and −imaginary part,
/// imaginary part.
template <class Real>
struct TwiddleLine {
  const Real* real;
  const Real* imaginary;
};

/// For k = 1 … half/2: out_k = e + t d and out_{half−k} = (e − t d)* with e = scale (in_k + in*_{half−k}),
/// d = in_k − in*_{half−k} and t the k-th twiddle factor. Places 0 and half are not touched. in ≠ out.
template <class Real>
void mirror_butterfly(int half, Real scale, const TwiddleLine<Real>& twiddle, const std::complex<Real>* in,
                      std::complex<Real>* out);

/// line_k *= scale · green_k for k = 0 … n/2 and line_{n−k} *= scale · green_k for the others; n even.
template <class Real>
void multiply_even(int n, Real scale, const Real* green, std::complex<Real>* line);

}  // namespace pergola

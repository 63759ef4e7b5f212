#pragma once
#include <complex>
#include <vector>

#include "mesh/fft/fftw_lines.hpp"

namespace pergola {

/// Forward transforms of complex numbers on a cube of n³ values, x fastest, in place: Σ f exp(−2πi k·j/n), not
/// normalised. Planes and lines are shared over threads; the bits do not depend on how many there are. On the CPU.
class ComplexFft {
 public:
  ComplexFft(int n, int threads);
  void forward(std::vector<std::complex<double>>& field) const;

 private:
  int n_, threads_;
  FftwLines<double> rows_, columns_, depths_;
};

}  // namespace pergola

#pragma once
#include <cmath>
#include <complex>
#include <vector>

#include "mesh/fft/fft_kernels.hpp"

namespace pergola {

/// A real transform of even length n as a complex one of length n/2 of z_j = x_2j + i x_2j+1, which FFTW does several
/// times faster than its own real transforms. With Z the transform of z, w = exp(−2πi/n),
/// E_k = (Z_k + Z*_{n/2−k}) / 2 and O_k = (Z_k − Z*_{n/2−k}) / 2i: X_k = E_k + w^k O_k and X_{n/2−k} = (E_k − w^k
/// O_k)*. Press et al. 2007, Numerical Recipes, section 12.3.
template <class Real>
class HalfComplex {
 public:
  explicit HalfComplex(int n) : half_(n / 2) {
    for (int k = 0; k <= half_ / 2; ++k) {
      const double angle = -2 * M_PI * k / n, c = std::cos(angle), s = std::sin(angle);
      split_.add(s / 2, -c / 2);  // −i w^k / 2
      join_.add(s, c);            // i w^−k
    }
  }
  /// Z (n/2 values) → X (n/2 + 1 values).
  void split(const std::complex<Real>* packed, std::complex<Real>* modes) const {
    modes[0] = {packed[0].real() + packed[0].imag(), 0};
    modes[half_] = {packed[0].real() - packed[0].imag(), 0};
    mirror_butterfly(half_, Real(0.5), split_.line(), packed, modes);
  }
  /// X → Z such that the backward transform of Z is n z: neither direction is normalised.
  void join(const std::complex<Real>* modes, std::complex<Real>* packed) const {
    packed[0] = {modes[0].real() + modes[half_].real(), modes[0].real() - modes[half_].real()};
    mirror_butterfly(half_, Real(1), join_.line(), modes, packed);
  }

 private:
  struct Twiddles {
    std::vector<Real> real, imaginary;
    void add(double re, double im) {
      real.insert(real.end(), 2, static_cast<Real>(re));
      imaginary.insert(imaginary.end(), {static_cast<Real>(-im), static_cast<Real>(im)});
    }
    TwiddleLine<Real> line() const { return {real.data(), imaginary.data()}; }
  };

  int half_;
  Twiddles split_, join_;
};

}  // namespace pergola

#pragma once
#include <complex>
#include <vector>

namespace pergola {

/// A real transform of even length n as a complex one of length n/2 of z_j = x_2j + i x_2j+1, which FFTW does several
/// times faster than its own real transforms. With Z the transform of z, w = exp(−2πi/n),
/// E_k = (Z_k + Z*_{n/2−k}) / 2 and O_k = (Z_k − Z*_{n/2−k}) / 2i: X_k = E_k + w^k O_k and X_{n/2−k} = (E_k − w^k
/// O_k)*. Press et al. 2007, Numerical Recipes, section 12.3.2.
template <class Real>
class HalfComplex {
 public:
  explicit HalfComplex(int n);
  /// Z (n/2 values) → X (n/2 + 1 values).
  void split(const std::complex<Real>* packed, std::complex<Real>* modes) const;
  /// X → Z such that the backward transform of Z is n z: neither direction is normalised.
  void join(const std::complex<Real>* modes, std::complex<Real>* packed) const;

 private:
  int half_;
  std::vector<std::complex<Real>> twiddle_;  // w^k, k = 0 … n/4
};

}  // namespace pergola

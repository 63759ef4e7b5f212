#include "mesh/half_complex.hpp"

#include <cmath>

namespace pergola {

template <class Real>
HalfComplex<Real>::HalfComplex(int n) : half_(n / 2) {
  for (int k = 0; k <= half_ / 2; ++k) {
    const double angle = -2 * M_PI * k / n;
    twiddle_.emplace_back(static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle)));
  }
}

template <class Real>
void HalfComplex<Real>::split(const std::complex<Real>* packed, std::complex<Real>* modes) const {
  const Real re0 = packed[0].real(), im0 = packed[0].imag();
  modes[0] = {re0 + im0, 0};
  modes[half_] = {re0 - im0, 0};
  for (int k = 1; k <= half_ / 2; ++k) {
    const Real ar = packed[k].real(), ai = packed[k].imag();
    const Real br = packed[half_ - k].real(), bi = packed[half_ - k].imag();
    const Real wr = twiddle_[k].real(), wi = twiddle_[k].imag();
    const Real er = Real(0.5) * (ar + br), ei = Real(0.5) * (ai - bi);
    const Real xr = Real(0.5) * (ai + bi), xi = Real(0.5) * (br - ar);  // O
    const Real tr = wr * xr - wi * xi, ti = wr * xi + wi * xr;
    modes[k] = {er + tr, ei + ti};
    modes[half_ - k] = {er - tr, ti - ei};
  }
}

template <class Real>
void HalfComplex<Real>::join(const std::complex<Real>* modes, std::complex<Real>* packed) const {
  const Real first = modes[0].real(), last = modes[half_].real();
  packed[0] = {first + last, first - last};
  for (int k = 1; k <= half_ / 2; ++k) {
    const Real ar = modes[k].real(), ai = modes[k].imag();
    const Real br = modes[half_ - k].real(), bi = modes[half_ - k].imag();
    const Real wr = twiddle_[k].real(), wi = twiddle_[k].imag();
    const Real er = ar + br, ei = ai - bi;
    const Real tr = ar - br, ti = ai + bi;
    const Real xr = wr * tr + wi * ti, xi = wr * ti - wi * tr;  // O
    packed[k] = {er - xi, ei + xr};
    packed[half_ - k] = {er + xi, xr - ei};
  }
}

template class HalfComplex<float>;
template class HalfComplex<double>;

}  // namespace pergola

#pragma once
#include <complex>

namespace pergola::physics {

// Lagrangian perturbation theory: x = q − D1 ∇φ1 + D2 ∇φ2 with ∇²φ1 = δ and ∇²φ2 = Σ_{i<j} (φ1,ii φ1,jj − φ1,ij²).
// Scoccimarro 1998, MNRAS 299, 1097, appendix D; Crocce, Pueblas & Scoccimarro 2006, eqs. 2 to 7. For single waves
// exp(i k·q), k in any unit.

/// −∇φ1 of the wave δ along the axis whose wave number is k_axis: i k δ/k².
inline std::complex<double> first_displacement(double k_axis, double k2, std::complex<double> delta) {
  return std::complex<double>(0, k_axis / k2) * delta;
}

/// φ1,ij of the wave δ: k_i k_j δ/k².
inline std::complex<double> tidal_wave(double k_i, double k_j, double k2, std::complex<double> delta) {
  return (k_i * k_j / k2) * delta;
}

/// ∇φ2 of a wave of its source: −i k S/k².
inline std::complex<double> second_displacement(double k_axis, double k2, std::complex<double> source) {
  return std::complex<double>(0, -k_axis / k2) * source;
}

}  // namespace pergola::physics

#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

namespace pergola {

/// A wave of the density contrast: k in waves per box.
using DensityWave = std::function<std::complex<double>(int kx, int ky, int kz)>;

/// Displacements −∇φ1 and ∇φ2 (physics/lagrangian.hpp) at the places i L/n of a lattice, x fastest, in units of the
/// length L of the box.
struct Displacements {
  std::array<std::vector<double>, 3> first, second;  // second: empty for the first order
};
Displacements lagrangian_displacements(int side, const DensityWave& delta, int order, int threads);

/// How Gaussian waves are drawn: from the seed and the wave vector, so that a wave is the same at any resolution.
struct WaveDraw {
  std::uint64_t seed = 1;
  bool fixed = false;   // all amplitudes at their root mean square (Angulo & Pontzen 2016)
  bool paired = false;  // the opposite field (Pontzen et al. 2016)
};
/// A wave whose square has the mean `variance`, with that of −k its conjugate.
std::complex<double> draw_wave(const WaveDraw& draw, int kx, int ky, int kz, double variance);

}  // namespace pergola

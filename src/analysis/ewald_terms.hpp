#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "base/vec.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// A wave of Ewald's long-range sum: its number on each axis, its vector, its weight there.
struct EwaldWave {
  int nx, ny, nz;
  Vec3<double> k;
  double weight;
};

/// The two sums over all particles that Ewald's method is made of.
struct EwaldSums {
  std::vector<std::complex<double>> factors;  // S(k) = Σ m e^{−ik·x} of each wave
  std::vector<Vec3<double>> short_range;      // at each place, without G
};

/// Both sums on a GPU, at `targets`, which stand at `places` of the particles, for the built-in softening kernels
/// (analysis/ewald_sum_cuda.cu); present where cuda_built is true.
EwaldSums ewald_sums_cuda(ParticleSource& particles, const Particles& targets, const std::vector<std::int64_t>& places,
                          const Box& box, const Softening& softening, double alpha, const std::vector<EwaldWave>& waves,
                          const Device& device);

}  // namespace pergola

#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"

// Ewald's sum: exact forces in a periodic box, the reference of `force` and of the audit. The field of all images is
// split into a short-range part, summed over nearest images, and a long-range part, summed over about two thousand
// waves.
// Error: about 1e-6 of the force between neighbours. Work: positions × particles, plus waves × particles. Particles
// are read in pieces. On a CPU the bits do not depend on the number of threads; on a GPU they repeat from call to call.
namespace pergola {

/// Accelerations at the given places of the particle arrays, in double precision. The nearest image of a pair is
/// softened as in the direct sum. A softening kernel from outside is summed on the CPU.
PERGOLA_API ForceResult ewald_sum(ParticleSource& particles, const std::vector<std::int64_t>& places, const Box& box,
                                  const Softening& softening, double gravitational_constant, const Device& device);
PERGOLA_API ForceResult ewald_sum(const Particles& particles, const std::vector<std::int64_t>& places, const Box& box,
                                  const Softening& softening, double gravitational_constant, const Device& device);

/// A wave of the long-range sum: its number on each axis, its vector, its weight.
struct EwaldWave {
  int nx, ny, nz;
  Vec3<double> k;
  double weight;
};

/// The two sums over all particles.
struct EwaldSums {
  std::vector<std::complex<double>> factors;  // S(k) = Σ m e^{−ik·x} of each wave
  std::vector<Vec3<double>> short_range;      // at each place, without G
};

/// Both sums on a GPU for the built-in softening kernels (analysis/ewald_sum_cuda.cu). `targets` are the particles at
/// `places`. Present if cuda_built is true.
EwaldSums ewald_sums_cuda(ParticleSource& particles, const Particles& targets, const std::vector<std::int64_t>& places,
                          const Box& box, const Softening& softening, double alpha, const std::vector<EwaldWave>& waves,
                          const Device& device);

}  // namespace pergola

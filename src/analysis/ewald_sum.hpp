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

namespace pergola {

/// Accelerations at the given places in a periodic box: the sum over all particles and all their images by Ewald's
/// method, in double precision, to about 1e-6 of the force between neighbours; the nearest image of a pair is softened
/// as in a direct sum. Work: places × particles, and about two thousand waves × particles. On a CPU the same bits for
/// any number of threads; on a GPU from call to call (a softening kernel from outside is summed on the CPU). Particles
/// are read in pieces.
PERGOLA_API ForceResult ewald_sum(ParticleSource& particles, const std::vector<std::int64_t>& places, const Box& box,
                                  const Softening& softening, double gravitational_constant, const Device& device);
PERGOLA_API ForceResult ewald_sum(const Particles& particles, const std::vector<std::int64_t>& places, const Box& box,
                                  const Softening& softening, double gravitational_constant, const Device& device);

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

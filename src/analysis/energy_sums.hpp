#pragma once
#include <cstdint>
#include <vector>

#include "analysis/wave_terms.hpp"
#include "device/chunk_sums.hpp"
#include "device/device.hpp"
#include "mesh/coupling/cell_frame.hpp"
#include "physics/external.hpp"
#include "physics/measures.hpp"

namespace pergola {

/// What particle i adds to the conserved quantities: kinetic energy, energy in external potentials, momentum, angular
/// momentum.
struct ConservedTerms {
  static constexpr int count = 8;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *vx = nullptr, *vy = nullptr, *vz = nullptr, *mass = nullptr;
  const physics::ExternalLaw<double>* laws = nullptr;
  std::int64_t law_count = 0;

  PERGOLA_HD Terms<count> operator()(std::int64_t i) const {
    const Vec3<double> place{x[i], y[i], z[i]}, v{vx[i], vy[i], vz[i]};
    double external = 0;
    for (std::int64_t k = 0; k < law_count; ++k) external += physics::external_field(laws[k], place).potential;
    const auto p = physics::momentum(mass[i], v), l = physics::angular_momentum(mass[i], place, v);
    return {{physics::kinetic_energy(mass[i], v), mass[i] * external, p.x, p.y, p.z, l.x, l.y, l.z}};
  }
};

/// What particle i adds to the potential energy of all pairs, from its potential: half of it, for the other half is its
/// partners'; all of it where it is outside a mesh, on which it does not act.
template <class Real>
struct PotentialTerms {
  static constexpr int count = 1;
  const Real *mass = nullptr, *potential = nullptr;
  const Real *x = nullptr, *y = nullptr, *z = nullptr;  // looked at with a mesh only
  bool with_mesh = false;
  CellFrame<double> mesh;

  PERGOLA_HD bool on_axis(int axis, double place) const { return mesh.holds(axis, mesh.place(axis, place)); }

  PERGOLA_HD Terms<count> operator()(std::int64_t i) const {
    const bool acts = !with_mesh || (on_axis(0, x[i]) && on_axis(1, y[i]) && on_axis(2, z[i]));
    return {{(acts ? 0.5 : 1.0) * static_cast<double>(mass[i]) * static_cast<double>(potential[i])}};
  }
};

/// Particles that are shown at once where they are summed; whole chunks, so that the sums do not depend on it. A GPU
/// likes long loops, a host that has only some of the particles, or none, short arrays.
inline constexpr std::int64_t least_summed_at_once = 64 * sum_chunk;
inline std::int64_t summed_at_once(const Device& device) {
  return device.is_cuda() ? 1024 * sum_chunk : least_summed_at_once;
}

/// Sums over the particles 0 … n − 1 on their device, chunk by chunk. Wait.
std::vector<Terms<8>> chunk_terms(const Device& device, std::int64_t n, const ConservedTerms& terms);
std::vector<Terms<1>> chunk_terms(const Device& device, std::int64_t n, const PotentialTerms<float>& terms);
std::vector<Terms<1>> chunk_terms(const Device& device, std::int64_t n, const PotentialTerms<double>& terms);
std::vector<Terms<WaveTerms::count>> chunk_terms(const Device& device, std::int64_t n, const WaveTerms& terms);

/// The CUDA side of it (analysis/energy_sums_cuda.cu); present where cuda_built is true.
std::vector<Terms<8>> chunk_terms_cuda(const Device& device, std::int64_t n, const ConservedTerms& terms);
std::vector<Terms<1>> chunk_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<float>& terms);
std::vector<Terms<1>> chunk_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<double>& terms);
std::vector<Terms<WaveTerms::count>> chunk_terms_cuda(const Device& device, std::int64_t n, const WaveTerms& terms);

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/large_waves.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"
#include "device/exact_terms.hpp"
#include "mesh/coupling/cell_frame.hpp"
#include "particles/shown_particles.hpp"
#include "physics/external.hpp"
#include "physics/measures.hpp"

// Sums over particles on their device. A body such as `ConservedTerms` says what particle i adds; the same body runs on
// CPU and CUDA. Sums are exact (device/exact_terms.hpp), so that the bits do not depend on the order of the particles,
// nor on the number of threads, ranks or pieces.
// A GPU takes the particles of one piece at a time into arrays in device memory.
namespace pergola {

/// What particle i adds: kinetic energy, energy in external potentials, momentum, angular momentum, mass.
struct ConservedTerms {
  static constexpr int count = 9;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *vx = nullptr, *vy = nullptr, *vz = nullptr, *mass = nullptr;
  const physics::ExternalLaw<double>* laws = nullptr;
  std::int64_t law_count = 0;

  PERGOLA_HD Terms<count> operator()(std::int64_t i) const {
    const Vec3<double> place{x[i], y[i], z[i]}, v{vx[i], vy[i], vz[i]};
    double external = 0;
    for (std::int64_t k = 0; k < law_count; ++k) external += physics::external_field(laws[k], place).potential;
    const auto p = physics::momentum(mass[i], v), l = physics::angular_momentum(mass[i], place, v);
    return {{physics::kinetic_energy(mass[i], v), mass[i] * external, p.x, p.y, p.z, l.x, l.y, l.z, mass[i]}};
  }
};

/// What particle i adds to the potential energy of all pairs: half of mass times potential, because its partner adds
/// the other half. All of it outside a mesh, because there the particle does not act on others.
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

/// Particles that are copied to the arrays at once. A GPU needs long loops; a host that stores few of the particles
/// needs short arrays.
inline std::int64_t summed_at_once(const Device& device) { return device.is_cuda() ? 1 << 20 : 1 << 16; }

/// Calls body(first, n, arrays) for one piece of the particles after the other, in the order of the input or in any.
/// Positions and masses of the piece are in arrays on the device, and velocities if asked for.
enum class PieceOrder { input, any };
template <class Real, class Body>
void each_piece(const ShownParticles& shown, PieceOrder order, bool with_velocities, const Body& body) {
  const std::int64_t piece = std::min(summed_at_once(shown.device()), shown.count());
  Buffer<Real> number[7];
  for (int k = 0; k < (with_velocities ? 7 : 4); ++k) number[k] = Buffer<Real>(shown.device(), piece);
  ShownArrays<Real> to;
  to.x = number[0].data(), to.y = number[1].data(), to.z = number[2].data(), to.mass = number[3].data();
  if (with_velocities) to.vx = number[4].data(), to.vy = number[5].data(), to.vz = number[6].data();
  for (std::int64_t first = 0; first < shown.count(); first += piece) {
    const std::int64_t n = std::min(piece, shown.count() - first);
    order == PieceOrder::any ? shown.show_any(first, n, to) : shown.show(first, n, to);
    body(first, n, to);
  }
}

// On a CUDA device (analysis/energy_sums_cuda.cu). Present if cuda_built is true.
void add_terms_cuda(const Device& device, std::int64_t n, const ConservedTerms& terms,
                    ExactTerms<ConservedTerms::count>& total);
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<float>& terms, ExactTerms<1>& total);
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<double>& terms, ExactTerms<1>& total);
void add_terms_cuda(const Device& device, std::int64_t n, const WaveTerms& terms, ExactTerms<WaveTerms::count>& total);

/// Adds the terms of the particles 0 … n − 1 on their device. Waits.
template <class Body>
void add_terms(const Device& device, std::int64_t n, const Body& terms, ExactTerms<Body::count>& total) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return add_terms_cuda(device, n, terms, total);
  }
  add_exactly(device.threads(), n, terms, total);
}

/// The sums of all ranks, on all of them.
template <int count>
ExactTerms<count> over_ranks(Communicator& ranks, const ExactTerms<count>& own) {
  ExactTerms<count> all;
  for (const ExactTerms<count>& one : gather_values(ranks, own)) all.add(one);
  return all;
}

}  // namespace pergola

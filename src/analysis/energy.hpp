#pragma once
#include <cstdint>
#include <memory>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// The conserved quantities of a system at a moment, always in double precision.
struct Energies {
  double kinetic = 0;
  double potential = 0;  // of the particles in each other's field and in external potentials
  Vec3<double> momentum{};
  Vec3<double> angular_momentum{};  // about the origin

  double total() const { return kinetic + potential; }
  /// Q = −T / W; 1/2 in equilibrium without external potentials. Not a number without potential energy.
  double virial_ratio() const { return -kinetic / potential; }
};

/// All sums are formed where the particles are; nothing that grows with their number goes to the host. The potential
/// energy: summed over all pairs with the softening and the constant of `gravity`, whatever
/// its precision; of a tree with many particles, half the sum of mass times the potential of a tree with an accuracy of
/// at least 1e-4 in mixed precision, or of the run's own where the device has no room for another; of a mesh, half the
/// sum of mass times the mesh's potential, and the whole of it for particles outside the mesh, on which they do not
/// act. `solver`: one made for `gravity` that may be used; null: one is made where needed. The same bits for any number
/// of threads.
PERGOLA_API Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity,
                                      AnySolver* solver = nullptr);
/// Whether the potential energy of so many is the sum over all pairs, which knows nothing of images.
bool sums_over_pairs(const SolverOptions& gravity, std::int64_t count);
/// Device memory that measure_energies() takes beside the particles and the lent solver: their places as they are
/// shown, and the potentials.
std::int64_t energy_bytes(const SolverOptions& gravity, std::int64_t count);
/// Where each rank keeps its share of the particles (comm/shares.hpp), on the CPU: `own` of `total`. All ranks call it
/// and get the same, with the bits of one process: each sums the chunks that begin in its share, with potentials that
/// ranks find together. `solver`: the run's own, which works on shares.
PERGOLA_API Energies measure_spread_energies(const std::shared_ptr<Communicator>& ranks, std::int64_t total,
                                             const ShownParticles& own, const SolverOptions& gravity,
                                             AnySolver& solver);
/// Of particles on the host, which are brought to `device`.
PERGOLA_API Energies measure_energies(const Particles& particles, const Device& device, const SolverOptions& gravity,
                                      AnySolver* solver = nullptr);

/// (E − E₀) / |E₀|; 0 when both are the same.
double relative_energy_error(const Energies& now, const Energies& start);

}  // namespace pergola

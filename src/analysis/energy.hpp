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

// Energies, momentum and angular momentum of a system, in double precision, on the device of the particles. Nothing
// that grows with the number of particles goes to the host.
// The potential energy depends on the solver (`EnergyMethod` in gravity/solver_entry.hpp). Few particles: the sum over
// all pairs, with the softening and the constant of `gravity`, in any precision. Tree: half the sum of mass times
// potential, by a second tree with an accuracy of at least 1e-4 in mixed precision, or by the run's own solver if
// memory does not suffice. Mesh: half the sum of mass times potential, but all of it for particles outside the mesh, on
// which they do not act.
// What always holds: sums are exact. The bits do not depend on the number of threads or ranks.
namespace pergola {

/// The conserved quantities of a system at a moment, in double precision.
struct Energies {
  double kinetic = 0;
  double potential = 0;  // of the particles in each other's field and in external potentials
  Vec3<double> momentum{};
  Vec3<double> angular_momentum{};  // about the origin
  /// The size of what the particles have among themselves, without external potentials and the motion of their centre
  /// of mass: |T + W|, at least |W|/2, as much as in equilibrium. 0: not known, or W = 0.
  double internal = 0;

  double total() const { return kinetic + potential; }
  /// Q = −T / W; 1/2 in equilibrium without external potentials. NaN without potential energy.
  double virial_ratio() const { return -kinetic / potential; }
};

/// Measures the particles of all ranks, of which this one has those of the output view. `solver`: the run's own, made
/// for `gravity`, which may be used; null: a solver is made if needed. Collective; all ranks get the bits of one.
PERGOLA_API Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity,
                                      AnySolver* solver = nullptr,
                                      const std::shared_ptr<Communicator>& ranks = serial_communicator());
/// Whether the potential energy of `count` particles is the sum over all pairs. That sum has no periodic images.
bool sums_over_pairs(const SolverOptions& gravity, std::int64_t count);
/// Device memory that measure_energies() takes beside the particles and the borrowed solver: their positions as the
/// output view gives them, and the potentials.
std::int64_t energy_bytes(const SolverOptions& gravity, std::int64_t count);
/// Particles on the host, which are copied to `device`.
PERGOLA_API Energies measure_energies(const Particles& particles, const Device& device, const SolverOptions& gravity,
                                      AnySolver* solver = nullptr);

/// (E − E₀) / |E₀|; 0 when both are the same.
double relative_energy_error(const Energies& now, const Energies& start);

}  // namespace pergola

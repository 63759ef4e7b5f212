#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"
#include "plasma/tile_slab.hpp"
#include "plasma/tiled_particles.hpp"

namespace pergola {

/// Energies and momentum at one time, in the units of PlasmaOptions.
struct PlasmaEnergies {
  double field = 0;
  std::vector<PlasmaSums> species;
  double kinetic() const {
    double sum = 0;
    for (const PlasmaSums& one : species) sum += one.kinetic;
    return sum;
  }
  double total() const { return field + kinetic(); }
  Vec3<double> momentum() const {
    Vec3<double> sum{0, 0, 0};
    for (const PlasmaSums& one : species) sum = sum + one.momentum;
    return sum;
  }
};

/// Numbers at the grid points; the third component of the electric field is there in 3D only.
enum class PlasmaFieldPart { density, potential, electric_x, electric_y, electric_z };
inline PlasmaFieldPart electric_part(int axis) {
  return static_cast<PlasmaFieldPart>(static_cast<int>(PlasmaFieldPart::electric_x) + axis);
}
inline int plasma_field_parts(int dimensions) { return 2 + dimensions; }

/// All of them on the host at one time, x fastest, without padding; the third component is empty in 2D.
struct PlasmaFields {
  std::vector<double> density, potential;
  std::array<std::vector<double>, 3> electric;

  const std::vector<double>& operator[](PlasmaFieldPart part) const {
    if (part == PlasmaFieldPart::density) return density;
    if (part == PlasmaFieldPart::potential) return potential;
    return electric[static_cast<std::size_t>(part) - static_cast<std::size_t>(PlasmaFieldPart::electric_x)];
  }
};

/// Particles and field on a device and the leapfrog that moves them: v(t − dt/2) → v(t + dt/2) with E(x(t)), then
/// x(t) → x(t + dt), then E anew. Single (float) or full (double) precision; mixed is refused. Several ranks share the
/// box out in slabs (plasma/tile_slab.hpp), each with its part of the field (on GPUs of a small field with all) and the
/// particles that are there now; a rank gives, and is given back, a stretch of the particles. All calls but numbers and
/// times are then made by all of them, and the bits are those of one.
class PERGOLA_API ParticleInCell {
 public:
  virtual ~ParticleInCell() = default;

  /// Particles at time 0 with their velocities at time 0, one entry per species: the stretch of this rank, with ids
  /// above those of the ranks before it.
  virtual void start(const std::vector<PlasmaParticles>& particles) = 0;
  /// `count` steps of `step`. Does not wait for more than it must; throws Error(numerics) when a particle is lost or
  /// not a number. A step may differ from the one before (the last one of a run).
  virtual void advance(std::int64_t count, double step) = 0;

  virtual std::int64_t steps() const = 0;
  virtual double time() const = 0;
  /// Particles on all ranks.
  virtual std::int64_t count() const = 0;

  /// At time(), velocities brought there from half a step before.
  virtual PlasmaEnergies energies() const = 0;
  /// What of the box this rank has: of one rank all.
  virtual const plasma::TileSlab& slab() const = 0;
  /// A field, or all, in the layers of slab(), x fastest, without padding.
  virtual std::vector<double> field(PlasmaFieldPart part) const = 0;
  virtual PlasmaFields fields() const = 0;
  /// Particles that this rank has given, and that are in its part of the box now.
  virtual std::int64_t own_count(int species) const = 0;
  virtual std::int64_t held_count(int species) const = 0;
  /// Those that this rank has given, in the order of their ids. Positions at time(); velocities at time(), or as they
  /// are stored, half a step before, with `stored`.
  virtual PlasmaParticles particles(int species, bool stored = false) const = 0;

  /// All that is needed to go on bit-identically: the particles of all species, one species after the other, of which
  /// this rank saves a stretch. restore() takes the stretch of this rank (comm/shares.hpp), whoever saved it.
  virtual void save(StateSource& to) const = 0;
  virtual void restore(StateInput& from) = 0;
  virtual std::int64_t device_bytes() const = 0;
};

/// Throws Error(input) for options that make no sense. `profile` may be null. `ranks` that share the box out; null: all
/// is here.
PERGOLA_API std::unique_ptr<ParticleInCell> make_particle_in_cell(const Device& device, const PlasmaOptions& options,
                                                                  Precision precision, Profile* profile = nullptr,
                                                                  std::shared_ptr<Communicator> ranks = nullptr);
/// Bytes on the device for these numbers of particles per species, before anything is allocated; of one of so many
/// ranks, that with the largest part of the box, where particles are everywhere.
PERGOLA_API std::int64_t plasma_device_bytes(const Device& device, const PlasmaOptions& options, Precision precision,
                                             const std::vector<std::int64_t>& counts, int ranks = 1);

}  // namespace pergola

#pragma once
/// The particle-in-cell system: particles in tiles (tiled_particles.hpp), a field solver (field.hpp), and the leapfrog.
///
/// A step: (1) velocities from v(t − dt/2) to v(t + dt/2) with the fields at x(t), (2) positions from x(t) to x(t +
/// dt), (3) what particles deposit there, (4) the fields at t + dt. Several ranks divide the box into slabs. Each works
/// on the particles in its slab now, and gives and gets back a fixed range of the particles. All calls but counts and
/// times are then collective. Always: the bits depend neither on threads nor ranks; a resumed run has the bits of an
/// uninterrupted one.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"
#include "plasma/field.hpp"
#include "plasma/tiled_particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

/// Energies and momentum at one time, in the units of PlasmaOptions.
struct PlasmaEnergies {
  double field = 0;
  std::vector<PlasmaSums> species;
  double kinetic() const {
    double sum = 0;
    for (const PlasmaSums& one : species) sum += one.kinetic();
    return sum;
  }
  double total() const { return field + kinetic(); }
  Vec3<double> momentum() const {
    Vec3<double> sum{0, 0, 0};
    for (const PlasmaSums& one : species) sum = sum + one.momentum;
    return sum;
  }
};

/// All fields on the host at one time, x fastest, without padding. Those that the field solver does not have are empty.
struct PlasmaFields {
  std::vector<double> density, potential;
  std::array<std::vector<double>, 3> electric{}, magnetic{}, current{};

  std::vector<double>& operator[](PlasmaFieldPart part) {
    if (part == PlasmaFieldPart::density) return density;
    if (part == PlasmaFieldPart::potential) return potential;
    const auto component = static_cast<std::size_t>(part) - static_cast<std::size_t>(PlasmaFieldPart::electric_x);
    return (component < 3 ? electric : component < 6 ? magnetic : current)[component % 3];
  }
  const std::vector<double>& operator[](PlasmaFieldPart part) const { return const_cast<PlasmaFields&>(*this)[part]; }
};

class PERGOLA_API ParticleInCell {
 public:
  virtual ~ParticleInCell() = default;

  /// Particles and velocities at time 0, one entry per species: the range of this rank, with ids above those of lower
  /// ranks.
  virtual void start(const std::vector<PlasmaParticles>& particles) = 0;
  /// Makes `count` steps of length `step`, which may change between calls. Throws Error(numerics) if a particle is lost
  /// or not a number.
  virtual void advance(std::int64_t count, double step) = 0;

  virtual std::int64_t steps() const = 0;
  virtual double time() const = 0;
  /// Particles on all ranks.
  virtual std::int64_t count() const = 0;

  /// At time(): velocities are kicked there from half a step before.
  virtual PlasmaEnergies energies() const = 0;
  /// This rank's part of the box.
  virtual const plasma::TileSlab& slab() const = 0;
  /// One field, or all of plasma_field_parts(), in the layers of slab(), x fastest, without padding.
  virtual std::vector<double> field(PlasmaFieldPart part) const = 0;
  virtual PlasmaFields fields() const = 0;
  /// Particles that this rank has given; particles that are in its part of the box now.
  virtual std::int64_t own_count(int species) const = 0;
  virtual std::int64_t held_count(int species) const = 0;
  /// The particles that this rank has given, ordered by id. Positions at time(); velocities at time(), or with `stored`
  /// half a step before. `chosen`, without ranks only: these alone.
  virtual PlasmaParticles particles(int species, bool stored = false, const PlasmaChoice* chosen = nullptr) const = 0;
  /// The particles in this rank's part of the box now, in any order, some at a time: positions at time(), velocities
  /// half a step before, numbers for ids. Several threads call `use` at once.
  virtual void for_held(int species, const std::function<void(const PlasmaParticles&)>& use) const = 0;

  /// The state, from which a run continues with the same bits: the particles of all species, one species after the
  /// other, each rank's range, and the state of the field solver. restore() reads this rank's range (comm/shares.hpp)
  /// for any number of ranks.
  virtual void save(StateSource& to) const = 0;
  virtual void restore(StateInput& from) = 0;
  virtual std::int64_t device_bytes() const = 0;
};

/// Single (float) or full (double) precision; mixed is refused. Throws Error(input) for wrong options. `profile` may be
/// null. `ranks` divide the box; null: one process has it all.
PERGOLA_API std::unique_ptr<ParticleInCell> make_particle_in_cell(const Device& device, const PlasmaOptions& options,
                                                                  Precision precision, Profile* profile = nullptr,
                                                                  std::shared_ptr<Communicator> ranks = nullptr);
/// Bytes on the device for these numbers of particles per species, without allocation. With `ranks` those of the rank
/// with the largest part of the box, for a uniform density.
PERGOLA_API std::int64_t plasma_device_bytes(const Device& device, const PlasmaOptions& options, Precision precision,
                                             const std::vector<std::int64_t>& counts, int ranks = 1);

}  // namespace pergola

#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "mesh/grid.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola {

/// The electric field at the grid points; the third component is empty in 2D. All have the same layout.
template <class Real>
using ElectricField = std::array<Field<const Real>, 3>;

/// The lengths of time of one push: velocities go on by `kick`, then positions by `drift`.
struct PushTimes {
  double kick = 0, drift = 0;
};

/// Sums over a species, each over its macro-particles times their weight: ½ m v² and m v.
struct PlasmaSums {
  double kinetic = 0;
  Vec3<double> momentum{0, 0, 0};
};

/// All macro-particles on a device, grouped by tiles of cells and kept so while they move: Decyk, Singh & Friedman
/// 2010. A position is stored relative to the corner of its tile. What a particle does and what the grid gets do not
/// depend on the order of the particles, on threads or on timing: charge is counted in whole numbers. Calls launch on
/// the device's stream and do not wait unless they say so.
template <class Real>
class TiledParticles {
 public:
  virtual ~TiledParticles() = default;

  /// Takes the particles of a species, all that this rank gives, in place of those that were there.
  virtual void load(int species, const PlasmaParticles& particles) = 0;
  /// The particles of a species that this rank has given, in the order of their ids. Positions that were unloaded are
  /// loaded again without rounding (on a device of the same kind). Waits.
  virtual PlasmaParticles unload(int species) const = 0;
  /// The same after a change of each particle for itself, which several ranks make where the particles are: some at a
  /// time, whose ids are numbers that mean nothing there.
  virtual PlasmaParticles unload_changed(int species, const std::function<void(PlasmaParticles&)>& change) const {
    PlasmaParticles all = unload(species);
    change(all);
    return all;
  }
  /// Particles held here now, counted. Waits.
  virtual std::int64_t count(int species) const = 0;

  /// Charge density in e n₀ at the grid points of all species where they are now, with the background, into a field of
  /// this layout. The counted charge is exact: the sum over the grid is that of the particles.
  virtual void charge_density(const Field<Real>& density) = 0;

  /// One step of all particles: Boris' rotation about options.magnetic_field between two half kicks
  /// (physics/plasma_push.hpp). Particles that leave their tile are handed to their new one; a tile that is full grows.
  virtual void push(const ElectricField<Real>& field, const PushTimes& times) = 0;

  /// What push() left to run beside the calls after it (charge_density and the field's solution) joins the stream. All
  /// other calls do so by themselves; a recording of steps (StepGraph) must end with it.
  virtual void join() const {}

  /// Sums with velocities that are ahead by `kick` of those stored, which stay. Waits. The same bits for any number of
  /// threads and from run to run.
  virtual std::vector<PlasmaSums> measure(const ElectricField<Real>& field, double kick) const = 0;

  /// Throws Error(numerics) if a particle was lost, doubled or has a position or velocity that is not a number, with
  /// its id and state. Called once per batch of steps; cheap: the checks themselves are made in every step. Waits.
  virtual void check() = 0;

  /// Another number when memory was laid out anew: work that was recorded for the one before is void.
  virtual std::uint64_t layout_version() const { return 0; }

  /// Bytes on the device that are held now.
  virtual std::int64_t device_bytes() const = 0;
};

/// The factories: Real is float or double. `counts`: expected particles per species, for the first size of the memory.
/// `ranks`: each gives a stretch of the particles and works on those in its slab of the box (plasma/tile_slab.hpp), of
/// which it has the density, and the electric field with the layers around, or of the box (plasma/field.hpp); all
/// calls but count() and device_bytes() are then calls of all ranks, charge_density() follows every push(), and sums
/// and checks speak of the particles of all. Null: alone.
template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles(const Device& device, const PlasmaOptions& options,
                                                           const std::vector<std::int64_t>& counts,
                                                           std::shared_ptr<Communicator> ranks = nullptr);
/// Bytes that they will take on the device, for `plan`: so many in this part of the tiles.
std::int64_t tiled_bytes(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                         bool double_precision, double part = 1);

}  // namespace pergola

#pragma once
/// All macro-particles of a plasma on a device, grouped by tiles of cells: Decyk, Singh & Friedman 2010.
///
/// A push moves particles and hands those that leave their tile to the new one, so the grouping lasts. A position is
/// stored relative to the corner of its tile (physics/plasma_push.hpp). Charge is counted in whole units. So neither
/// the particles nor the grid depend on the order of particles, on threads or on timing.
/// With ranks each has the tiles of its slab (plasma/tiles.hpp). All calls but count() and device_bytes() are then
/// collective, deposit() follows every push(), and sums and checks are over the particles of all ranks. Calls launch on
/// the device's stream and do not wait unless they say so.
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
#include "plasma/tiles.hpp"

namespace pergola {

/// What particles gather, from the first layer of `window` on. All components have the same layout. An electrostatic
/// field stands at the grid points, and its third component is empty in 2D. One with a magnetic part has all six
/// components at Yee's places: electric[a] is ½ cell above the grid point along axis a, magnetic[a] along the two other
/// axes; in 2D nothing is displaced along z. Particles then gather with clouds that have one point less along these
/// axes (this keeps energy), and the uniform field of the options is part of `magnetic`.
template <class Real>
struct GatheredFields {
  std::array<Field<const Real>, 3> electric;
  plasma::LayerWindow window;  // of a slab with the layers around it, or of the whole box
  std::array<Field<const Real>, 3> magnetic{};
};

/// What particles deposit in this rank's layers: the charge density at the grid points, in e n₀, and for a solver that
/// wants it the charge that a push moves through the faces, ∫J dt in e n₀ cells, at the places of electric[a]:
/// current[a] passes the middle between a grid point and the next one along axis a.
template <class Real>
struct DepositedFields {
  Field<Real> density;
  std::array<Field<Real>, 3> current{};
};

/// The times of one push: velocities advance by `kick`, then positions by `drift`.
struct PushTimes {
  double kick = 0, drift = 0;
};

/// Sums over a species, each over its macro-particles times their weight: ½ m v² and m v, by direction.
struct PlasmaSums {
  Vec3<double> energy{0, 0, 0};
  Vec3<double> momentum{0, 0, 0};

  double kinetic() const { return energy.x + energy.y + energy.z; }
};

template <class Real>
class TiledParticles {
 public:
  virtual ~TiledParticles() = default;

  /// Replaces the particles of a species by those that this rank gives.
  virtual void load(int species, const PlasmaParticles& particles) = 0;
  /// The particles of a species that this rank has given, in the order of their ids. Positions that were unloaded are
  /// loaded again without rounding (on a device of the same kind). Waits.
  /// `change`, which may be null, is applied to each particle by itself, by the rank that works on it: to some
  /// particles at a time, whose ids then are numbers without meaning. `chosen`, without ranks only: these alone.
  virtual PlasmaParticles unload(int species, const std::function<void(PlasmaParticles&)>& change = nullptr,
                                 const PlasmaChoice* chosen = nullptr) const = 0;
  /// All particles of a species that are held here now, some at a time, with numbers for ids and velocities as they are
  /// stored. Several threads call `use` at once. Waits.
  virtual void for_held(int species, const std::function<void(const PlasmaParticles&)>& use) const = 0;
  /// Particles held here now, counted. Waits.
  virtual std::int64_t count(int species) const = 0;

  /// Without a current: writes the charge density of all species and the background. The counted charge is exact: its
  /// sum over the grid is that of the particles. With a current: after a load() the density, and a current of zero;
  /// after a push() only the current, whose divergence is exactly the change of the counted charge.
  virtual void deposit(const DepositedFields<Real>& fields) = 0;
  /// Writes the charge density of the present positions, of particles that deposit a current. Waits.
  virtual void deposit_charge(const Field<Real>& density) { deposit({density}); }

  /// One step of all particles, by the pusher of the options (physics/plasma_push.hpp). A particle that leaves its tile
  /// goes to the new one; a full tile grows.
  virtual void push(const GatheredFields<Real>& fields, const PushTimes& times) = 0;

  /// Joins the work of push() that runs beside later calls (deposit and the field's solution) to the stream.
  /// Other calls do so themselves; a recording of steps (StepGraph) must end with it.
  virtual void join() const {}

  /// Sums with velocities a `kick` ahead of the stored ones, which stay. Waits. The same bits for any number of threads
  /// and from run to run.
  virtual std::vector<PlasmaSums> measure(const GatheredFields<Real>& fields, double kick) const = 0;

  /// Throws Error(numerics) with id and state if a particle was lost or doubled or is not a number. Cheap, for every
  /// step records what it finds; called once per batch of steps. Waits.
  virtual void check() = 0;

  /// Changes if memory was laid out anew: work recorded before is void.
  virtual std::uint64_t layout_version() const { return 0; }

  /// Present bytes on the device.
  virtual std::int64_t device_bytes() const = 0;
};

/// Real is float or double. `counts`: expected particles per species, for the first size of the memory. `ranks`: null
/// for one process.
template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles(const Device& device, const PlasmaOptions& options,
                                                           const std::vector<std::int64_t>& counts,
                                                           std::shared_ptr<Communicator> ranks = nullptr);
/// Throws Error(input) if the field solver of the options wants what particles do not deposit or gather.
void check_loops(const PlasmaOptions& options);
/// Expected bytes on the device, for `plan`: of `counts` particles in this part of the tiles.
std::int64_t tiled_bytes(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                         bool double_precision, double part = 1);

// The CUDA side (plasma/tiled_particles_cuda_*.cu); present if cuda_built.
template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles_cuda(const Device& device, const PlasmaOptions& options,
                                                                const std::vector<std::int64_t>& counts,
                                                                std::shared_ptr<Communicator> ranks);
template <class Real>
std::int64_t tiled_bytes_cuda(const PlasmaOptions& options, const std::vector<std::int64_t>& counts, double part);

}  // namespace pergola

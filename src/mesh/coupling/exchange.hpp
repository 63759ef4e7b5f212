#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"
#include "device/stage_clock.hpp"
#include "mesh/grid.hpp"
#include "mesh/options.hpp"

namespace pergola {

class DeviceMessages;
class RowDomains;

/// Particles that give their mass (or charge) to a mesh and take a force from it. z is not looked at in two dimensions.
template <class Real>
struct MeshParticles {
  std::int64_t count = 0;
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  const Real* mass = nullptr;
  /// On a GPU: their numbers in an order in which those near each other in space follow each other; null: as they
  /// stand.
  const std::uint32_t* order = nullptr;
  bool same_mass = false;  // `mass` is one of 64 that are equal, and that all have; on the CPU
};

/// What a gather writes, one value per target; null for what is not wanted.
template <class Real>
struct MeshForces {
  Real *ax = nullptr, *ay = nullptr, *az = nullptr;
  Real* potential = nullptr;
};

/// Places that are no particles', and what is found there along each axis. On a GPU.
template <class Real>
struct MeshPlaces {
  std::int64_t count = 0;
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  Real* into[3] = {};
};

struct ExchangeOptions {
  Assignment assignment = Assignment::cic;
  Gradient gradient = Gradient::two_point;
  DensityRoute route = DensityRoute::automatic;
  /// Of a mesh in three dimensions each of these ranks has its planes only, a slab (mesh/slab_planes.hpp), and so has
  /// the density: particles go to the rank of the plane in which their cloud begins, or, where some have far more than
  /// others, to one that works on the row in which it begins, and forces come back. deposit(), gather() and
  /// gather_component() are then calls of all ranks, for all particles of the deposit. Null: one rank.
  std::shared_ptr<Communicator> ranks{};
  int slab_unit = 1;                            // ranks get multiples of this number of planes
  std::shared_ptr<DeviceMessages> messages{};   // of these on GPUs, with others; null: it makes its own
  bool by_rows = true;                          // where some ranks would get far more particles they go by rows
  std::shared_ptr<const RowDomains> domains{};  // which rank works on which rows then
  bool slabs() const { return ranks != nullptr; }
};

/// The traffic between particles and one mesh, on one device: mass to the cells, forces back with the same weights.
///
/// A step: deposit() makes a density; the caller solves for the potential; set_potential() makes the force field (or
/// set_forces() takes it by rows); gather() brings forces to the particles. With slabs fetch_planes_around() stands
/// before set_potential(), and every call is made by all ranks.
/// Always: masses are counted in whole quanta, so that the density depends neither on the order of the particles nor on
/// threads, devices or ranks. Positions may be given in any order; cell order makes it fast. On one rank only outside()
/// and deposited_quanta() wait for a GPU. In a periodic box a position must lie within one side of the box (it is
/// wrapped). In an isolated one particles nearer than isolated_margin cells to a face, or outside, give no mass to the
/// mesh and feel the mass on it as a point at its centre of mass.
template <class Real>
class MeshExchange {
 public:
  virtual ~MeshExchange() = default;

  /// Bytes that the arrays behind `scratch` need: the force field, or the fixed-point sums, whichever is larger (they
  /// do not live at the same time).
  virtual std::int64_t scratch_bytes() const = 0;
  /// What of it deposit() uses. On a GPU, in a periodic box, `scratch` may overlap the field where it ends behind it
  /// and begins at least a plane of the field behind its beginning.
  virtual std::int64_t sum_bytes() const { return scratch_bytes(); }
  /// Bytes that this object holds itself once it has worked on that many particles.
  virtual std::int64_t own_bytes(std::int64_t particles) const = 0;
  /// The largest message between GPUs, sent or received, in bytes. Its buffers are not counted in own_bytes().
  virtual std::int64_t message_bytes(std::int64_t /*particles*/) const { return 0; }

  /// On GPUs with slabs, ahead of a deposit() of the same particles: they go to the ranks that have their planes. A
  /// call of all ranks. Stage: "to slabs".
  virtual void bring(const MeshParticles<Real>&, StageClock&) {}
  /// Density in the cells of the grid into `density` (zero in its padding), from masses counted in whole `quantum`s
  /// (physics::mass_quantum): the sum over the cells is exactly the sum over the particles on the mesh, and the same
  /// for any order of the particles. Stages: "cell assignment", "histogram", "density".
  virtual void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
                       StageClock& clock) = 0;
  /// The sum over the cells of the last deposit, in quanta. Waits; with slabs a call of all ranks.
  virtual std::int64_t deposited_quanta() = 0;
  /// Particles that the last deposit left out, of all ranks. Waits.
  virtual std::int64_t outside() = 0;

  /// Planes of other ranks that set_potential() and gather() read below and above those of a field, which
  /// has room for them there; and what fetches them, a call of all ranks. Without slabs there are none.
  virtual int planes_below() const { return 0; }
  virtual int planes_above() const { return 0; }
  virtual void fetch_planes_around(const Field<Real>&) {}

  /// The force field −∇φ by the stencil of the options into `scratch`.
  virtual void set_potential(const Field<const Real>& potential, void* scratch) = 0;
  /// Rows of a force field that was differentiated elsewhere (Gradient::spectral), on the CPU, by any thread; in two
  /// dimensions a row is a plane. When all are there fetch_forces_around() gets those of other ranks' planes that
  /// gather() reads, a call of all ranks.
  virtual void set_forces(const ForceRows<Real>&, void* /*scratch*/) {
    throw Error(ErrorKind::input, "mesh: forces are set by rows on the CPU only");
  }
  virtual void fetch_forces_around(void* /*scratch*/) {}

  /// Forces at the particles' places with the weights of the deposit. `index`: which particles, null for the first
  /// `count`. `potential`: the field itself, read only where forces.potential is wanted.
  virtual void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
                      const Field<const Real>& potential, double gravitational_constant, const MeshForces<Real>& forces,
                      const void* scratch) = 0;
  /// One component of the force alone, 0 to 2, or 3 for the potential, from a field that holds it. On a GPU.
  virtual void gather_component(int component, const MeshParticles<Real>&, const std::int64_t* /*index*/,
                                std::int64_t /*count*/, const Field<const Real>& /*field*/,
                                double /*gravitational_constant*/, Real* /*into*/) {
    throw Error(ErrorKind::input, "mesh: component " + std::to_string(component) + " is gathered alone on a GPU only");
  }

  /// A component of the force at other places, roughly: that of the nearest plane, linear along it. With slabs
  /// bring_places() first sends the places to the ranks that have their planes. What is found stays there until
  /// give_places() sends it back. Calls of all ranks.
  virtual void bring_places(const MeshPlaces<Real>&) {}
  virtual void force_at_places(int component, const MeshPlaces<Real>&, const Field<const Real>& /*field*/) {
    throw Error(ErrorKind::input, "mesh: component " + std::to_string(component) + " is found at places on a GPU only");
  }
  virtual void give_places(const MeshPlaces<Real>&) {}

  /// Places of the particles in the order in which they should be stored, into `order`; stable. `work` has
  /// order_bytes(count) bytes.
  virtual std::int64_t order_bytes(std::int64_t count) const = 0;
  virtual void find_order(const MeshParticles<Real>& particles, std::uint32_t* order, void* work) = 0;
};

template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_cpu(const Device& device, const Grid& grid,
                                                           const ExchangeOptions& options);
/// With slabs: an exchange on the CPU for the planes of this rank, which gets the particles of all ranks that it needs.
template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_slabs(const Device& device, const Grid& grid,
                                                             const ExchangeOptions& options);
/// On a GPU, with slabs for particles that are in those of this rank, which the next one brings there.
template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_cuda(const Device& device, const Grid& grid,
                                                            const ExchangeOptions& options);
template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_slabs_cuda(const Device& device, const Grid& grid,
                                                                  const ExchangeOptions& options);

/// For the device that it is given.
template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange(const Device& device, const Grid& grid,
                                                       const ExchangeOptions& options) {
  if constexpr (cuda_built) {
    if (device.is_cuda())
      return options.slabs() ? make_mesh_exchange_slabs_cuda<Real>(device, grid, options)
                             : make_mesh_exchange_cuda<Real>(device, grid, options);
  }
  return options.slabs() ? make_mesh_exchange_slabs<Real>(device, grid, options)
                         : make_mesh_exchange_cpu<Real>(device, grid, options);
}

/// A mesh of ranks on GPUs, and its exchange with particles, as users of memory that the caller provides. Particles
/// received from other ranks stay in `arrivals` from a deposit to the last gather of its particles. `way` has, for as
/// long, one number per particle of this rank: the order in which they were sent. Without this call the exchange takes
/// memory of its own.
class LentArrivals {
 public:
  virtual ~LentArrivals() = default;
  virtual void lend_arrivals(const LentMemory& arrivals, const LentMemory& way) = 0;
};

}  // namespace pergola

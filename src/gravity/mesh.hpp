#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/key.hpp"
#include "comm/communicator.hpp"
#include "gravity/solver.hpp"
#include "mesh/coupling/exchange.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Particle-mesh gravity (Hockney & Eastwood 1988; Aubert, Amini & David).
///
/// Steps: mass of the particles to a mesh (mesh/coupling/exchange.hpp), Poisson's equation there (mesh/poisson.hpp),
/// forces back to the particles with the same weights. Softening is that of the mesh, about one cell.
/// Mass is added up in whole numbers of mass_quantum(), so the density has the same bits for any order of the particles
/// and any number of threads or ranks.
template <class Real>
std::unique_ptr<Solver<Real>> make_mesh_solver(const SolverOptions& options, const Device& device);

/// The same for distributed particles: prepare() takes a rank's own, and each rank has its planes of the mesh
/// (mesh/slab_planes.hpp). All ranks call prepare() and evaluate(), for all particles of each rank. The same bits on
/// any number of ranks.
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_mesh(const SolverOptions& options, const Device& device,
                                                    std::shared_ptr<Communicator> ranks);

/// The mesh of TreePM. On a GPU it works in memory of the caller.
template <class Real>
class SmoothedMesh : public Solver<Real> {
 public:
  /// Of device_bytes(), what is the caller's. 0: nothing, on the CPU.
  virtual std::int64_t borrowed_bytes() const = 0;
  /// From the next prepare() on: memory at a multiple of 256 bytes, which is the mesh's until the last evaluate() of
  /// its sources, and their numbers in an order in which those near each other in space follow each other; null:
  /// unknown.
  virtual void lend(std::byte* memory, const std::uint32_t* order) = 0;
  /// On a GPU, for the next evaluate(): accelerations are wanted at other places too, with less accuracy. The mesh
  /// calls `places` when it needs these places, and `there` when the work for them has been queued. All ranks give
  /// places, or none does. With ranks `there` comes before the results of the targets.
  using Places = std::function<std::optional<MeshPlaces<Real>>()>;
  virtual void serve_first(const Places& places, const std::function<void()>& there) = 0;
};

/// What a mesh is to carry for TreePM: Plummer's law with this ε, filtered by exp(−(k a)²/2), a = `smoothing`; 0: no
/// filter. In units of length.
struct SmoothedLaw {
  double smoothing = 0, softening = 0;
};

/// The same with an FFT for such a law. In open space particles keep physics::rounded_margin cells away from the faces
/// of the box. With ranks as make_distributed_mesh().
template <class Real>
std::unique_ptr<SmoothedMesh<Real>> make_smoothed_mesh(const SolverOptions& options, const Device& device,
                                                       const SmoothedLaw& law,
                                                       std::shared_ptr<Communicator> ranks = nullptr);

// gravity/mesh_entry.cpp
const SolverInfo& mesh_info();
/// Whether gravity.mesh.boundary is left open. The tree and TreePM then take it from the box, if there is one.
bool boundary_is_open(const SolverOptions& options);

/// The box of a mesh with every "auto" resolved. `stated_side`: BoxSize of the file or the model's own; 0: none. Throws
/// Error(input) that names the key when a periodic box has no side or the box does not hold the particles. They are
/// looked at piece by piece.
Box find_mesh_box(MeshOptions mesh, ParticleSource& particles, double stated_side);

/// The number of cells along an axis that is allowed (check_mesh_options) and nearest to n.
int nearest_mesh_size(int n);

/// The first conflict between options, if there is one; check_mesh_options throws it as Error(input).
std::optional<Conflict> mesh_conflict(const MeshOptions& mesh);
void check_mesh_options(const MeshOptions& mesh);

/// What the unit of mass on a mesh is found from.
struct MassRange {
  std::int64_t count = 0;
  double total = 0, least = std::numeric_limits<double>::infinity(), largest = 0;
  void add(double mass) {
    ++count;
    total += mass;
    if (mass < least) least = mass;
    if (mass > largest) largest = mass;
  }
};

/// The unit in which a mesh counts mass in whole numbers: 2⁻²⁰ of a particle in single precision where all have the
/// same mass, else physics::mass_quantum. No sum over particles can overflow.
double mass_quantum(const MassRange& masses, bool single_precision);
/// Of masses on a device, in their order; where ranks are given, of those of all ranks in the order of ranks, which all
/// call this.
template <class Real>
double mass_quantum(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks = nullptr);

/// Whether a particle at this place gives its mass to the mesh: always in a periodic box; in an isolated one while it
/// keeps isolated_margin cells away from the faces.
bool on_mesh(const MeshOptions& mesh, const Vec3<double>& place);

}  // namespace pergola

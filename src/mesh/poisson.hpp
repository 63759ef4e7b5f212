#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "mesh/grid.hpp"
#include "mesh/options.hpp"

namespace pergola {

class DeviceMessages;

template <class Real>
using TakeForces = std::function<void(const ForceRows<Real>&)>;

/// Solves ∇²φ = 4πG ρ on a grid (∇²φ = factor · ρ for any factor).
///
/// layout() says how large a field the method needs. The caller provides its memory, writes the density there, calls
/// solve() and reads the potential from the same place. Forces in Fourier space come from spectral_force() after
/// solve(), on the CPU from solve_for_forces() and give_forces(), and on a GPU, with fewer fields, from find_modes()
/// and from_modes().
/// Calls launch on the device's stream and do not wait, unless a factory below says so. With ranks each has its planes
/// of the field (mesh/slab_planes.hpp), all ranks make all calls together, and the bits are those of one rank.
template <class Real>
class PoissonSolver {
 public:
  virtual ~PoissonSolver() = default;
  /// The field that solve() works on: the grid, padded in the rows and, for an isolated box, in every direction as the
  /// method needs. `data` is null: the caller provides bytes for size() values.
  virtual Field<Real> layout() const = 0;
  /// Memory that solve() may overwrite, in bytes, and that it holds itself.
  virtual std::int64_t scratch_bytes() const = 0;
  virtual std::int64_t own_bytes() const = 0;
  /// The largest message between GPUs, sent or received, in bytes. Its buffers are not counted in own_bytes().
  virtual std::int64_t message_bytes() const { return 0; }
  /// For how many planes below and above the field its memory must have room, for solve() with ranks.
  virtual int planes_around() const { return 0; }
  /// `field` holds the density in the cells of the grid and zero elsewhere; afterwards the potential, in an isolated
  /// box that wraps in cells −1 … n of every axis (what lies further out in the padding means nothing). In a periodic
  /// box the mean of the density is taken off and the mean of the potential is zero. field.data is a multiple of 64
  /// bytes, and so is scratch (of 256 bytes on a GPU).
  virtual void solve(const Field<Real>& field, double factor, void* scratch) = 0;
  /// The same solution differentiated in Fourier space: −∂φ/∂axis into `force`, laid out like the field. Only for the
  /// FFT, in an isolated box with a Gaussian filter; to be called after solve(), which then keeps what it needs in
  /// `scratch`.
  virtual void spectral_force(int axis, const Field<Real>& force, void* scratch) = 0;
  /// solve() for a caller that needs forces rather than the potential; on the CPU, where spectral_force() can be
  /// called. `field` has what forces are made of until the last one is found. spectral_force() gives φ for axis 3, and
  /// may write it there.
  virtual void solve_for_forces(const Field<Real>&, double /*factor*/, void* /*scratch*/) { throw_no_modes(); }
  /// The same for forces along all axes at once, in three dimensions: `across` is another field, which is read until
  /// give_forces() has called take(rows), from any thread, for all rows of the grid that are here. spectral_force()
  /// gives φ then, but no force across planes. With ranks the first is a call of all.
  virtual void solve_for_forces(const Field<Real>&, const Field<Real>& /*across*/, double /*factor*/,
                                void* /*scratch*/) {
    throw_no_modes();
  }
  virtual void give_forces(const Field<Real>&, const Field<Real>& /*across*/, void* /*scratch*/,
                           const TakeForces<Real>&) {
    throw_no_modes();
  }
  /// The same with two fields in place of three, on a GPU: from a density to the modes of its potential, in place, and
  /// from these −∂φ/∂axis, or φ for axis 3, into another field. Both have room for mode_values(), `work` has
  /// mode_work_bytes(). With ranks, axis 2 must be asked for first: then modes become those of planes, and gives(2) is
  /// false until they are found anew. There `spare` is a third field: a transposition moves the modes into it, after
  /// which `modes` and `spare` have exchanged their memory. Modes of planes leave it alone.
  virtual std::int64_t mode_values() const { return layout().size(); }
  virtual std::int64_t mode_work_bytes() const { return 0; }
  virtual void find_modes(Field<Real>& /*modes*/, Field<Real>& /*spare*/, double /*factor*/, void* /*work*/) {
    throw_no_modes();
  }
  virtual bool gives(int /*axis*/) const { return true; }
  virtual void from_modes(int /*axis*/, Field<Real>& /*modes*/, const Field<Real>& /*to*/, Field<Real>& /*spare*/,
                          void* /*work*/) {
    throw_no_modes();
  }
  /// A sentence about the last solve() that the user should see; empty when there is none.
  virtual std::string remark() const { return {}; }

 private:
  [[noreturn]] static void throw_no_modes() {
    throw Error(ErrorKind::input, "mesh: this solver of Poisson's equation keeps no modes of the potential");
  }
};

struct PoissonFftOptions {
  Laplacian laplacian = Laplacian::discrete;
  int deconvolve = 0;           // order of the assignment window to divide by twice (deposit and gather); 0: none
  double smoothing = 0;         // Gaussian filter exp(−(k a)²/2) with a in units of length; 0: none
  bool spectral_force = false;  // keep the transform for spectral_force()
  /// Each of these ranks has its planes of the field only (mesh/slab_planes.hpp), and all call solve(),
  /// spectral_force(), find_modes() and from_modes() together. Null: the field is whole. In two dimensions, on the CPU,
  /// a plane is a row, and a unit of them is a multiple of 16: that many rows are transformed together. On a GPU a
  /// spectral force is made from modes.
  std::shared_ptr<Communicator> ranks{};
  std::shared_ptr<DeviceMessages> messages{};  // of these on GPUs, with others; null: it makes its own
  int slab_unit = 1;                           // ranks get multiples of this number of planes
  /// In an isolated box the ranks with the first and the last plane also get planes −1 and n, next to them, where the
  /// field has room. Without this those planes mean nothing.
  bool planes_beyond = false;
  double softening = 0;  // of the law that is filtered: Plummer's ε; with a filter and the spectral Laplacian
};

/// FFT with the Green function of the options in a periodic box, with that of open space by zero padding (Hockney &
/// Eastwood 1988, section 6-5-4) in an isolated one: that of a Gaussian cloud where there is a filter, and right for
/// mass that keeps physics::rounded_margin cells away from the faces.
template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft(const Device& device, const Grid& grid,
                                                      const PoissonFftOptions& options);

/// Multigrid for the seven-point Laplacian in three dimensions; isolated: potential on the faces from a multipole
/// expansion, up to the hexadecapole, of the density about its centre of mass, which should be of one sign and well
/// inside the box. solve() waits for the norms that the tolerance asks for, once per cycle on the finest grid; with
/// tolerance 0 it does not wait. Throws Error(input) for what it cannot solve, Error(numerics) on a density with NaN.
/// With ranks each has its planes of the field, in units of multigrid_slab_unit(); all call solve() together.
template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_multigrid(const Device& device, const Grid& grid,
                                                            const MultigridOptions& options,
                                                            std::shared_ptr<Communicator> ranks = nullptr);
int multigrid_slab_unit(const Grid& grid, const MultigridOptions& options, int ranks);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "mesh/grid.hpp"
#include "mesh/multigrid/multigrid_levels.hpp"

namespace pergola::multigrid {

/// Where the potential of a level comes from when a descent begins.
enum class Start {
  zero,         // a correction
  given,        // what is there
  interpolated  // the solution of the next coarser level, as a whole potential (full multigrid)
};

/// Sums of squares over the cells of the finest level.
struct Norms {
  double residual = 0, source = 0, potential = 0;
};

/// The loops over cells that the cycles need, one implementation per device: mesh/multigrid/multigrid_cpu.cpp and
/// mesh/multigrid/multigrid_cuda.cuh. Each level has a potential and a source; the formulas stand in
/// physics/poisson_stencil.hpp. For the full approximation scheme of a nonlinear operator, descend() would also average
/// the potential and add the coarse operator of it to the coarse source, and ascend() interpolate the difference to it.
template <class Real>
class Loops {
 public:
  virtual ~Loops() = default;
  virtual std::int64_t scratch_bytes() const = 0;
  virtual std::int64_t own_bytes() const = 0;
  /// As of PoissonSolver.
  virtual int planes_around() const = 0;

  /// Takes the density from `field`, which becomes the memory of the finest potential: source = factor · density, less
  /// its mean in a periodic box; in an isolated one the multipole expansion is made.
  virtual void begin(const Field<Real>& field, double factor, void* scratch) = 0;
  /// Averages the source of a level over the cells of the next.
  virtual void average_source(int level) = 0;
  /// Adds what the potential on the faces of an isolated box gives to the source of a level.
  virtual void add_walls(int level) = 0;
  /// Red-black sweeps, then the residual averaged into the source of the next level.
  virtual void descend(int level, Start start, int sweeps) = 0;
  /// Adds the interpolated potential of the next level, then red-black sweeps. `measured`: norms() comes next.
  virtual void ascend(int level, int sweeps, bool measured) = 0;
  /// The potential of the coarsest level from its source, to rounding.
  virtual void solve_coarsest() = 0;
  /// Waits for the device.
  virtual Norms norms() = 0;
  /// Leaves the potential in the field of begin(), with mean zero in a periodic box.
  virtual void finish() = 0;
};

/// With ranks, each with its planes of some levels (mesh/multigrid/multigrid_slabs.hpp), all make all calls together.
template <class Real>
std::unique_ptr<Loops<Real>> make_loops_cpu(const Device& device, const std::vector<Level<Real>>& levels,
                                            std::shared_ptr<Communicator> ranks);
template <class Real>
std::unique_ptr<Loops<Real>> make_loops_cuda(const Device& device, const std::vector<Level<Real>>& levels,
                                             std::shared_ptr<Communicator> ranks);

}  // namespace pergola::multigrid

#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "mesh/grid.hpp"
#include "mesh/multigrid/multigrid_levels.hpp"
#include "mesh/slab_planes.hpp"

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

/// The loops over cells that the cycles (multigrid.cpp) need, one implementation per device: multigrid_cpu.cpp and
/// multigrid_cuda.cuh (compiled once per number type, for its kernels are many). Each level has a potential and a
/// source; the formulas stand in physics/poisson_stencil.hpp.
///
/// A V-cycle from a level is descend() on it and on each coarser level, solve_coarsest(), and ascend() back. Before the
/// first one begin() takes the density; after the last one finish() leaves the potential.
/// Sums are kept by plane and added in their order, so that the bits depend neither on threads nor on ranks.
/// For the full approximation scheme of a nonlinear operator, descend() would also average the potential and add the
/// coarse operator of it to the coarse source, and ascend() interpolate the difference to it.
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

/// With ranks each has its planes of some levels (LevelSlabs), and all make all calls together.
template <class Real>
std::unique_ptr<Loops<Real>> make_loops_cpu(const Device& device, const std::vector<Level<Real>>& levels,
                                            std::shared_ptr<Communicator> ranks);
template <class Real>
std::unique_ptr<Loops<Real>> make_loops_cuda(const Device& device, const std::vector<Level<Real>>& levels,
                                             std::shared_ptr<Communicator> ranks);

/// Ranks share out the planes of the finest levels, all others are whole on every rank. A level is shared out where all
/// ranks' copies of it would be more than an eighth of the finest grid, as long as all ranks have planes of it.
template <class Real>
int shared_levels(const std::vector<Level<Real>>& levels, int ranks) {
  const auto most = levels.size() < 2 ? 1 : levels.size() - 1;
  std::size_t count = 1;
  int unit = levels[0].fz;
  while (count < most && 8 * ranks * levels[count].cells() > levels[0].cells() &&
         unit * levels[count].fz * ranks <= levels[0].nz)
    unit *= levels[count++].fz;
  return static_cast<int>(count);
}

/// Planes of the finest level that make one plane of the first that is whole: shares of all levels are cut there, and
/// at even planes, for GPUs take them by pairs.
template <class Real>
int slab_unit(const std::vector<Level<Real>>& levels, int shared) {
  int unit = 2 / levels[static_cast<std::size_t>(shared - 1)].fz;
  for (int level = 0; level < shared; ++level) unit *= levels[static_cast<std::size_t>(level)].fz;
  return unit;
}

/// Who has which planes of the levels, and of how many next to its own a rank has copies, below and above. Without
/// ranks all are here.
template <class Real>
class LevelSlabs {
 public:
  LevelSlabs(const std::vector<Level<Real>>& levels, std::shared_ptr<Communicator> ranks, int copies = 1)
      : ranks_(std::move(ranks)), copies_(copies) {
    for (const Level<Real>& level : levels) planes_.push_back(level.nz);
    if (!ranks_) return;
    const int shared = shared_levels(levels, ranks_->size());
    int unit = slab_unit(levels, shared);
    for (int k = 0; k < shared; ++k) {
      const Level<Real>& level = levels[static_cast<std::size_t>(k)];
      slabs_.emplace_back(*ranks_, level.nz, unit);
      around_.emplace_back(*ranks_, slabs_.back(), copies, copies,
                           level.periodic ? BeyondPlanes::wrap : BeyondPlanes::none);
      unit /= level.fz;
    }
    fresh_.assign(slabs_.size(), false);
  }

  bool shared(int level) const { return level < static_cast<int>(slabs_.size()); }
  int first(int level) const { return shared(level) ? slab(level).first() : 0; }
  int count(int level) const { return shared(level) ? slab(level).count() : planes_[static_cast<std::size_t>(level)]; }
  /// Planes below the own ones of a level, and above.
  int copies(int level) const { return shared(level) ? copies_ : 0; }
  const PlanesAround& around(int level) const { return around_[static_cast<std::size_t>(level)]; }

  /// Planes next to a rank's own, of values that have room for them; nothing where they are still what they were.
  void fetch_around(const Device& device, int level, Real* values, std::int64_t plane) {
    if (!shared(level) || fresh_[static_cast<std::size_t>(level)]) return;
    around_[static_cast<std::size_t>(level)].fetch(*ranks_, device, reinterpret_cast<std::byte*>(values),
                                                   static_cast<std::size_t>(plane) * sizeof(Real));
    fresh_[static_cast<std::size_t>(level)] = true;
  }
  void set_fresh(int level, bool fresh) {
    if (shared(level)) fresh_[static_cast<std::size_t>(level)] = fresh;
  }

  /// Gathers on all ranks what each has for every `per` planes of a shared level; a rank's own stands at its place.
  template <class Value>
  void gather(int level, Value* all, std::int64_t values, int per = 1) {
    if (shared(level)) ranks_->all_gather_in_place(all, pieces<Value>(level, values, per));
  }
  /// The bytes that each rank has of that.
  template <class Value>
  std::vector<std::size_t> pieces(int level, std::int64_t values, int per = 1) const {
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < ranks_->size(); ++rank)
      bytes.push_back(static_cast<std::size_t>(slab(level).count(rank) / per * values) * sizeof(Value));
    return bytes;
  }

 private:
  const SlabPlanes& slab(int level) const { return slabs_[static_cast<std::size_t>(level)]; }

  std::shared_ptr<Communicator> ranks_;
  int copies_;
  std::vector<int> planes_;
  std::vector<SlabPlanes> slabs_;  // of the shared levels
  std::vector<PlanesAround> around_;
  std::vector<bool> fresh_;  // whether the planes next to the rank's own are there
};

}  // namespace pergola::multigrid

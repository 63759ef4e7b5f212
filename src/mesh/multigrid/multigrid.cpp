// Poisson's equation by multigrid: levels of coarser grids, cycles over them, and when to stop. The work on cells is
// done by Loops, one implementation per device (multigrid_loops.hpp). A V-cycle goes down the levels (red-black sweeps,
// then the averaged residual becomes the source of the next level), solves the coarsest level directly by its
// eigenvectors, and comes up again (interpolated correction, sweeps). Boundaries are periodic, or isolated: then walls
// have the potential of a multipole expansion of the density.
#include "mesh/poisson.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "mesh/multigrid/multigrid_levels.hpp"
#include "mesh/multigrid/multigrid_loops.hpp"

namespace pergola::multigrid {

namespace {

/// Widths of cells are in the units of the box; the stencil has 1/h² along each axis.
template <class Real>
Level<Real> make_level(const std::array<int, 3>& cells, const Grid& grid) {
  Level<Real> level;
  level.nx = cells[0], level.ny = cells[1], level.nz = cells[2];
  level.periodic = grid.periodic();
  level.hx = grid.box.side.x / cells[0], level.hy = grid.box.side.y / cells[1], level.hz = grid.box.side.z / cells[2];
  level.stencil = {static_cast<Real>(1 / (level.hx * level.hx)), static_cast<Real>(1 / (level.hy * level.hy)),
                   static_cast<Real>(1 / (level.hz * level.hz))};
  return level;
}

/// Cells of the next grid, or the same when there is none.
std::array<int, 3> coarsened(const std::array<int, 3>& cells, const std::array<double, 3>& h) {
  const double finest = std::min({h[0], h[1], h[2]});
  std::array<int, 3> next = cells;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (cells[axis] % 2) return cells;
    if (h[axis] > std::numbers::sqrt2 * finest) continue;
    if (cells[axis] < 4) return cells;
    next[axis] = cells[axis] / 2;
  }
  return next;
}

}  // namespace

/// Levels from the finest on. Axes are halved only while their cells are about as wide as the finest ones, so that the
/// sweeps smooth along all axes. It ends at `direct_cells` cells per axis, or where an axis has an odd number of them.
template <class Real>
std::vector<Level<Real>> make_levels(const Grid& grid, int limit, int direct_cells) {
  std::array<int, 3> cells = grid.cells;
  std::vector<Level<Real>> levels{make_level<Real>(cells, grid)};
  while (limit == 0 || static_cast<int>(levels.size()) < limit) {
    Level<Real>& last = levels.back();
    if (*std::max_element(cells.begin(), cells.end()) <= direct_cells) break;
    const std::array<int, 3> next = coarsened(cells, {last.hx, last.hy, last.hz});
    if (next == cells) break;
    last.fx = cells[0] / next[0], last.fy = cells[1] / next[1], last.fz = cells[2] / next[2];
    cells = next;
    levels.push_back(make_level<Real>(cells, grid));
  }
  return levels;
}

/// Eigenvectors and eigenvalues of the second difference along each axis; each matrix is there with its transpose.
template <class Real>
AxisModes<Real> axis_modes(const Level<Real>& level) {
  AxisModes<Real> result;
  const std::array<int, 3> cells{level.nx, level.ny, level.nz};
  const std::array<double, 3> spacing{level.hx, level.hy, level.hz};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int n = cells[axis];
    const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    auto& mode = result.mode[axis];
    mode.resize(2 * square);
    for (int k = 0; k < n; ++k) {
      result.eigenvalue[axis].push_back(
          static_cast<Real>(physics::axis_eigenvalue(level.periodic, n, k, spacing[axis])));
      for (int j = 0; j < n; ++j)
        mode[static_cast<std::size_t>(k * n + j)] = mode[square + static_cast<std::size_t>(j * n + k)] =
            static_cast<Real>(physics::axis_mode(level.periodic, n, k, j));
    }
  }
  return result;
}

template std::vector<Level<float>> make_levels(const Grid& grid, int limit, int direct_cells);
template std::vector<Level<double>> make_levels(const Grid& grid, int limit, int direct_cells);
template AxisModes<float> axis_modes(const Level<float>& level);
template AxisModes<double> axis_modes(const Level<double>& level);

namespace {

/// Grids up to this many cells per axis are solved directly: that costs less than further levels.
constexpr int direct_cells = 16;

/// Throws for options that the solver cannot work with; names what was expected.
void validate(const Grid& grid, const MultigridOptions& options) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::input, "multigrid: " + what); };
  if (grid.dimensions != 3) refuse(fmt::format("a grid in {} dimensions, expected 3; use the FFT", grid.dimensions));
  for (const int n : grid.cells)
    if (n < 2 || n % 2) refuse(fmt::format("{} cells along an axis, expected an even number of at least 2", n));
  if (!(options.tolerance >= 0)) refuse(fmt::format("tolerance {}, expected at least 0", options.tolerance));
  if (options.cycles < 1) refuse(fmt::format("{} cycles, expected at least 1", options.cycles));
  if (options.smoothing_before < 0 || options.smoothing_after < 0 ||
      options.smoothing_before + options.smoothing_after == 0)
    refuse(fmt::format("{} sweeps before and {} after, expected at least one in all", options.smoothing_before,
                       options.smoothing_after));
  if (options.levels < 0) refuse(fmt::format("{} levels, expected at least 1, or 0 for all", options.levels));
}

/// The cycles, for any device.
template <class Real>
class PoissonMultigrid final : public PoissonSolver<Real> {
 public:
  PoissonMultigrid(const Grid& grid, const MultigridOptions& options, std::vector<Level<Real>> levels, int planes,
                   std::unique_ptr<Loops<Real>> loops)
      : grid_(grid), options_(options), levels_(std::move(levels)), planes_(planes), loops_(std::move(loops)) {}

  Field<Real> layout() const override {
    return {nullptr, grid_.cells[0], grid_.cells[1], planes_, grid_.cells[0], grid_.periodic()};
  }
  std::int64_t scratch_bytes() const override { return loops_->scratch_bytes(); }
  std::int64_t own_bytes() const override { return loops_->own_bytes(); }
  int planes_around() const override { return loops_->planes_around(); }
  std::string remark() const override { return remark_; }

  void solve(const Field<Real>& field, double factor, void* scratch) override {
    remark_.clear();
    loops_->begin(field, factor, scratch);
    first_cycle();
    if (options_.tolerance == 0)
      for (int cycle = 1; cycle < options_.cycles; ++cycle) v_cycle(0, Start::given);
    else
      cycle_to_tolerance();
    loops_->finish();
  }

  void spectral_force(int, const Field<Real>&, void*) override {
    throw Error(ErrorKind::input, "multigrid: the spectral gradient needs poisson = \"fft\"");
  }

 private:
  int coarsest() const { return static_cast<int>(levels_.size()) - 1; }

  /// From nothing: full multigrid (a V-cycle on every level, each from the solution of the coarser one) or one V-cycle.
  void first_cycle() {
    const bool full = options_.cycle == MultigridOptions::Cycle::full;
    if (full)
      for (int level = 0; level < coarsest(); ++level) loops_->average_source(level);
    for (int level = 0; level <= (full ? coarsest() : 0); ++level) loops_->add_walls(level);
    if (!full) return v_cycle(0, Start::zero);
    loops_->solve_coarsest();
    for (int level = coarsest() - 1; level >= 0; --level) v_cycle(level, Start::interpolated);
  }

  /// From `finest` down and up again. On the way up the finest level may measure the residual in its last pass.
  void v_cycle(int finest, Start start) {
    for (int level = finest; level < coarsest(); ++level)
      loops_->descend(level, level == finest ? start : Start::zero, options_.smoothing_before);
    loops_->solve_coarsest();
    for (int level = coarsest() - 1; level >= finest; --level)
      loops_->ascend(level, options_.smoothing_after, level == 0 && options_.tolerance > 0);
  }

  /// Cycles on until ‖r‖ ≤ tolerance (‖f‖ + ‖A‖ ‖φ‖), until the residual is at the level of rounding and falls no more,
  /// or until `cycles` are done.
  void cycle_to_tolerance() {
    const double operator_norm = levels_.front().stencil.norm();
    double before = std::numeric_limits<double>::infinity();
    for (int cycle = 1;; ++cycle) {
      const Norms squares = loops_->norms();
      const double residual = std::sqrt(squares.residual);
      const double scale = std::sqrt(squares.source) + operator_norm * std::sqrt(squares.potential);
      if (!std::isfinite(residual + scale))
        throw Error(ErrorKind::numerics, "multigrid: the density or its potential is not finite");
      if (residual <= options_.tolerance * scale) return;
      // A cycle that is far from rounding takes off nine tenths and more.
      if (residual > 0.5 * before &&
          residual < 100 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * scale) {
        remark_ = fmt::format(
            "multigrid: the residual stays at {:.1e} of its scale, the rounding of the numbers, after {} cycles "
            "(tolerance {:.1e})",
            residual / scale, cycle, options_.tolerance);
        return;
      }
      if (cycle == options_.cycles) {
        remark_ = fmt::format("multigrid: the residual is {:.1e} of its scale after {} cycles (tolerance {:.1e})",
                              residual / scale, cycle, options_.tolerance);
        return;
      }
      before = residual;
      v_cycle(0, Start::given);
    }
  }

  Grid grid_;
  MultigridOptions options_;
  std::vector<Level<Real>> levels_;
  int planes_;  // of this rank
  std::unique_ptr<Loops<Real>> loops_;
  std::string remark_;
};

template <class Real>
std::unique_ptr<Loops<Real>> make_loops(const Device& device, const std::vector<Level<Real>>& levels,
                                        std::shared_ptr<Communicator> ranks) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_loops_cuda<Real>(device, levels, std::move(ranks));
  return make_loops_cpu<Real>(device, levels, std::move(ranks));
}

}  // namespace

}  // namespace pergola::multigrid

namespace pergola {

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_multigrid(const Device& device, const Grid& grid,
                                                            const MultigridOptions& options,
                                                            std::shared_ptr<Communicator> ranks) {
  multigrid::validate(grid, options);
  auto levels = multigrid::make_levels<Real>(grid, options.levels, multigrid::direct_cells);
  const int planes = multigrid::LevelSlabs<Real>(levels, ranks).count(0);
  auto loops = multigrid::make_loops<Real>(device, levels, std::move(ranks));
  return std::make_unique<multigrid::PoissonMultigrid<Real>>(grid, options, std::move(levels), planes,
                                                             std::move(loops));
}
template std::unique_ptr<PoissonSolver<float>> make_poisson_multigrid(const Device&, const Grid&,
                                                                      const MultigridOptions&,
                                                                      std::shared_ptr<Communicator>);
template std::unique_ptr<PoissonSolver<double>> make_poisson_multigrid(const Device&, const Grid&,
                                                                       const MultigridOptions&,
                                                                       std::shared_ptr<Communicator>);

/// Ranks own planes in multiples of this number, so that halved planes of shared levels stay with their owner.
int multigrid_slab_unit(const Grid& grid, const MultigridOptions& options, int ranks) {
  const auto levels = multigrid::make_levels<double>(grid, options.levels, multigrid::direct_cells);
  return multigrid::slab_unit(levels, multigrid::shared_levels(levels, ranks));
}

}  // namespace pergola

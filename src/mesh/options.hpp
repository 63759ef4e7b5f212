#pragma once
#include <array>
#include <string_view>

namespace pergola {

/// The cloud of a particle: nearest grid point, cloud in cell, triangular shaped cloud, piecewise cubic spline. The
/// number of cells that it touches along an axis.
enum class Assignment { ngp = 1, cic = 2, tsc = 3, pcs = 4 };
inline constexpr std::array<std::string_view, 4> assignment_names{"ngp", "cic", "tsc", "pcs"};

/// How the force follows from the potential.
enum class Gradient { two_point, four_point, spectral };
inline constexpr std::array<std::string_view, 3> gradient_names{"two-point", "four-point", "spectral"};

enum class Poisson { fft, multigrid };
inline constexpr std::array<std::string_view, 2> poisson_names{"fft", "multigrid"};

/// The Laplacian that the FFT inverts in a periodic box: that of the seven-point stencil or k².
enum class Laplacian { discrete, spectral };
inline constexpr std::array<std::string_view, 2> laplacian_names{"discrete", "spectral"};

/// How a GPU adds up the density: chunks of neighbouring particles first in shared memory, every particle in memory, or
/// chunks after a sort by cell. The same sums on every route.
enum class DensityRoute { automatic, atomic, sorted };
inline constexpr std::array<std::string_view, 3> density_route_names{"auto", "atomic", "sorted"};

struct MultigridOptions {
  enum class Cycle { full, v };
  Cycle cycle = Cycle::full;  // full: full multigrid first, then V-cycles
  double tolerance = 1e-5;    // stop at ‖r‖ ≤ tolerance (‖f‖ + ‖A‖ ‖φ‖); 0: after `cycles`
  int cycles = 20;            // at most
  int smoothing_before = 2;   // red-black sweeps
  int smoothing_after = 2;
  int levels = 0;  // 0: as many as the cells allow
};
inline constexpr std::array<std::string_view, 2> multigrid_cycle_names{"full", "v"};  // of MultigridOptions::Cycle

}  // namespace pergola

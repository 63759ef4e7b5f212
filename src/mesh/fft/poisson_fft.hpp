#pragma once
// What the FFT solvers of both devices share: lengths, wave numbers and Green factors.
#include <array>
#include <memory>
#include <vector>

#include "mesh/poisson.hpp"
#include "physics/split.hpp"

namespace pergola {

/// One axis of the transform: its length (twice the cells in an isolated box) and factors of the Green function. A mode
/// beyond the middle stands for a negative wave number and has the factors of length − mode.
struct FftAxis {
  int cells = 1;
  int length = 1;
  double spacing = 1;
  std::vector<double> wave_number;  // of modes 0 … length − 1; that of the middle is 0, for the force
  std::vector<double> eigenvalue;   // of modes 0 … length / 2, times unit_length²
  std::vector<double> window;       // of modes 0 … length / 2
};

struct FftAxes {
  std::array<FftAxis, 3> axis;
  double unit_length = 1;  // Green factors are in units of its square, so that they fit into single precision
  double smoothing = 0, softening = 0;      // in open space, where the Green function has them
  physics::SoftenedSplit<double> softened;  // in a periodic box; of k² unit_length²
  double modes() const { return double(axis[0].length) * axis[1].length * axis[2].length; }
};

/// Throws Error(input) for cells that are odd or fewer than two, and for options that do not fit the box.
FftAxes make_fft_axes(const Grid& grid, const PoissonFftOptions& options);

/// The transform of the open-space Green function with the windows of the axes, divided by the number of modes: real
/// and even, hence modes 0 … length / 2 of each axis, value [(kx (ny + 1) + ky) (nz + 1) + kz]. Where ranks are given
/// all call this, and each gets modes first … first + count − 1 of the x axis.
std::vector<double> open_space_green_transform(const FftAxes& axes, int threads, Communicator* ranks, int first,
                                               int count);

/// The same for modes first … first + count − 1 of the y axis, value [(kx count + ky) (nz + 1) + kz]. All ranks call.
std::vector<double> open_space_green_rows(const FftAxes& axes, int threads, Communicator& ranks, int first, int count);

/// The periodic counterpart, 1 / eigenvalue, in the same order; zero for the mean. For modes first … first + count − 1
/// of the x axis.
std::vector<double> periodic_green_transform(const FftAxes& axes, int threads, int first, int count);

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft_cpu(const Device& device, const Grid& grid,
                                                          const PoissonFftOptions& options);
template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft_cuda(const Device& device, const Grid& grid,
                                                           const PoissonFftOptions& options);
/// For ranks, each with its planes.
template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_slabs_cuda(const Device& device, const Grid& grid,
                                                             const PoissonFftOptions& options);

}  // namespace pergola

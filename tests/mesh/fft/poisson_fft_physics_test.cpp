#include "mesh/poisson_fixture.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class PoissonFftPhysics : public DeviceTest {};

using Modes = std::array<int, 3>;

Vec3<double> wave_vector(const Grid& grid, const Modes& m) {
  return {2 * M_PI * m[0] / grid.box.side.x, 2 * M_PI * m[1] / grid.box.side.y,
          grid.dimensions == 3 ? 2 * M_PI * m[2] / grid.box.side.z : 0.0};
}
CellFunction wave(const Vec3<double>& k, double phase = 0.3) {
  return [=](double x, double y, double z) { return std::cos(k.x * x + k.y * y + k.z * z + phase); };
}

/// The seven-point Laplacian of a periodic function on the grid: the difference equation itself, without Fourier.
std::vector<double> stencil_laplacian(const Grid& grid, const std::vector<double>& f) {
  const auto [nx, ny, nz] = grid.cells;
  const auto h = grid.spacing();
  const auto at = [&, nx = nx, ny = ny, nz = nz](int i, int j, int k) {
    return f[(std::size_t((k + nz) % nz) * ny + (j + ny) % ny) * nx + (i + nx) % nx];
  };
  std::vector<double> result;
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const double centre = 2 * at(i, j, k);
        double sum = (at(i - 1, j, k) - centre + at(i + 1, j, k)) / (h[0] * h[0]) +
                     (at(i, j - 1, k) - centre + at(i, j + 1, k)) / (h[1] * h[1]);
        if (grid.dimensions == 3) sum += (at(i, j, k - 1) - centre + at(i, j, k + 1)) / (h[2] * h[2]);
        result.push_back(sum);
      }
  return result;
}

const std::vector<Grid>& periodic_grids() {
  static const std::vector<Grid> grids{make_grid({16, 16, 16}, {1, 1, 1}, Boundary::periodic),
                                       make_grid({24, 20, 30}, {1.2, 2.0, 0.9}, Boundary::periodic),
                                       make_grid({14, 64, 10}, {3, 1, 2}, Boundary::periodic),
                                       make_grid({36, 50, 1}, {1.8, 1.0, 1}, Boundary::periodic, 2),
                                       make_grid({64, 32, 1}, {2, 2, 1}, Boundary::periodic, 2)};
  return grids;
}

/// Reference: the seven-point stencil applied to the solution gives back factor times the density. Broad-band density
/// with a mean that is to be taken off.
TEST_P(PoissonFftPhysics, StencilOfThePotentialIsTheDensityWithoutItsMean) {
  const auto density = [](double x, double y, double z) {
    return 3.0 + std::sin(57 * x * x + 3 * y) + std::cos(31 * y * z - 40 * x * y + 11 * z * x);
  };
  for (const Grid& grid : periodic_grids()) {
    SolverOnGrid<double> on_grid(device(), grid, {});
    const auto rho = on_cells(grid, density);
    const auto phi = on_grid.solve(rho, 2.5);
    double mean = 0, potential_mean = 0;
    for (std::size_t i = 0; i < rho.size(); ++i) mean += rho[i], potential_mean += phi[i];
    mean /= double(rho.size());
    EXPECT_NEAR(potential_mean / double(rho.size()), 0, 1e-14 * largest(phi));
    auto expected = rho;
    for (double& value : expected) value = 2.5 * (value - mean);
    EXPECT_LT(largest_difference(stencil_laplacian(grid, phi), expected), 1e-11) << grid.cells[0];
  }
}

/// Reference: ∇² cos(k·x) = −k² cos(k·x), exact for the spectral Laplacian up to and including waves of two cells.
TEST_P(PoissonFftPhysics, SpectralPotentialOfAPlaneWaveIsExact) {
  for (const Grid& grid : periodic_grids())
    for (const Modes& m :
         {Modes{1, 0, 0}, Modes{0, 1, 0}, Modes{-2, 3, 1}, Modes{5, -4, 2}, Modes{grid.cells[0] / 2, 1, 0}}) {
      PoissonFftOptions options;
      options.laplacian = Laplacian::spectral;
      const auto k = wave_vector(grid, m);
      // A wave of two cells along x is even in k_x: cos(k_x x) with extrema at the centres.
      const auto rho =
          2 * m[0] == grid.cells[0]
              ? on_cells(grid, [&](double x, double y, double) { return std::sin(k.x * x) * std::cos(k.y * y); })
              : on_cells(grid, wave(k));
      auto expected = rho;
      for (double& value : expected) value /= -dot(k, k);
      SolverOnGrid<double> twice(device(), grid, options);
      EXPECT_LT(largest_difference(twice.solve(rho), expected), 1e-13 * largest(expected));
      SolverOnGrid<float> once(device(), grid, options);
      EXPECT_LT(largest_difference(once.solve(rho), expected), 2e-6 * largest(expected));
    }
}

/// Reference: the potential −cos(k·x)/k² of the continuous plane wave.
TEST_P(PoissonFftPhysics, DiscretePotentialConvergesWithTheSquareOfTheSpacing) {
  double error[2];
  for (int level = 0; level < 2; ++level) {
    const int n = 20 << level;
    const Grid grid = make_grid({n, n, 2 * n}, {1, 1, 1.5}, Boundary::periodic);
    const auto k = wave_vector(grid, {2, -1, 3});
    const auto rho = on_cells(grid, wave(k));
    auto expected = rho;
    for (double& value : expected) value /= -dot(k, k);
    SolverOnGrid<double> on_grid(device(), grid, {});
    error[level] = largest_difference(on_grid.solve(rho), expected);
  }
  EXPECT_NEAR(error[0] / error[1], 4, 0.2);
}

/// Reference: −∇ cos(k·x)/(−k²) = −k sin(k·x)/k².
TEST_P(PoissonFftPhysics, SpectralForceOfAPlaneWaveIsExact) {
  for (const Grid& grid : periodic_grids()) {
    PoissonFftOptions options;
    options.laplacian = Laplacian::spectral;
    options.spectral_force = true;
    const auto k = wave_vector(grid, {2, -3, 1});
    const double component[3] = {k.x, k.y, k.z};
    SolverOnGrid<double> on_grid(device(), grid, options);
    const auto phi = on_grid.solve(on_cells(grid, wave(k)));
    EXPECT_NEAR(largest(phi), 1 / dot(k, k), 0.02 / dot(k, k));
    for (int axis = 0; axis < grid.dimensions; ++axis) {
      const auto expected = on_cells(grid, [&](double x, double y, double z) {
        return -component[axis] / dot(k, k) * std::sin(k.x * x + k.y * y + k.z * z + 0.3);
      });
      EXPECT_LT(largest_difference(on_grid.spectral_force(axis), expected), 1e-13 / std::sqrt(dot(k, k)));
    }
  }
}

/// Reference: the derivative of a wave of two cells vanishes at the centres, and Σ ρ ∂φ/∂x = 0 on the grid for any
/// density when the derivative is antisymmetric.
TEST_P(PoissonFftPhysics, SpectralForceHasNoNetForceAndNoWaveOfTwoCells) {
  const Grid grid = make_grid({12, 10, 14}, {1, 1, 1}, Boundary::periodic);
  PoissonFftOptions options;
  options.spectral_force = true;
  SolverOnGrid<double> on_grid(device(), grid, options);
  const auto rho = on_cells(grid, [](double x, double y, double z) {
    return std::sin(213 * x + 97 * y * y) + std::cos(411 * z * x) + (x < 0.09 && y < 0.1 ? 5 : 0);
  });
  on_grid.solve(rho);
  for (int axis = 0; axis < 3; ++axis) {
    const auto force = on_grid.spectral_force(axis);
    double net = 0;
    std::vector<double> wave_of_two_cells(rho.size(), 0.0);  // in every line along the axis
    const std::size_t length = grid.cells[axis], stride = axis == 0 ? 1 : axis == 1 ? 12 : 120;
    for (std::size_t i = 0; i < rho.size(); ++i) {
      const std::size_t place = i / stride % length;
      net += rho[i] * force[i];
      wave_of_two_cells[i - place * stride] += place % 2 ? -force[i] : force[i];
    }
    EXPECT_NEAR(net, 0, 1e-12 * double(rho.size()) * largest(force)) << axis;
    EXPECT_LT(largest(wave_of_two_cells), 1e-13 * double(length) * largest(force)) << axis;
  }
}

/// Reference: a plane wave that is multiplied by the transform of the window, (sin(kh/2)/(kh/2))^order, for the deposit
/// and again for the gather comes back whole; a Gaussian filter takes exp(−(ka)²/2) of it.
TEST_P(PoissonFftPhysics, WindowsAreDividedOutAndSmoothingIsGaussian) {
  const Grid grid = make_grid({32, 24, 20}, {1, 1.5, 1}, Boundary::periodic);
  const auto h = grid.spacing();
  const auto k = wave_vector(grid, {5, 3, -4});
  const auto rho = on_cells(grid, wave(k));
  SolverOnGrid<double> plain(device(), grid, {});
  const auto reference = plain.solve(rho);
  for (int order = 1; order <= 3; ++order) {
    PoissonFftOptions options;
    options.deconvolve = order;
    SolverOnGrid<double> on_grid(device(), grid, options);
    double seen = 1;
    const double component[3] = {k.x, k.y, k.z};
    for (int axis = 0; axis < 3; ++axis)
      seen *= std::pow(std::sin(component[axis] * h[axis] / 2) / (component[axis] * h[axis] / 2), 2 * order);
    auto damped = rho;
    for (double& value : damped) value *= seen;
    EXPECT_LT(largest_difference(on_grid.solve(damped), reference), 1e-13 * largest(reference)) << order;
  }
  PoissonFftOptions smooth;
  smooth.smoothing = 0.03;  // leaves 0.45 of the wave
  SolverOnGrid<double> on_grid(device(), grid, smooth);
  auto filtered = reference;
  for (double& value : filtered) value *= std::exp(-dot(k, k) * 0.03 * 0.03 / 2);
  EXPECT_LT(largest_difference(on_grid.solve(rho), filtered), 1e-13 * largest(filtered));
}

INSTANTIATE_TEST_SUITE_P(Devices, PoissonFftPhysics, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

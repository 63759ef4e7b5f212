#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "mesh/poisson_fixture.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class PoissonAgreement : public DeviceTest {
 protected:
  std::vector<double> multigrid(const Grid& grid, double tolerance, const std::vector<double>& density) {
    const Device where = device();
    MultigridOptions options;
    options.tolerance = tolerance;
    auto solver = make_poisson_multigrid<double>(where, grid, options);
    Buffer<double> values(where, density);
    Buffer<std::byte> scratch(where, solver->scratch_bytes());
    Field<double> field = solver->layout();
    field.data = values.data();
    solver->solve(field, 4 * std::numbers::pi, scratch.data());
    EXPECT_EQ(solver->remark(), "");
    return values.to_host();
  }
  std::vector<double> fft(const Grid& grid, const std::vector<double>& density) {
    return SolverOnGrid<double>(device(), grid, {}).solve(density, 4 * std::numbers::pi);
  }
};

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}
std::vector<double> difference(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

// Each is the other's reference: both invert the seven-point Laplacian.
TEST_P(PoissonAgreement, PeriodicPotentialsDifferByTheTolerance) {
  const Grid grid = make_grid({48, 32, 40}, {3, 2, 2}, Boundary::periodic);
  std::mt19937_64 random(5);
  const auto density =
      on_cells(grid, [&](double, double, double) { return static_cast<double>(random() >> 11) * 0x1p-53; });
  const auto expected = fft(grid, density);
  // An error of the potential is at most the residual by the smallest eigenvalue, (2π/3)² of the longest wave.
  const auto h = grid.spacing();
  const double largest_eigenvalue = 4 * (1 / (h[0] * h[0]) + 1 / (h[1] * h[1]) + 1 / (h[2] * h[2]));
  const double smallest_eigenvalue = 4.3;
  for (const double tolerance : {1e-5, 1e-8, 1e-12})
    EXPECT_LT(norm(difference(multigrid(grid, tolerance, density), expected)),
              2 * tolerance * largest_eigenvalue / smallest_eigenvalue * norm(expected));
}

// The FFT knows the open space exactly, multigrid by the multipole expansion on the faces.
TEST_P(PoissonAgreement, IsolatedPotentialsApproachEachOtherWithTheSquareOfTheSpacing) {
  double coarse = 0;
  for (const int n : {24, 48}) {
    const Grid grid = make_grid({n, n, n}, {1, 1, 1}, Boundary::isolated);
    const auto density = on_cells(grid, [](double x, double y, double z) {
      const double s2 = std::pow((x - 0.45) / 0.3, 2) + std::pow((y - 0.55) / 0.25, 2) + std::pow((z - 0.5) / 0.2, 2);
      return s2 < 1 ? std::pow(1 - s2, 3) : 0.0;
    });
    const auto expected = fft(grid, density);
    const double apart = norm(difference(multigrid(grid, 1e-10, density), expected)) / norm(expected);
    EXPECT_LT(apart, 3.0 / (n * n));
    if (coarse > 0) {
      EXPECT_NEAR(coarse / apart, 4, 0.5);
    }
    coarse = apart;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoissonAgreement, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

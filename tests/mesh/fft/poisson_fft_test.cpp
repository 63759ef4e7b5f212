#include <cstring>

#include "base/error.hpp"
#include "marks.hpp"
#include "mesh/poisson_fixture.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class PoissonFft : public DeviceTest {};

double rough(double x, double y, double z) { return 1 + std::sin(1234 * x + 77 * y * y) * std::cos(51 * z + 40 * x); }

template <class Real>
std::vector<Real> solved(const Device& device, const Grid& grid, int times = 1) {
  PoissonFftOptions options;
  options.spectral_force = grid.periodic();
  SolverOnGrid<Real> on_grid(device, grid, options);
  for (int i = 0; i < times; ++i) on_grid.solve(on_cells(grid, rough), 3.0);
  std::vector<Real> result;
  const auto cells = on_grid.solve(on_cells(grid, rough), 3.0);
  result.assign(cells.begin(), cells.end());
  if (grid.periodic())
    for (int axis = 0; axis < grid.dimensions; ++axis)
      for (const double value : on_grid.spectral_force(axis)) result.push_back(static_cast<Real>(value));
  return result;
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

const std::vector<Grid>& grids() {
  static const std::vector<Grid> all{make_grid({24, 20, 30}, {1, 2, 1.5}, Boundary::periodic),
                                     make_grid({36, 50, 1}, {1, 2, 1}, Boundary::periodic, 2),
                                     make_grid({12, 10, 18}, {1, 1, 1}, Boundary::isolated)};
  return all;
}

TEST_P(PoissonFft, HasTheSameBitsForAnyNumberOfThreadsAndEveryTime) {
  for (const Grid& grid : grids()) {
    const auto one = solved<float>(device(1), grid);
    EXPECT_TRUE(same_bits(one, solved<float>(device(1), grid, 2)));
    for (int threads : {2, 3}) EXPECT_TRUE(same_bits(one, solved<float>(device(threads), grid))) << threads;
    EXPECT_TRUE(same_bits(solved<double>(device(1), grid), solved<double>(device(3), grid)));
  }
}

TEST_P(PoissonFft, DevicesAndPrecisionsAgreeToRounding) {
  for (const Grid& grid : grids()) {
    const auto reference = solved<double>(Device::open("cpu", 1), grid);
    const auto single = solved<float>(device(), grid);
    const double scale = largest(reference);
    EXPECT_LT(largest_difference(std::vector<double>(single.begin(), single.end()), reference), 2e-6 * scale);
    EXPECT_LT(largest_difference(solved<double>(device(), grid), reference), 2e-14 * scale);
  }
}

// Reference: solve() and spectral_force(), which keep a field more.
TEST_P(PoissonFft, ModesGiveTheSameForcesAndPotential) {
  if (GetParam() != "cuda") GTEST_SKIP() << "modes are given on a GPU";
  for (const Grid& grid : {make_grid({24, 20, 30}, {1, 2, 1.5}, Boundary::periodic),
                           make_grid({12, 10, 18}, {1, 1, 1}, Boundary::isolated)}) {
    PoissonFftOptions options;
    options.spectral_force = true;
    options.smoothing = 0.15;
    SolverOnGrid<float> on_grid(device(), grid, options);
    const auto density = on_cells(grid, rough);
    const auto potential = on_grid.solve(density, 3.0);
    std::vector<std::vector<double>> forces;
    for (int axis = 0; axis < 3; ++axis) forces.push_back(on_grid.spectral_force(axis));
    for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(on_grid.from_modes(density, axis, 3.0), forces[axis]);
    EXPECT_EQ(on_grid.from_modes(density, 3, 3.0), potential);
  }
}

// On the GPU lines along z of these lengths have a kernel of their own.
TEST_P(PoissonFft, SolvesLinesOfEveryLengthToRounding) {
  for (const int n : {32, 48, 64, 96, 128, 256, 512, 1024})
    for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
      const int cells = boundary == Boundary::periodic ? n : n / 2;
      const Grid grid = make_grid({10, 6, cells}, {1, 1, 0.1 * cells}, boundary);
      SolverOnGrid<double> reference(Device::open("cpu", 1), grid, {});
      SolverOnGrid<float> on_grid(device(), grid, {});
      // With the longest wave, for which rounding counts most: the others are small beside it.
      const auto rho = on_cells(grid, [&](double x, double y, double z) {
        return rough(x, y, z) + std::sin(2 * M_PI * z / grid.box.side.z);
      });
      const auto expected = reference.solve(rho);
      EXPECT_LT(largest_difference(on_grid.solve(rho), expected), 2e-6 * largest(expected)) << n;
    }
}

TEST_P(PoissonFft, MemoryIsWithinTheBudgetOfASolver) {
  const Grid grid = make_grid({64, 64, 64}, {1, 1, 1}, Boundary::periodic);
  const auto solver = make_poisson_fft<float>(device(1), grid, {});
  const auto layout = solver->layout();
  EXPECT_TRUE(layout.wraps);
  EXPECT_GE(layout.pitch, 66);
  EXPECT_LE(double(solver->scratch_bytes()), 12.0 * double(grid.cell_count()));
}

TEST_P(PoissonFft, RefusesWhatItCannotSolve) {
  const auto kind_of = [&](const Grid& grid, const PoissonFftOptions& options) {
    try {
      make_poisson_fft<float>(device(), grid, options);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::numerics;
  };
  PoissonFftOptions spectral;
  spectral.spectral_force = true;
  EXPECT_EQ(kind_of(make_grid({16, 15, 16}, {1, 1, 1}, Boundary::periodic), {}), ErrorKind::input);
  EXPECT_EQ(kind_of(make_grid({16, 16, 1}, {1, 1, 1}, Boundary::isolated, 2), {}), ErrorKind::input);
  EXPECT_EQ(kind_of(make_grid({16, 16, 16}, {1, 1, 1}, Boundary::isolated), spectral), ErrorKind::input);
  SolverOnGrid<float> without(device(), make_grid({16, 16, 16}, {1, 1, 1}, Boundary::periodic), {});
  EXPECT_THROW(without.spectral_force(0), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, PoissonFft, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

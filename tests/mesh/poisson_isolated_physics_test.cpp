#include "mesh/poisson_fixture.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class PoissonIsolatedPhysics : public DeviceTest {};

/// Unit mass in one cell, factor 4π: the potential is −1/r with r from centre to centre.
struct PointMass {
  Grid grid;
  std::array<int, 3> cell;
  std::vector<double> density() const {
    std::vector<double> rho(static_cast<std::size_t>(grid.cell_count()), 0.0);
    rho[(std::size_t(cell[2]) * grid.cells[1] + cell[1]) * grid.cells[0] + cell[0]] = 1 / grid.cell_volume();
    return rho;
  }
  double potential(int i, int j, int k) const {
    const auto h = grid.spacing();
    return -1 / std::hypot((i - cell[0]) * h[0], (j - cell[1]) * h[1], (k - cell[2]) * h[2]);
  }
};

/// Reference: −1/r of a point mass. Everywhere in the box, also at the opposite corner, where an image would be nearer
/// than the mass, and in the cells −1 and n of the padding that gradients read.
TEST_P(PoissonIsolatedPhysics, PointMassHasNoImages) {
  for (const auto& cells :
       {std::array<int, 3>{16, 16, 16}, std::array<int, 3>{12, 20, 14}, std::array<int, 3>{40, 6, 10}})
    for (const auto& cell : {std::array<int, 3>{0, 0, 0}, std::array<int, 3>{cells[0] - 1, 2, cells[2] / 2}}) {
      const PointMass mass{make_grid(cells, {1.0, 1.5, 0.8}, Boundary::isolated), cell};
      SolverOnGrid<double> on_grid(device(), mass.grid, {});
      on_grid.solve(mass.density(), 4 * M_PI);
      const auto field = on_grid.whole_field();
      const auto& layout = on_grid.layout();
      EXPECT_TRUE(layout.wraps);
      double error = 0;
      for (int k = -1; k <= cells[2]; ++k)
        for (int j = -1; j <= cells[1]; ++j)
          for (int i = -1; i <= cells[0]; ++i) {
            if (std::array<int, 3>{i, j, k} == cell) continue;
            const auto wrapped = [](int a, int n) { return (a + n) % n; };
            const double phi = field[layout.index(wrapped(i, layout.nx), wrapped(j, layout.ny), wrapped(k, layout.nz))];
            error = std::max(error, std::abs(phi / mass.potential(i, j, k) - 1));
          }
      EXPECT_LT(error, 1e-12);
    }
}

/// Reference: the mean of 1/r over a cube of unit side about its centre, 2.38007736 (Hummer 1996, J. Electrost. 36,
/// 285), and for a flat cell a sum over 200³ parts.
TEST_P(PoissonIsolatedPhysics, PotentialInTheCellOfAPointMassIsTheMeanOverTheCell) {
  const PointMass cube{make_grid({8, 8, 8}, {2, 2, 2}, Boundary::isolated), {3, 4, 2}};
  SolverOnGrid<double> on_cube(device(), cube.grid, {});
  EXPECT_NEAR(on_cube.solve(cube.density(), 4 * M_PI)[(2 * 8 + 4) * 8 + 3], -2.38007736 / 0.25, 1e-7);

  const PointMass flat{make_grid({8, 8, 8}, {2, 3, 1}, Boundary::isolated), {3, 4, 2}};
  const auto h = flat.grid.spacing();
  double sum = 0;
  const int parts = 200;
  for (int i = 0; i < parts; ++i)
    for (int j = 0; j < parts; ++j)
      for (int k = 0; k < parts; ++k)
        sum += 1 / std::hypot((double(i + 0.5) / parts - 0.5) * h[0], (double(j + 0.5) / parts - 0.5) * h[1],
                              (double(k + 0.5) / parts - 0.5) * h[2]);
  SolverOnGrid<double> on_flat(device(), flat.grid, {});
  EXPECT_NEAR(on_flat.solve(flat.density(), 4 * M_PI)[(2 * 8 + 4) * 8 + 3], -sum / std::pow(parts, 3),
              2e-5 * sum / 8e6);
}

/// Reference: the density ρ = (1 − r²/a²)³ within a, potential by Gauss's law: with s = r/a, 4πG = 1 and
/// m(r) = a³ (s³/3 − 3 s⁵/5 + 3 s⁷/7 − s⁹/9), φ(r) = −m(r)/r − ∫_r^a ρ r dr, and ∫_r^a ρ r dr = a² (1 − s²)⁴ / 8.
TEST_P(PoissonIsolatedPhysics, PotentialOfASphereConvergesWithTheSquareOfTheSpacing) {
  const double a = 0.37;
  const auto radius = [](double x, double y, double z) { return std::hypot(x - 0.45, y - 0.6, z - 0.5); };
  const auto rho = [&](double x, double y, double z) {
    const double s = radius(x, y, z) / a;
    return s < 1 ? std::pow(1 - s * s, 3) : 0.0;
  };
  const auto phi = [&](double x, double y, double z) {
    const double r = radius(x, y, z), s = std::min(r / a, 1.0);
    const double mass =
        a * a * a * (std::pow(s, 3) / 3 - 3 * std::pow(s, 5) / 5 + 3 * std::pow(s, 7) / 7 - std::pow(s, 9) / 9);
    return -mass / r - a * a * std::pow(1 - s * s, 4) / 8;
  };
  for (const double height : {1.0, 1.4}) {  // cells that are cubes, and others
    double error[2];
    for (int level = 0; level < 2; ++level) {
      const int n = 16 << level;
      const Grid grid = make_grid({n, n + 2 * (1 << level), n}, {1, 1.125 * height, 1}, Boundary::isolated);
      SolverOnGrid<double> on_grid(device(), grid, {});
      const auto expected = on_cells(grid, phi);
      error[level] = largest_difference(on_grid.solve(on_cells(grid, rho)), expected) / largest(expected);
    }
    EXPECT_LT(error[1], 4e-3);
    EXPECT_GT(error[0] / error[1], 3.3) << height << ": " << error[0] << " " << error[1];
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoissonIsolatedPhysics, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

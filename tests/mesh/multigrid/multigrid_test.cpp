#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "device/buffer.hpp"
#include "marks.hpp"
#include "mesh/poisson.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr double pi = std::numbers::pi;

Grid make_grid(std::array<int, 3> cells, Vec3<double> side, Boundary boundary) {
  Grid grid;
  grid.cells = cells;
  grid.box = {{-1, 2, 0.5}, side, boundary};
  return grid;
}
Grid cube(int n, Boundary boundary) { return make_grid({n, n, n}, {1, 1, 1}, boundary); }

/// density(x, y, z) in the middles of the cells, from the middle of the box.
template <class Real, class Density>
std::vector<Real> sampled(const Grid& grid, const Density& density) {
  std::vector<Real> values;
  const auto h = grid.spacing();
  for (int z = 0; z < grid.cells[2]; ++z)
    for (int y = 0; y < grid.cells[1]; ++y)
      for (int x = 0; x < grid.cells[0]; ++x)
        values.push_back(
            static_cast<Real>(density((x + 0.5 - 0.5 * grid.cells[0]) * h[0], (y + 0.5 - 0.5 * grid.cells[1]) * h[1],
                                      (z + 0.5 - 0.5 * grid.cells[2]) * h[2])));
  return values;
}

/// White noise between 0 and 1 in all cells.
template <class Real>
std::vector<Real> noise(const Grid& grid) {
  std::mt19937_64 random(7);
  return sampled<Real>(grid, [&](double, double, double) { return static_cast<double>(random() >> 40) * 0x1p-24; });
}

/// A(φ) for the seven-point Laplacian, written down independently; zero on the faces of an isolated box.
template <class Real>
std::vector<double> laplacian(const Grid& grid, const std::vector<Real>& potential) {
  const auto [nx, ny, nz] = grid.cells;
  const auto h = grid.spacing();
  const auto value = [&](int x, int y, int z) -> double {
    double sign = 1;
    const auto fold = [&](int i, int n) {
      if (i >= 0 && i < n) return i;
      if (grid.periodic()) return (i + n) % n;
      sign = -sign;
      return i < 0 ? 0 : n - 1;
    };
    const int fx = fold(x, nx), fy = fold(y, ny), fz = fold(z, nz);
    return sign * static_cast<double>(potential[static_cast<std::size_t>((fz * ny + fy) * nx + fx)]);
  };
  std::vector<double> result;
  result.reserve(potential.size());
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        const double c = value(x, y, z);
        result.push_back((value(x - 1, y, z) - 2 * c + value(x + 1, y, z)) / (h[0] * h[0]) +
                         (value(x, y - 1, z) - 2 * c + value(x, y + 1, z)) / (h[1] * h[1]) +
                         (value(x, y, z - 1) - 2 * c + value(x, y, z + 1)) / (h[2] * h[2]));
      }
  return result;
}

template <class A>
double norm(const std::vector<A>& a) {
  double sum = 0;
  for (const A v : a) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}
template <class A, class B>
std::vector<double> difference(const std::vector<A>& a, const std::vector<B>& b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = static_cast<double>(a[i]) - static_cast<double>(b[i]);
  return result;
}

class Multigrid : public DeviceTest {
 protected:
  /// The potential, from scratch memory full of rubbish.
  template <class Real>
  std::vector<Real> solve(const Grid& grid, const MultigridOptions& options, const std::vector<Real>& density,
                          double factor = 1, int threads = 0) {
    const Device where = device(threads);
    auto solver = make_poisson_multigrid<Real>(where, grid, options);
    Field<Real> field = solver->layout();
    EXPECT_EQ(field.size(), grid.cell_count());
    EXPECT_EQ(field.wraps, grid.periodic());
    Buffer<Real> values(where, density);
    const std::int64_t scratch_size = solver->scratch_bytes() / static_cast<std::int64_t>(sizeof(Real));
    Buffer<Real> scratch(where, std::vector<Real>(static_cast<std::size_t>(scratch_size), NAN));
    field.data = values.data();
    solver->solve(field, factor, scratch.data());
    remark = solver->remark();
    return values.to_host();
  }
  std::string remark;
};

// Reference: the wave is an eigenvector of the discrete Laplacian with eigenvalue −Σ 4 sin²(k h/2)/h².
TEST_P(Multigrid, PlaneWaveGivesTheExactDiscreteSolution) {
  for (const auto& [cells, side] : {std::pair{std::array{64, 32, 48}, Vec3<double>{2, 1, 1.5}},
                                    std::pair{std::array{32, 32, 32}, Vec3<double>{1, 1, 1}},
                                    std::pair{std::array{20, 36, 28}, Vec3<double>{1, 2.5, 1}}}) {
    const Grid grid = make_grid(cells, side, Boundary::periodic);
    const Vec3<double> k{2 * pi / side.x, 2 * pi * 2 / side.y, 2 * pi * 3 / side.z};
    const auto h = grid.spacing();
    double eigenvalue = 0;
    for (const auto& [wave, spacing] : {std::pair{k.x, h[0]}, std::pair{k.y, h[1]}, std::pair{k.z, h[2]}})
      eigenvalue -= std::pow(2 * std::sin(0.5 * wave * spacing) / spacing, 2);
    const auto wave = [k](double x, double y, double z) { return std::cos(k.x * x + k.y * y + k.z * z); };
    const auto density = sampled<double>(grid, [&](double x, double y, double z) { return 5 + wave(x, y, z); });
    const auto expected =
        sampled<double>(grid, [&](double x, double y, double z) { return 3 * wave(x, y, z) / eigenvalue; });

    MultigridOptions options;
    options.tolerance = 1e-14;
    const auto potential = solve<double>(grid, options, density, 3);
    EXPECT_LT(norm(difference(potential, expected)), 1e-12 * norm(expected));
    double mean = 0;
    for (const double value : potential) mean += value;
    EXPECT_LT(std::abs(mean), 1e-13 * norm(expected) * std::sqrt(static_cast<double>(expected.size())));

    const auto single = solve<float>(grid, {}, std::vector<float>(density.begin(), density.end()), 3);
    // ‖A‖/|eigenvalue| times the tolerance is what the criterion allows.
    EXPECT_LT(norm(difference(single, expected)),
              1e-5 * 4 * (1 / (h[0] * h[0]) + 1 / (h[1] * h[1]) + 1 / (h[2] * h[2])) / -eigenvalue * norm(expected));
    EXPECT_EQ(remark, "");
  }
}

TEST_P(Multigrid, ResidualIsWithinTheTolerance) {
  for (const int n : {32, 64}) {
    const Grid grid = cube(n, Boundary::periodic);
    auto density = noise<float>(grid);
    density[static_cast<std::size_t>(n * n + 5)] = 1e4f;
    double mean = 0;
    for (const float value : density) mean += static_cast<double>(value);
    mean /= static_cast<double>(density.size());
    for (const auto cycle : {MultigridOptions::Cycle::full, MultigridOptions::Cycle::v}) {
      MultigridOptions options;
      options.cycle = cycle;
      const auto potential = solve<float>(grid, options, density);
      EXPECT_EQ(remark, "");
      std::vector<double> source(density.begin(), density.end());
      for (double& value : source) value -= mean;
      const double scale = norm(source) + 12.0 * n * n * norm(potential);
      EXPECT_LT(norm(difference(laplacian(grid, potential), source)), 1.05e-5 * scale) << n;
    }
  }
}

/// ‖A (φ_k − φ)‖ for k = 1 … 5 cycles, by the one before: the contraction of the residual.
template <class Solve>
void expect_contraction(const Grid& grid, const Solve& solve, double most) {
  MultigridOptions options;
  options.cycle = MultigridOptions::Cycle::v;
  options.tolerance = 0;
  const auto density = noise<double>(grid);
  options.cycles = 14;
  const auto converged = solve(options, density);
  double before = 0;
  for (options.cycles = 1; options.cycles <= 5; ++options.cycles) {
    const double residual = norm(laplacian(grid, difference(solve(options, density), converged)));
    if (options.cycles > 1) {
      EXPECT_LT(residual, most * before) << grid.cells[0] << ", cycle " << options.cycles;
    }
    before = residual;
  }
}

TEST_P(Multigrid, VCyclesContractIndependentOfTheSize) {
  for (const int n : GetParam() == "cuda" ? std::vector<int>{32, 64, 128, 256} : std::vector<int>{32, 64})
    for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
      const Grid grid = cube(n, boundary);
      expect_contraction(
          grid, [&](const auto& options, const auto& density) { return solve(grid, options, density); },
          n < 100 ? 0.06 : 0.08);
    }
}

TEST_P(Multigrid, VCyclesContractOnUnequalSidesAndSpacings) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated})
    for (const auto& [cells, side] : {std::pair{std::array{54, 48, 64}, Vec3<double>{1, 1, 1}},
                                      std::pair{std::array{40, 24, 12}, Vec3<double>{1, 1, 1}},
                                      std::pair{std::array{32, 32, 32}, Vec3<double>{1, 1.35, 1}},
                                      std::pair{std::array{32, 64, 32}, Vec3<double>{1, 1, 7}}}) {
      const Grid grid = make_grid(cells, side, boundary);
      expect_contraction(
          grid, [&](const auto& options, const auto& density) { return solve(grid, options, density); }, 0.1);
    }
}

// Reference: φ = cos x cos 2y cos z solves ∇²φ = −6 φ.
TEST_P(Multigrid, FullMultigridReachesTheDiscretisationErrorInOnePass) {
  double coarse_error = 0;
  for (const int n : {32, 64}) {
    const Grid grid = make_grid({n, n, n}, {2 * pi, 2 * pi, 2 * pi}, Boundary::periodic);
    const auto wave = [](double x, double y, double z) { return std::cos(x) * std::cos(2 * y) * std::cos(z); };
    const auto expected = sampled<double>(grid, wave);
    const auto density = sampled<double>(grid, [&](double x, double y, double z) { return -6 * wave(x, y, z); });
    MultigridOptions options;
    options.tolerance = 1e-13;
    const double discretisation = norm(difference(solve(grid, options, density), expected));
    options.tolerance = 0;
    options.cycles = 1;
    const double one_pass = norm(difference(solve(grid, options, density), expected));
    EXPECT_LT(one_pass, 1.5 * discretisation) << n;
    const double error = one_pass / norm(expected);
    if (coarse_error > 0) {
      EXPECT_NEAR(coarse_error / error, 4.0, 0.4);
    }
    coarse_error = error;
  }
}

/// The potential, with G = 1, of a ball of radius a with density (1 − r²/a²)²: from M(r)/r and ∫ ρ r dr.
double ball_potential(double r, double a) {
  const double s2 = r * r / (a * a), q = 1 - s2;
  if (q <= 0) return -4 * pi * a * a * a * 8 / 105 / r;
  return -4 * pi * a * a * (s2 / 3 - 2 * s2 * s2 / 5 + s2 * s2 * s2 / 7 + q * q * q / 6);
}

struct Ball {
  Vec3<double> centre;
  double radius, density;
  double distance(double x, double y, double z) const { return std::hypot(x - centre.x, y - centre.y, z - centre.z); }
};

// Reference: the closed form of the balls' potentials.
TEST_P(Multigrid, IsolatedPotentialConvergesToTheAnalyticOneWithTheSquareOfTheSpacing) {
  const std::vector<Ball> balls{
      {{0.10, 0.02, -0.04}, 0.22, 1.0}, {{-0.06, -0.05, 0.05}, 0.25, 0.6}, {{0.02, 0.12, 0.03}, 0.2, 0.8}};
  const auto density = [&](double x, double y, double z) {
    double sum = 0;
    for (const Ball& ball : balls) {
      const double q = 1 - std::pow(ball.distance(x, y, z) / ball.radius, 2);
      if (q > 0) sum += ball.density * q * q;
    }
    return sum;
  };
  const auto potential = [&](double x, double y, double z) {
    double sum = 0;
    for (const Ball& ball : balls) sum += ball.density * ball_potential(ball.distance(x, y, z), ball.radius);
    return sum;
  };
  for (const auto cycle : {MultigridOptions::Cycle::full, MultigridOptions::Cycle::v}) {
    double coarse_error = 0;
    for (const int n : {24, 48, 96}) {
      if (n == 96 && GetParam() == "cpu") continue;
      const Grid grid = make_grid({n, n + n / 6, n}, {1, 1.25, 1.1}, Boundary::isolated);
      const auto expected = sampled<double>(grid, potential);
      MultigridOptions options;
      options.tolerance = 1e-10;
      options.cycle = cycle;
      const auto found = solve(grid, options, sampled<double>(grid, density), 4 * pi);
      EXPECT_EQ(remark, "");
      const double error = norm(difference(found, expected)) / norm(expected);
      EXPECT_LT(error, 3.5 / (n * n));
      if (coarse_error > 0) {
        EXPECT_NEAR(coarse_error / error, 4.0, 0.3) << n;
      }
      coarse_error = error;

      // What the default tolerance leaves is small beside the error of the stencil.
      const auto single = solve(grid, {}, sampled<float>(grid, density), 4 * pi);
      EXPECT_EQ(remark, "");
      EXPECT_LT(norm(difference(single, found)), 0.3 * error * norm(expected)) << n;
    }
  }
}

TEST_P(Multigrid, SmallGridsAndFewLevelsAreSolved) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated})
    for (const auto& [cells, levels] :
         {std::pair{std::array{2, 2, 2}, 0}, std::pair{std::array{4, 2, 6}, 0}, std::pair{std::array{18, 50, 10}, 0},
          std::pair{std::array{32, 32, 32}, 1}, std::pair{std::array{64, 48, 64}, 2}}) {
      const Grid grid = make_grid(cells, {1, 1, 1}, boundary);
      MultigridOptions options;
      options.tolerance = 1e-12;
      options.levels = levels;
      const auto density = noise<double>(grid);
      const auto limited = solve(grid, options, density);
      EXPECT_EQ(remark, "") << cells[0] << " " << cells[1] << " " << cells[2];
      options.levels = 0;
      options.cycle = MultigridOptions::Cycle::v;
      options.tolerance = 1e-14;
      options.cycles = 30;
      const auto reference = solve(grid, options, density);
      EXPECT_LT(norm(difference(limited, reference)), 1e-9 * norm(reference));
    }
}

TEST_P(Multigrid, ToleranceBelowRoundingEndsWithARemark) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
    const Grid grid = cube(32, boundary);
    MultigridOptions options;
    options.tolerance = 1e-12;
    options.cycles = 1000;
    const auto potential = solve(grid, options, noise<float>(grid));
    EXPECT_NE(remark.find("rounding"), std::string::npos) << remark;
    EXPECT_EQ(remark.find("1000"), std::string::npos) << remark;
    options.tolerance = 1e-14;
    const auto reference = solve(grid, options, noise<double>(grid));
    EXPECT_LT(norm(difference(potential, reference)), 1e-5 * norm(reference));
  }
}

TEST_P(Multigrid, TooFewCyclesAreRemarked) {
  const Grid grid = cube(32, Boundary::periodic);
  MultigridOptions options;
  options.cycle = MultigridOptions::Cycle::v;
  options.cycles = 1;
  solve(grid, options, noise<float>(grid));
  EXPECT_NE(remark.find("after 1 cycle"), std::string::npos) << remark;
  options.cycles = 20;
  solve(grid, options, noise<float>(grid));
  EXPECT_EQ(remark, "");
}

// Aubert, Amini & David, section IV A: three V-cycles, five sweeps before and after, five levels.
TEST_P(Multigrid, ThePapersSettingSolvesToOnePartInTenThousand) {
  const Grid grid = cube(64, Boundary::periodic);
  const auto density = noise<float>(grid);
  const auto potential = solve(grid, {MultigridOptions::Cycle::v, 0, 3, 5, 5, 5}, density);
  EXPECT_EQ(remark, "");
  double mean = 0;
  for (const float value : density) mean += static_cast<double>(value);
  mean /= static_cast<double>(density.size());
  std::vector<double> source(density.begin(), density.end());
  for (double& value : source) value -= mean;
  EXPECT_LT(norm(difference(laplacian(grid, potential), source)), 1e-4 * norm(source));
}

TEST_P(Multigrid, BitsDoNotDependOnThreadsOrHistory) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
    const Grid grid = make_grid({36, 40, 44}, {1, 1, 1}, boundary);
    const auto density = noise<float>(grid);
    const auto first = solve(grid, {}, density, 1, 1);
    for (const int threads : {2, 3, 1}) EXPECT_EQ(solve(grid, {}, density, 1, threads), first) << threads;

    const Device where = device();
    auto solver = make_poisson_multigrid<float>(where, grid, {});
    Field<float> field = solver->layout();
    Buffer<float> values(where, field.size());
    Buffer<char> scratch(where, solver->scratch_bytes());
    field.data = values.data();
    for (const double factor : {7.0, 1.0}) {
      values.from_host(density.data());
      solver->solve(field, factor, scratch.data());
    }
    EXPECT_EQ(values.to_host(), first);
  }
}

TEST_P(Multigrid, EmptySpaceHasNoPotential) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
    const Grid grid = cube(32, boundary);
    const auto potential = solve(grid, {}, std::vector<float>(static_cast<std::size_t>(grid.cell_count())));
    EXPECT_EQ(norm(potential), 0);
    EXPECT_EQ(remark, "");
  }
}

TEST_P(Multigrid, RefusesWhatItCannotSolve) {
  const auto refused = [&](const Grid& grid, const MultigridOptions& options, ErrorKind kind) {
    try {
      solve(grid, options, std::vector<float>(static_cast<std::size_t>(grid.cell_count()), NAN));
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
    }
  };
  refused(make_grid({32, 31, 32}, {1, 1, 1}, Boundary::periodic), {}, ErrorKind::input);
  Grid flat = make_grid({32, 32, 1}, {1, 1, 1}, Boundary::periodic);
  flat.dimensions = 2;
  refused(flat, {}, ErrorKind::input);
  MultigridOptions options;
  options.smoothing_before = options.smoothing_after = 0;
  refused(cube(8, Boundary::periodic), options, ErrorKind::input);
  refused(cube(8, Boundary::periodic), {}, ErrorKind::numerics);  // NaN
}

INSTANTIATE_TEST_SUITE_P(Devices, Multigrid, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

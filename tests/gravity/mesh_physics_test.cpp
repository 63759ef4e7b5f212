#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gravity/mesh.hpp"
#include "models/model.hpp"
#include "physics/exponential_disc.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class MeshSolvers : public DeviceTest {
 protected:
  ForceResult forces(const SolverOptions& gravity, const Particles& particles) const {
    const auto d = device();
    const auto solver = make_solver(gravity, d);
    return evaluate_forces(*solver, d, particles, want_acceleration | want_potential);
  }
};

SolverOptions mesh(int cells, const Box& box, Poisson poisson) {
  SolverOptions gravity;
  gravity.solver = "mesh";
  gravity.precision = Precision::double_;
  gravity.mesh.cells = {cells, cells, cells};
  gravity.mesh.box = box;
  gravity.mesh.poisson = poisson;
  return gravity;
}

Box periodic_unit() { return {{0, 0, 0}, {1, 1, 1}, Boundary::periodic}; }
Box isolated(double side) { return {{-side / 2, -side / 2, -side / 2}, {side, side, side}, Boundary::isolated}; }

Particles made(const char* model, std::int64_t n, const char* option, double value) {
  ModelOptions options;
  options.n = n;
  options.values[option] = value;
  return make_model(model, options);
}

/// Root mean square of |a − b| over that of |b|.
double difference(const ForceResult& a, const ForceResult& b) {
  double squares = 0, size = 0;
  const auto add = [&](const std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t k = 0; k < x.size(); ++k) squares += (x[k] - y[k]) * (x[k] - y[k]), size += y[k] * y[k];
  };
  add(a.ax, b.ax), add(a.ay, b.ay), add(a.az, b.az);
  return std::sqrt(squares / size);
}

double net_force(const ForceResult& f, const Particles& p) {
  double sum[3] = {0, 0, 0}, size = 0;
  for (std::size_t k = 0; k < p.mass.size(); ++k) {
    const double a[3] = {p.mass[k] * f.ax[k], p.mass[k] * f.ay[k], p.mass[k] * f.az[k]};
    for (int axis = 0; axis < 3; ++axis) sum[axis] += a[axis], size += std::abs(a[axis]);
  }
  return (std::abs(sum[0]) + std::abs(sum[1]) + std::abs(sum[2])) / size;
}

// Reference: in a periodic box both invert the same seven-point Laplacian, one exactly, the other to its tolerance.
TEST_P(MeshSolvers, FftAndMultigridAgreeInAPeriodicBox) {
  const auto particles = made("cube", 2000, "side", 1);
  const auto exact = forces(mesh(32, periodic_unit(), Poisson::fft), particles);
  auto gravity = mesh(32, periodic_unit(), Poisson::multigrid);
  for (const double tolerance : {1e-5, 1e-9}) {
    gravity.mesh.multigrid.tolerance = tolerance;
    const auto found = forces(gravity, particles);
    // ‖A‖‖φ‖ is some ten times ‖f‖ for this density.
    EXPECT_LT(difference(found, exact), 100 * tolerance);
    EXPECT_LT(net_force(found, particles), 10 * tolerance);
  }
}

// Reference: the FFT's Green function is that of open space, multigrid's the inverse of the seven-point Laplacian with
// multipoles on the faces: they differ by the error of the stencil, O(h²), for a density that the mesh resolves.
TEST_P(MeshSolvers, FftAndMultigridConvergeTogetherInOpenSpace) {
  const auto particles = made("plummer", 20000, "cutoff", 3);
  std::vector<double> differences;
  for (const int cells : {32, 64}) {
    auto fft = mesh(cells, isolated(6), Poisson::fft), multigrid = mesh(cells, isolated(6), Poisson::multigrid);
    fft.mesh.assignment = multigrid.mesh.assignment = Assignment::tsc;
    multigrid.mesh.multigrid.tolerance = 1e-9;
    differences.push_back(difference(forces(multigrid, particles), forces(fft, particles)));
  }
  EXPECT_LT(differences[1], 0.02);
  EXPECT_GT(differences[0] / differences[1], 3);
}

/// Mean of v² = −x·a over rings of half a scale length; `radius` gets the mean radius of each.
std::vector<double> circular_speed2(const Particles& disc, const ForceResult& found, std::vector<double>& radius) {
  constexpr std::size_t rings = 7;
  std::vector<double> speed2(rings), count(rings);
  radius.assign(rings, 0);
  for (std::size_t k = 0; k < disc.id.size(); ++k) {
    const double r = std::hypot(disc.x[k], disc.y[k]);
    const auto ring = static_cast<std::size_t>(2 * r);
    if (ring >= rings) continue;
    speed2[ring] -= disc.x[k] * found.ax[k] + disc.y[k] * found.ay[k];
    radius[ring] += r;
    count[ring] += 1;
  }
  for (std::size_t i = 0; i < rings; ++i) speed2[i] /= count[i], radius[i] /= count[i];
  return speed2;
}

// Reference: Freeman 1970: the circular speed of a razor-thin exponential disc. A mesh makes the disc about a cell
// thick, which weakens the force in the plane in proportion to the cell: two meshes give the limit of small cells.
TEST_P(MeshSolvers, DiscTendsToFreemansRotationCurve) {
  ModelOptions options;
  options.n = 100000;
  options.values["scale_height"] = 0.0;
  options.values["cutoff"] = 8.0;
  options.values["toomre_q"] = 0.0;
  const auto disc = make_model("exponential-disc", options);
  std::vector<double> radius;
  auto coarse = mesh(64, isolated(18), Poisson::fft), fine = mesh(128, isolated(18), Poisson::fft);
  coarse.precision = fine.precision = Precision::single;
  const auto with_coarse = circular_speed2(disc, forces(coarse, disc), radius);
  const auto with_fine = circular_speed2(disc, forces(fine, disc), radius);
  for (std::size_t i = 2; i < radius.size(); ++i) {                        // from one scale length on
    const double expected = physics::freeman_curve(radius[i]).speed2 / 2;  // π G Σ₀ R_d = G M / 2 R_d
    const double limit = 2 * with_fine[i] - with_coarse[i];
    EXPECT_NEAR(std::sqrt(limit / expected), 1, 0.015) << "at radius " << radius[i];
    EXPECT_NEAR(std::sqrt(with_fine[i] / expected), 1, 0.06) << "at radius " << radius[i];
  }
}

TEST_P(MeshSolvers, OneParticleAloneFeelsNothing) {
  const auto one = made("cube", 1, "side", 1);
  for (const Poisson poisson : {Poisson::fft, Poisson::multigrid}) {
    auto gravity = mesh(16, periodic_unit(), poisson);
    gravity.mesh.multigrid.tolerance = 1e-10;
    const auto alone = forces(gravity, one);
    const double scale = 16 * 16;  // the force of a neighbour one cell away
    EXPECT_LT(std::abs(alone.ax[0]) + std::abs(alone.ay[0]) + std::abs(alone.az[0]),
              (poisson == Poisson::fft ? 1e-12 : 1e-7) * scale);
  }
}

TEST(MeshOptions, ThatCannotWorkAreRefused) {
  const auto refusal = [](auto change) {
    MeshOptions options;
    change(options);
    try {
      check_mesh_options(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_EQ(refusal([](auto& o) { o.cells = {24, 20, 30}; }), "");
  EXPECT_NE(refusal([](auto& o) { o.cells = {64, 63, 64}; }).find("found 63; the nearest is 64"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.cells = {64, 64, 4}; }).find("found 4; the nearest is 8"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.cells = {22, 64, 64}; }).find("found 22; the nearest is"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.gradient = Gradient::spectral;
              o.poisson = Poisson::multigrid;
            }).find("gravity.mesh.gradient"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.gradient = Gradient::spectral;
              o.box.boundary = Boundary::isolated;
            }).find("boundary = isolated"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.deconvolve = true;
              o.poisson = Poisson::multigrid;
            }).find("gravity.mesh.deconvolve"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, MeshSolvers, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

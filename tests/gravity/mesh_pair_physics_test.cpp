#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analysis/ewald_sum.hpp"
#include "gravity/solver.hpp"
#include "mesh/grid.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr int cells = 32;
constexpr Assignment every_assignment[] = {Assignment::ngp, Assignment::cic, Assignment::tsc, Assignment::pcs};

/// One unit of length is one cell.
Box box_of(Boundary boundary) { return {{-3, 5, 0}, {cells, cells, cells}, boundary}; }

struct Scheme {
  Assignment assignment;
  Gradient gradient;
  Boundary boundary;
  std::string name() const {
    return std::string(assignment_names[static_cast<std::size_t>(assignment) - 1]) + " " +
           std::string(gradient_names[static_cast<std::size_t>(gradient)]) +
           (boundary == Boundary::periodic ? " periodic" : " isolated");
  }
};

std::vector<Scheme> every_scheme() {
  std::vector<Scheme> schemes;
  for (const Assignment assignment : every_assignment)
    for (const Boundary boundary : {Boundary::periodic, Boundary::isolated})
      for (const Gradient gradient : {Gradient::two_point, Gradient::four_point, Gradient::spectral})
        if ((gradient != Gradient::spectral && assignment != Assignment::pcs) || boundary == Boundary::periodic)
          schemes.push_back({assignment, gradient, boundary});
  return schemes;
}

class MeshPairs : public DeviceTest {
 protected:
  ForceResult forces(const Scheme& scheme, const Particles& particles, Precision precision = Precision::double_) const {
    SolverOptions gravity;
    gravity.solver = "mesh";
    gravity.precision = precision;
    gravity.mesh.cells = {cells, cells, cells};
    gravity.mesh.box = box_of(scheme.boundary);
    gravity.mesh.assignment = scheme.assignment;
    gravity.mesh.gradient = scheme.gradient;
    const auto d = device();
    const auto solver = make_solver(gravity, d);
    return evaluate_forces(*solver, d, particles, want_acceleration | want_potential);
  }
};

Particles at(const std::vector<Vec3<double>>& places, const std::vector<double>& masses) {
  Particles particles;
  particles.resize(static_cast<std::int64_t>(places.size()));
  for (std::size_t k = 0; k < places.size(); ++k) {
    particles.x[k] = places[k].x, particles.y[k] = places[k].y, particles.z[k] = places[k].z;
    particles.mass[k] = masses[k];
  }
  return particles;
}

/// Anywhere on the mesh, up to the margin of an isolated box.
class Places {
 public:
  explicit Places(Boundary boundary) : margin_(boundary == Boundary::isolated ? isolated_margin : 0) {}
  Vec3<double> next() {
    std::uniform_real_distribution<double> along(margin_, cells - margin_);
    const Box box = box_of(Boundary::isolated);
    const double x = along(random_), y = along(random_), z = along(random_);
    return {box.corner.x + x, box.corner.y + y, box.corner.z + z};
  }

 private:
  double margin_;
  std::mt19937_64 random_{42};
};

// Reference: Newton's third law, which the mesh keeps exactly: the same weights for deposit and gather, a Green
// function that is even, and a difference (or wave by wave multiplication) that is odd.
TEST_P(MeshPairs, ForcesOfAPairAreEqualAndOpposite) {
  for (const Scheme& scheme : every_scheme()) {
    SCOPED_TRACE(scheme.name());
    Places places(scheme.boundary);
    for (int k = 0; k < 4; ++k) {
      const Vec3<double> first = places.next();
      const Vec3<double> second = k % 2 ? places.next() : first + Vec3<double>{1.3, -0.2, 0.4};
      const auto pair = at({first, second}, {1, 3});
      for (const Precision precision : {Precision::double_, Precision::single}) {
        const auto f = forces(scheme, pair, precision);
        const double rounding = precision == Precision::double_ ? 1e-13 : 1e-5;  // of the force at one cell
        EXPECT_NEAR(f.ax[0] + 3 * f.ax[1], 0, rounding);
        EXPECT_NEAR(f.ay[0] + 3 * f.ay[1], 0, rounding);
        EXPECT_NEAR(f.az[0] + 3 * f.az[1], 0, rounding);
        EXPECT_GT(std::abs(f.ax[1]) + std::abs(f.ay[1]) + std::abs(f.az[1]), 1e-5);
      }
    }
  }
}

TEST_P(MeshPairs, ParticleAloneFeelsNothing) {
  for (const Scheme& scheme : every_scheme()) {
    SCOPED_TRACE(scheme.name());
    Places places(scheme.boundary);
    for (int k = 0; k < 3; ++k) {
      const auto f = forces(scheme, at({places.next()}, {1}));
      EXPECT_NEAR(f.ax[0], 0, 1e-13);
      EXPECT_NEAR(f.ay[0], 0, 1e-13);
      EXPECT_NEAR(f.az[0], 0, 1e-13);
    }
  }
}

/// A mass somewhere near the middle and probes without mass in many directions at each distance.
Particles mass_and_probes(const Box& box, const std::vector<double>& distances, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> in_cell(0, 1), anywhere(-1, 1);
  std::vector<Vec3<double>> directions{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}, {1, 1, 0}, {-1, 1, 1}};
  for (int k = 0; k < 30; ++k) directions.push_back({anywhere(random), anywhere(random), anywhere(random)});
  const double x = in_cell(random), y = in_cell(random), z = in_cell(random);
  const Vec3<double> mass = box.corner + Vec3<double>{cells / 2 + x, cells / 2 + y, cells / 2 + z};
  std::vector<Vec3<double>> places{mass};
  for (const double distance : distances)
    for (const auto& d : directions) places.push_back(mass + (distance / std::sqrt(dot(d, d))) * d);
  std::vector<double> masses(places.size(), 0.0);
  masses[0] = 1;
  return at(places, masses);
}

/// Accelerations of all by the first.
std::vector<Vec3<double>> reference(const Box& box, const Particles& p) {
  std::vector<Vec3<double>> result{{0, 0, 0}};
  if (box.periodic()) {
    std::vector<std::int64_t> places(p.x.size());
    std::iota(places.begin(), places.end(), 0);
    const auto a = ewald_sum(p, places, box, Softening::same(0), 1, Device::open("cpu", 1));
    for (std::size_t k = 1; k < p.x.size(); ++k) result.push_back({a.ax[k], a.ay[k], a.az[k]});
    return result;
  }
  for (std::size_t k = 1; k < p.x.size(); ++k) {
    const Vec3<double> d{p.x[k] - p.x[0], p.y[k] - p.y[0], p.z[k] - p.z[0]};
    result.push_back((-1 / std::pow(dot(d, d), 1.5)) * d);
  }
  return result;
}

/// What a scheme is known to do at most to the force of a point mass at a distance of r cells, in units of 1/r².
/// Nearest grid point: both places move by up to √3/2. Then the first terms of expansions in 1/r. Cloud in cell:
/// interpolation, twice, adds up to ∂²/8 to the field, by another amount along each axis. Two points: ∂³/6. The
/// seven-point Laplacian: its Green function is (1 + (5Σxᵢ⁴/r⁴ − 3)/8r²)/r, which changes the force by at most 0.8/r².
/// The triangular cloud, four points and what follows: fourth order.
double known_error(const Scheme& scheme, double r) {
  const double nearer = r - std::sqrt(3.0);
  double second = 0;
  if (scheme.assignment == Assignment::cic) second += 2 * 0.75;
  if (scheme.gradient == Gradient::two_point) second += 1;
  if (scheme.boundary == Boundary::periodic) second += 0.8;
  return (scheme.assignment == Assignment::ngp ? r * r / (nearer * nearer) - 1 : 0) + second / (r * r) +
         8 / (r * r * r * r);
}

// References: 1/r² in open space; in a periodic box the sum over all images (analysis/ewald_sum, which has tests of its
// own). The errors are bounded from below as well: a scheme that is better than it can be is another one. The spectral
// gradient is left out: it rings around a point, which has waves of all lengths.
TEST_P(MeshPairs, ForceOfAPointMassHasTheKnownErrorOfItsScheme) {
  const std::vector<double> distances{4, 6, 8, 12};
  for (const Scheme& scheme : every_scheme()) {
    if (scheme.gradient == Gradient::spectral) continue;
    SCOPED_TRACE(scheme.name());
    std::vector<double> largest(distances.size(), 0.0);
    const Box box = box_of(scheme.boundary);
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const auto particles = mass_and_probes(box, distances, seed);
      const auto found = forces(scheme, particles);
      const auto expected = reference(box, particles);
      const std::size_t probes = (expected.size() - 1) / distances.size();
      for (std::size_t k = 1; k < expected.size(); ++k) {
        const Vec3<double> error = Vec3<double>{found.ax[k], found.ay[k], found.az[k]} - expected[k];
        const double r = distances[(k - 1) / probes];
        double& most = largest[(k - 1) / probes];
        most = std::max(most, std::sqrt(dot(error, error)) * r * r);
      }
    }
    for (std::size_t k = 0; k < distances.size(); ++k) {
      EXPECT_LT(largest[k], known_error(scheme, distances[k])) << distances[k] << " cells";
      EXPECT_GT(largest[k], 0.25 * known_error(scheme, distances[k])) << distances[k] << " cells";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MeshPairs, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

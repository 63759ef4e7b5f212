#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "analysis/energy.hpp"
#include "analysis/radii.hpp"
#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr double pi = std::numbers::pi;

class MeshRun : public DeviceTest {
 protected:
  std::unique_ptr<Integrator> make(const TimeOptions& time, const SolverOptions& gravity, int threads = 0) const {
    return make_integrator(time, gravity, {device(threads), serial_communicator(), nullptr});
  }
};

SolverOptions mesh_gravity(std::array<int, 3> cells, const Box& box, Precision precision) {
  SolverOptions gravity;
  gravity.solver = "mesh";
  gravity.precision = precision;
  gravity.mesh.cells = cells;
  gravity.mesh.box = box;
  return gravity;
}

TimeOptions leapfrog(double step) {
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = step;
  return time;
}

Box periodic_unit() { return {{0, 0, 0}, {1, 1, 1}, Boundary::periodic}; }
Box isolated(double side) { return {{-side / 2, -side / 2, -side / 2}, {side, side, side}, Boundary::isolated}; }

Particles cube(std::int64_t n, double side, double speed, std::uint64_t seed = 1) {
  ModelOptions options;
  options.n = n;
  options.seed = seed;
  options.values["side"] = side;
  options.values["speed"] = speed;
  return make_model("cube", options);
}

void move(Particles& particles, double shift) {
  for (auto* axis : {&particles.x, &particles.y, &particles.z})
    for (double& x : *axis) x += shift;
}

Particles plummer(std::int64_t n, double cutoff) {
  ModelOptions options;
  options.n = n;
  options.values["cutoff"] = cutoff;
  return make_model("plummer", options);
}

/// Four sheets of 8 x 8 particles to each of `side` cells along x, displaced along x by −a sin(2πq) / 2π. (With one
/// sheet to a cell the density would follow the sheets by one-sided differences, to first order only.)
Particles plane_wave(int side, double a, double width) {
  std::vector<Body> list;
  const int sheets = 4 * side;
  for (int i = 0; i < sheets; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k) {
        const double q = (i + 0.5) / sheets;
        list.push_back({width * width / (64.0 * sheets),
                        {q - a * std::sin(2 * pi * q) / (2 * pi), width * (j + 0.5) / 8, width * (k + 0.5) / 8},
                        {0, 0, 0}});
      }
  return bodies(list);
}

// Reference: in one dimension a sheet feels the mass between itself and its place in the uniform lattice: ẍ = 4πGρ̄ (x −
// q), exactly, until sheets cross (Zel'dovich 1970; here without expansion). From rest the amplitude is a cosh(ωt), ω²
// = 4πGρ̄, and shells cross when it reaches 1.
double collapse_error(const Device& device, int side, Precision precision) {
  const double start = 0.1, growth = 8, omega = std::sqrt(4 * pi), end = std::acosh(growth) / omega;
  const double width = 8.0 / side;  // cubic cells
  const Box box{{0, 0, 0}, {1, width, width}, Boundary::periodic};
  const auto system = make_integrator(leapfrog(end / 100), mesh_gravity({side, 8, 8}, box, precision),
                                      {device, serial_communicator(), nullptr});
  system->start(plane_wave(side, start, width), 0);
  system->finish(end);
  const auto after = system->state_at(end);
  const double amplitude = start * growth / (2 * pi);
  double worst = 0;
  for (int i = 0; i < 4 * side; ++i) {
    const double q = (i + 0.5) / (4 * side), expected = q - amplitude * std::sin(2 * pi * q);
    worst = std::max(worst, std::abs(after.x[static_cast<std::size_t>(64 * i)] - expected));
  }
  return worst / amplitude;
}

TEST_P(MeshRun, PlaneWaveCollapsesAsZeldovichSays) {
  const double coarse = collapse_error(device(), 32, Precision::double_);
  const double fine = collapse_error(device(), 64, Precision::double_);
  EXPECT_LT(fine, 0.015);
  EXPECT_GT(coarse / fine, 3);  // second order in the cell
  EXPECT_LT(collapse_error(device(), 64, Precision::single), 0.02);
}

// Reference: Newton's third law on the mesh. The same weights for density and force, a symmetric Green function and an
// antisymmetric gradient leave the total momentum at its rounding, for every assignment and gradient.
TEST_P(MeshRun, MomentumStaysAtItsRoundingForAThousandSteps) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated})
    for (const Assignment assignment : {Assignment::ngp, Assignment::cic, Assignment::tsc}) {
      const bool open = boundary == Boundary::isolated;
      auto particles = cube(200, 1, 0.05);
      if (open) move(particles, -0.5);
      // Bound so loosely or moving so little that all of them stay on the isolated mesh.
      auto gravity = mesh_gravity({16, 16, 16}, open ? isolated(4) : periodic_unit(), Precision::double_);
      gravity.mesh.assignment = assignment;
      gravity.mesh.gradient = assignment == Assignment::tsc ? Gradient::four_point : Gradient::two_point;
      const auto d = device();
      const auto system = make_integrator(leapfrog(0.001), gravity, {d, serial_communicator(), nullptr});
      system->start(particles, 0);
      system->finish(1.0);
      EXPECT_EQ(system->counts().steps, 1000);
      EXPECT_EQ(system->outside(), 0);
      const auto after = system->state_at(1.0);
      const auto before = measure_energies(particles, d, gravity), later = measure_energies(after, d, gravity);
      const Vec3<double> change = later.momentum - before.momentum;
      EXPECT_LT(std::sqrt(dot(change, change)), 1e-13) << "boundary " << open << " order " << int(assignment);
    }
}

// Reference: a Plummer model is an equilibrium; ten crossing times (2√2 each). The cell, 0.25, softens its core of
// 0.59 scale radii a little, so the radius may settle by some percent.
TEST_P(MeshRun, IsolatedPlummerModelStaysInEquilibrium) {
  const auto before = plummer(8000, 4);
  auto gravity = mesh_gravity({48, 48, 48}, isolated(7), Precision::single);
  const auto d = device();
  const auto system = make_integrator(leapfrog(0.05), gravity, {d, serial_communicator(), nullptr});
  system->start(before, 0);
  const double end = 10 * 2 * std::sqrt(2.0);
  system->finish(end);
  const auto after = system->state_at(end);
  EXPECT_NEAR(half_mass_radius(after) / half_mass_radius(before), 1, 0.08);
  const auto start_energy = measure_energies(before, d, gravity), end_energy = measure_energies(after, d, gravity);
  EXPECT_NEAR(end_energy.virial_ratio(), 0.5, 0.05);
  EXPECT_LT(std::abs(end_energy.total() / start_energy.total() - 1), 2e-3);
}

// Reference: outside the mesh the mass on it is a point: a particle thrown out radially at distance r with speed v
// keeps v²/2 − M/r.
TEST_P(MeshRun, ParticlesThatLeaveAreKeptAndFeelAPoint) {
  auto particles = bodies({{1, {0.01, 0.02, -0.01}, {0, 0, 0}}, {1e-9, {1.5, 0, 0}, {2.0, 0.1, 0}}});
  const auto gravity = mesh_gravity({16, 16, 16}, isolated(4), Precision::double_);
  const auto system = make(leapfrog(0.001), gravity);
  system->start(particles, 0);
  EXPECT_EQ(system->outside(), 1);  // 1.5 is the margin itself
  system->finish(2.0);
  const auto after = system->state_at(2.0);
  EXPECT_EQ(after.size(), 2);
  const auto energy = [&](const Particles& p) {
    const Vec3<double> d = position(p, 1) - position(p, 0), v = velocity(p, 1) - velocity(p, 0);
    return 0.5 * dot(v, v) - 1 / std::sqrt(dot(d, d));
  };
  EXPECT_NEAR(energy(after), energy(particles), 1e-4);
  EXPECT_GT(after.x[1], 3.5);
}

// Reference: the definitions. No particle crosses more than `courant` cells in a step; the acceleration step √(2 η
// h/|a|) is twice as long for four times η.
TEST_P(MeshRun, AdaptiveStepsFollowTheCellsCrossed) {
  const auto particles = plummer(2000, 5);
  const auto gravity = mesh_gravity({32, 32, 32}, isolated(10), Precision::double_);
  auto time = leapfrog(1);
  time.adaptive = true;
  time.eta = 1e9;
  time.courant = 0.5;
  const auto system = make(time, gravity);
  system->start(particles, 0);
  system->advance(1, nullptr);
  double fastest = 0;
  const auto now = system->state_at(system->time());
  for (std::size_t k = 0; k < now.id.size(); ++k) fastest = std::max(fastest, dot(velocity(now, k), velocity(now, k)));
  const double expected = 0.5 * (10.0 / 32) / std::sqrt(fastest),
               taken = system->time() / double(system->counts().steps);
  EXPECT_NEAR(taken / expected, 1, 0.15);

  time.courant = 1e9;
  time.eta = 0.0005;
  const auto slow = make(time, gravity);
  time.eta = 0.002;
  const auto fast = make(time, gravity);
  for (auto* one : {slow.get(), fast.get()}) one->start(particles, 0), one->advance(1, nullptr);
  EXPECT_NEAR(double(slow->counts().steps) / double(fast->counts().steps), 2, 0.3);  // step ∝ √η
}

bool same_bits(const Particles& a, const Particles& b) {
  return a.id == b.id && a.x == b.x && a.y == b.y && a.z == b.z && a.vx == b.vx && a.vy == b.vy && a.vz == b.vz;
}

TEST_P(MeshRun, IsTheSameForAnyThreadsOrderAndResume) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
    auto particles = cube(3000, 1, 0.3, 7);
    for (std::size_t k = 0; k < particles.mass.size(); ++k) particles.mass[k] *= 1 + 0.001 * double(k % 7);
    const bool open = boundary == Boundary::isolated;
    if (open) move(particles, -0.5);
    const auto gravity = mesh_gravity({16, 24, 20}, open ? isolated(1.9) : periodic_unit(), Precision::single);
    const auto time = leapfrog(0.01);

    const auto whole = make(time, gravity, 1);
    whole->start(particles, 0);
    whole->finish(0.4);
    const auto expected = whole->state_at(0.4);

    const auto three = make(time, gravity, 3);
    three->start(particles, 0);
    three->advance(0.2, nullptr);
    (void)three->state_at(0.203);  // output does not disturb
    const auto blocks = three->save();
    three->finish(0.4);
    EXPECT_TRUE(same_bits(three->state_at(0.4), expected));

    const auto resumed = make(time, gravity, 2);
    resumed->restore(blocks);
    resumed->finish(0.4);
    EXPECT_TRUE(same_bits(resumed->state_at(0.4), expected));

    Particles backwards;
    for (std::size_t k = particles.id.size(); k-- > 0;) {
      auto one = bodies({{particles.mass[k], position(particles, k), velocity(particles, k)}});
      one.id[0] = particles.id[k];
      backwards.append(one);
    }
    const auto reversed = make(time, gravity);
    reversed->start(backwards, 0);
    reversed->finish(0.4);
    const auto found = reversed->state_at(0.4);
    for (std::size_t k = 0; k < found.id.size(); ++k) {
      const std::size_t same = found.id.size() - 1 - k;
      ASSERT_EQ(found.id[k], expected.id[same]);
      ASSERT_EQ(found.x[k], expected.x[same]);
      ASSERT_EQ(found.vz[k], expected.vz[same]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MeshRun, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

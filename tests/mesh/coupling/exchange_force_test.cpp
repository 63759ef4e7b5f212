// From a potential, or a force, on the mesh to the particles.
#include <algorithm>
#include <cmath>
#include <vector>

#include "marks.hpp"
#include "mesh/coupling/exchange_fixture.hpp"
#include "test_devices.hpp"
#include "tree/keys.hpp"

namespace pergola {

namespace {

PERGOLA_MARK(threads, "*");

class ExchangeForce : public DeviceTest {};

template <class Real>
void expect_linear(const Device& device, const Grid& grid, const ExchangeOptions& options) {
  MeshFixture<Real> mesh(device, grid, options);
  const auto particles = scattered<Real>(grid, 4000, 8, -0.2);  // well within the margin
  mesh.deposit(particles, quantum);
  const double gradient[3] = {1.5, -2.25, grid.dimensions == 3 ? 0.75 : 0.0};
  const auto h = grid.spacing();
  mesh.set_field([&](int x, int y, int z) {
    return 3 + gradient[0] * (x + 0.5) * h[0] + gradient[1] * (y + 0.5) * h[1] + gradient[2] * (z + 0.5) * h[2];
  });
  mesh.differentiate();
  const auto forces = mesh.gather();
  const double rounding = std::is_same_v<Real, float> ? 1e-4 : 1e-12;  // of φ ≈ 10 divided by h ≈ 0.1
  const auto& corner = grid.box.corner;
  for (std::size_t i = 0; i < particles.x.size(); ++i) {
    ASSERT_NEAR(forces.ax[i], -gradient[0], rounding);
    ASSERT_NEAR(forces.ay[i], -gradient[1], rounding);
    ASSERT_NEAR(forces.az[i], -gradient[2], rounding);
    if (options.assignment == Assignment::ngp) continue;
    const double expected = 3 + gradient[0] * (particles.x[i] - corner.x) + gradient[1] * (particles.y[i] - corner.y) +
                            gradient[2] * (particles.z[i] - corner.z);
    ASSERT_NEAR(forces.potential[i], expected, rounding);
  }
}

TEST_P(ExchangeForce, LinearPotentialGivesItsForceAnywhere) {
  for (const Assignment assignment : every_assignment)
    for (const Gradient gradient : {Gradient::two_point, Gradient::four_point})
      for (const Grid& grid : {box_grid(Boundary::isolated), flat_grid(Boundary::isolated)}) {
        SCOPED_TRACE(std::string(assignment_names[static_cast<std::size_t>(assignment) - 1]) + " " +
                     std::string(gradient_names[static_cast<std::size_t>(gradient)]) + " " +
                     std::to_string(grid.dimensions));
        expect_linear<float>(device(), grid, with(assignment, gradient));
        expect_linear<double>(device(), grid, with(assignment, gradient));
      }
}

// φ = x³: the four-point force is exact, the two-point one lacks h²φ‴/6 = h².
TEST_P(ExchangeForce, FourPointForceIsExactForACubicPotential) {
  const Grid grid = cubic_grid(16, Boundary::isolated, 4.0);
  const double h = 0.25;
  for (int axis = 0; axis < 3; ++axis)
    for (const Gradient gradient : {Gradient::two_point, Gradient::four_point}) {
      MeshFixture<double> mesh(device(), grid, with(Assignment::ngp, gradient));
      HostParticles<double> particles;
      for (int i = 3; i < 13; ++i) {
        const double along = (i + 0.5) * h, other = 7.5 * h;
        particles.add(axis == 0 ? along : other, axis == 1 ? along : other, axis == 2 ? along : other);
      }
      mesh.set(particles);
      mesh.set_field([&](int x, int y, int z) { return std::pow(((axis == 0 ? x : axis == 1 ? y : z) + 0.5) * h, 3); });
      mesh.differentiate();
      const auto forces = mesh.gather();
      const auto& component = axis == 0 ? forces.ax : axis == 1 ? forces.ay : forces.az;
      for (std::size_t k = 0; k < component.size(); ++k) {
        const double along = (static_cast<double>(k) + 3.5) * h, error = gradient == Gradient::two_point ? h * h : 0;
        EXPECT_NEAR(component[k], -(3 * along * along + error), 1e-12);
      }
    }
}

TEST_P(ExchangeForce, PeriodicPotentialWrapsIntoTheForce) {
  for (const Gradient gradient : {Gradient::two_point, Gradient::four_point}) {
    const Grid grid = box_grid(Boundary::periodic);
    MeshFixture<double> mesh(device(), grid, with(Assignment::tsc, gradient));
    const auto particles = scattered<double>(grid, 500, 4);
    auto moved = particles;  // by a whole number of cells in every direction
    const auto h = grid.spacing();
    for (auto& x : moved.x) x += 5 * h[0];
    for (auto& y : moved.y) y -= 7 * h[1];
    for (auto& z : moved.z) z += 11 * h[2];
    const auto wave = [&](int x, int y, int z) {
      return std::sin(x * 2 * M_PI / 16) + std::cos(y * 2 * M_PI / 20) * z * (23 - z);
    };
    mesh.set(particles);
    mesh.set_field(wave);
    mesh.differentiate();
    const auto forces = mesh.gather();
    mesh.set(moved);
    mesh.set_field([&](int x, int y, int z) { return wave((x + 11) % 16, (y + 7) % 20, (z + 13) % 24); });
    mesh.differentiate();
    const auto again = mesh.gather();
    for (std::size_t k = 0; k < forces.ax.size(); ++k) {
      ASSERT_NEAR(again.ax[k], forces.ax[k], 1e-10);
      ASSERT_NEAR(again.ay[k], forces.ay[k], 1e-10);
      ASSERT_NEAR(again.az[k], forces.az[k], 1e-10);
      ASSERT_NEAR(again.potential[k], forces.potential[k], 1e-10);
    }
  }
}

// Reference: a point mass at the centre of mass of the particles on the mesh, in fp64.
template <class Real>
void expect_monopole(const Device& device, const Grid& grid) {
  HostParticles<Real> particles;
  Vec3<double> centre{0, 0, 0};
  double mass = 0;
  const auto& [corner, side, boundary] = grid.box;
  for (int i = 0; i < 20; ++i) {
    const double a = 0.3 + 0.02 * i, b = 0.5 + 0.1 * std::sin(i), c = 0.6 - 0.01 * i, m = 1 + i % 3;
    const Vec3<double> at{corner.x + a * side.x, corner.y + b * side.y, corner.z + c * side.z};
    particles.add(at.x, at.y, at.z, m);
    centre = centre + m * at;
    mass += m;
  }
  centre = (1 / mass) * centre;
  const std::vector<Vec3<double>> away{{corner.x + 3 * side.x, corner.y, corner.z + 0.5 * side.z},
                                       {corner.x + 0.5 * side.x, corner.y + 1.01 * side.y, corner.z + 0.5 * side.z},
                                       {corner.x + 0.001 * side.x, corner.y + 0.5 * side.y, corner.z + 0.5 * side.z}};
  for (const auto& at : away) particles.add(at.x, at.y, at.z, 5);
  MeshFixture<Real> mesh(device, grid, with(Assignment::cic));
  mesh.deposit(particles, quantum);
  EXPECT_EQ(mesh.exchange().outside(), 3);
  EXPECT_EQ(mesh.exchange().deposited_quanta(), physics::quanta(mass, 1 / quantum));
  mesh.set_field([](int, int, int) { return 0.0; });
  mesh.differentiate();
  const double g = 0.5, rounding = std::is_same_v<Real, float> ? 1e-5 : 1e-11;
  const auto forces = mesh.gather({}, g);
  EXPECT_EQ(forces.ax[0], 0);
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec3<double> d = away[k] - centre;
    const bool flat = grid.dimensions == 2;
    const double r = std::sqrt(d.x * d.x + d.y * d.y + (flat ? 0 : d.z * d.z));
    const double factor = flat ? -2 * g * mass / (r * r) : -g * mass / (r * r * r);
    const double potential = flat ? 2 * g * mass * std::log(r) : -g * mass / r;
    EXPECT_NEAR(forces.ax[20 + k], factor * d.x, rounding * std::abs(factor * r));
    EXPECT_NEAR(forces.ay[20 + k], factor * d.y, rounding * std::abs(factor * r));
    EXPECT_NEAR(forces.az[20 + k], flat ? 0 : factor * d.z, rounding * std::abs(factor * r));
    EXPECT_NEAR(forces.potential[20 + k], potential, rounding * g * mass);
  }
}

TEST_P(ExchangeForce, ParticlesOutsideAnIsolatedBoxAreCountedAndPulledByThePointMass) {
  expect_monopole<float>(device(), box_grid(Boundary::isolated));
  expect_monopole<double>(device(), box_grid(Boundary::isolated));
  expect_monopole<float>(device(), flat_grid(Boundary::isolated));
  expect_monopole<double>(device(), flat_grid(Boundary::isolated));
}

TEST_P(ExchangeForce, EmptyMeshPullsNothing) {
  HostParticles<float> away;
  away.add(50, 50, 50);
  MeshFixture<float> mesh(device(), box_grid(Boundary::isolated), with(Assignment::tsc));
  for (const float value : mesh.deposit(away, quantum)) ASSERT_EQ(value, 0);
  EXPECT_EQ(mesh.exchange().outside(), 1);
  mesh.set_field([](int, int, int) { return 0.0; });
  mesh.differentiate();
  const auto forces = mesh.gather();
  EXPECT_EQ(forces.ax[0], 0);
  EXPECT_EQ(forces.potential[0], 0);
}

TEST_P(ExchangeForce, ChosenTargetsGetTheForcesOfAll) {
  for (const Assignment assignment : every_assignment) {
    const Grid grid = box_grid(Boundary::isolated);
    const auto particles = scattered<float>(grid, 700, 2, 0.05);
    MeshFixture<float> mesh(device(), grid, with(assignment, Gradient::four_point));
    mesh.deposit(particles, quantum);
    mesh.set_field([](int x, int y, int z) { return std::sin(0.3 * x) * y + 0.01 * z * z; });
    mesh.differentiate();
    const auto all = mesh.gather();
    std::vector<std::int64_t> index;
    for (std::int64_t i = 0; i < 333; ++i) index.push_back(i * 37 % 700);
    const auto chosen = mesh.gather(index);
    for (std::size_t k = 0; k < index.size(); ++k) {
      const auto i = static_cast<std::size_t>(index[k]);
      ASSERT_EQ(chosen.ax[k], all.ax[i]);
      ASSERT_EQ(chosen.ay[k], all.ay[i]);
      ASSERT_EQ(chosen.az[k], all.az[i]);
      ASSERT_EQ(chosen.potential[k], all.potential[i]);
    }
  }
}

TEST_P(ExchangeForce, ForceGivenByComponentsIsGathered) {
  for (const Grid& grid : {box_grid(Boundary::periodic), flat_grid(Boundary::periodic)}) {
    MeshFixture<float> mesh(device(), grid, with(Assignment::cic, Gradient::spectral));
    mesh.set(scattered<float>(grid, 300, 9));
    HostForces<float> forces;
    for (int axis = 0; axis < grid.dimensions; ++axis) {
      mesh.set_field([axis](int, int, int) { return axis + 1.5; });
      if (GetParam() != "cpu")
        (axis == 0 ? forces.ax : axis == 1 ? forces.ay : forces.az) = mesh.gather_component(axis);
    }
    if (GetParam() == "cpu") {
      const bool flat = grid.dimensions == 2;
      const int rows = flat ? 1 : grid.cells[1], planes = grid.cells[flat ? 1 : 2];
      const std::vector<float> x(mesh.layout().size(), 1.5f), y(x.size(), 2.5f), z(x.size(), 3.5f);
      for (int plane = 0; plane < planes; ++plane)
        mesh.exchange().set_forces({plane, 0, rows, {x.data(), y.data(), z.data()}, grid.cells[0]}, mesh.scratch());
      forces = mesh.gather();
    } else
      forces.potential = mesh.gather_component(3), forces.az.resize(300);
    for (std::size_t k = 0; k < 300; ++k) {
      ASSERT_NEAR(forces.ax[k], 1.5, 1e-5);
      ASSERT_NEAR(forces.ay[k], 2.5, 1e-5);
      ASSERT_NEAR(forces.az[k], grid.dimensions == 3 ? 3.5 : 0, 1e-5);
      ASSERT_NEAR(forces.potential[k], grid.dimensions + 0.5, 1e-5);  // what the field holds now
    }
  }
}

// Reference: the gather of all components at once, whose fields are those of a potential's differences.
TEST_P(ExchangeForce, ComponentGatheredAloneIsThatOfAll) {
  if (GetParam() != "cuda") GTEST_SKIP() << "components are gathered alone on a GPU";
  for (const Assignment assignment : every_assignment)
    for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
      if (assignment == Assignment::pcs && boundary == Boundary::isolated) continue;
      const Grid grid = box_grid(boundary);
      MeshFixture<float> mesh(device(), grid, with(assignment));
      const auto particles = scattered<float>(grid, 700, 3, boundary == Boundary::periodic ? 0 : 0.05);
      mesh.deposit(particles, quantum);
      mesh.set_field([](int x, int y, int z) { return std::sin(0.7 * x + y) + 0.1 * z * y; });
      mesh.differentiate();
      const auto all = mesh.gather();
      std::vector<std::uint32_t> order(700);
      for (std::uint32_t k = 0; k < 700; ++k) order[k] = k * 37 % 700;
      const auto as_they_stand = mesh.gather_component(3), ordered = mesh.gather_component(3, order);
      EXPECT_EQ(as_they_stand, all.potential);
      EXPECT_EQ(ordered, all.potential);
      mesh.set_field([](int, int, int) { return 0.0; });
      mesh.differentiate();
      const auto away = mesh.gather();  // nothing but the pull of the point mass outside
      EXPECT_EQ(mesh.gather_component(0), away.ax);
      EXPECT_EQ(mesh.gather_component(1), away.ay);
      EXPECT_EQ(mesh.gather_component(2, order), away.az);
    }
}

// Clumps and single particles in the order of an octree, in one that goes far at every step, and as they stand:
// chunks have boxes that hold all, some or none of their clouds, and sums of 64 or 32 bits. Reference: one by one.
TEST_P(ExchangeForce, ChunksOfAnyOrderHaveTheSameDensityAndForces) {
  if (GetParam() != "cuda") GTEST_SKIP() << "an order is given on a GPU";
  const Device here = device();
  const Grid grid = cubic_grid(64, Boundary::periodic, 1.0);
  constexpr std::uint32_t count = 6007;
  auto particles = scattered<float>(grid, count, 3, 0);
  for (std::size_t k = 0; k < count; ++k)
    if (const auto clump = static_cast<float>(k % 8); k % 3 > 0)
      for (auto* axis : {&particles.x, &particles.y, &particles.z}) (*axis)[k] = 0.02f * (*axis)[k] + clump / 8;
  std::vector<std::uint32_t> by_key(count), scattering(count);
  std::vector<std::uint64_t> key(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    by_key[k] = k, scattering[k] = k * 1009 % count;
    key[k] = tree::upper_key({particles.x[k], particles.y[k], particles.z[k]});
  }
  std::sort(by_key.begin(), by_key.end(), [&](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
  ExchangeOptions by_atomics = with(Assignment::pcs);
  by_atomics.route = DensityRoute::atomic;
  MeshFixture<float> reference(here, grid, by_atomics), mesh(here, grid, with(Assignment::pcs));
  const auto wave = [](int x, int y, int z) { return std::sin(0.7 * x + y) + 0.1 * std::cos(z * y); };
  for (const double unit : {quantum, 0x1p-18}) {
    const auto density = reference.deposit(particles, unit);
    EXPECT_EQ(mesh.deposit(particles, unit), density);
    reference.set_field(wave);
    const auto expected = reference.gather_component(2);
    for (const auto& order : {by_key, scattering}) {
      const Buffer<std::uint32_t> near(here, order);
      MeshParticles<float> ordered = mesh.particles();
      ordered.order = near.data();
      StageClock clock;
      mesh.exchange().deposit(ordered, unit, mesh.layout(), mesh.scratch(), clock);
      std::vector<float> found(density.size());
      here.memory().to_host(found.data(), mesh.layout().data, found.size() * sizeof(float));
      EXPECT_EQ(found, density);
      mesh.set_field(wave);
      EXPECT_EQ(mesh.gather_component(2, order), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ExchangeForce, OnEachDevice(), device_test_name);

}  // namespace

}  // namespace pergola

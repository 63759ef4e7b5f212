#include "mesh/coupling/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "marks.hpp"
#include "mesh/coupling/cell_frame.hpp"
#include "mesh/coupling/exchange_fixture.hpp"
#include "test_devices.hpp"

namespace pergola {

namespace {

PERGOLA_MARK(threads, "*");

class Exchange : public DeviceTest {};

template <class Real>
void expect_exact_mass(const Device& device, const Grid& grid, Assignment assignment, bool padded) {
  const auto particles = scattered<Real>(grid, 3000, 11, grid.periodic() ? 0.9 : 0.1);
  MeshFixture<Real> mesh(device, grid, with(assignment), padded);
  const auto density = mesh.deposit(particles, quantum);
  std::int64_t expected = 0, outside = 0;
  for (std::size_t i = 0; i < particles.x.size(); ++i)
    if (grid.periodic() || inside_margin(grid, particles.x[i], particles.y[i], particles.z[i]))
      expected += physics::quanta(particles.mass[i], 1 / quantum);
    else
      ++outside;
  EXPECT_EQ(mesh.exchange().deposited_quanta(), expected);
  EXPECT_EQ(mesh.exchange().outside(), outside);
  EXPECT_EQ(outside > 0, !grid.periodic());
  double sum = 0, beyond = 0;
  for (int iz = 0; iz < mesh.layout().nz; ++iz)
    for (int iy = 0; iy < mesh.layout().ny; ++iy)
      for (int ix = 0; ix < mesh.layout().pitch; ++ix) {
        const double value = static_cast<double>(density[static_cast<std::size_t>(mesh.at(ix, iy, iz))]);
        const bool in_grid = ix < grid.cells[0] && iy < grid.cells[1] && iz < grid.cells[2];
        in_grid ? sum += value : beyond += std::abs(value);
      }
  EXPECT_EQ(beyond, 0);
  const double mass = static_cast<double>(expected) * quantum, rounding = std::is_same_v<Real, float> ? 1e-6 : 1e-13;
  EXPECT_NEAR(sum * grid.cell_volume(), mass, rounding * mass);
}

TEST_P(Exchange, MassOnTheMeshIsExactlyTheMassOfTheParticles) {
  for (const Assignment assignment : every_assignment)
    for (const Boundary boundary : {Boundary::periodic, Boundary::isolated})
      for (const Grid& grid : {box_grid(boundary), flat_grid(boundary)})
        for (const bool padded : {false, true}) {
          if (padded && grid.periodic()) continue;
          SCOPED_TRACE(std::string(assignment_names[static_cast<std::size_t>(assignment) - 1]) + " " +
                       std::to_string(grid.dimensions) + "D" + (grid.periodic() ? " periodic" : " isolated"));
          expect_exact_mass<float>(device(), grid, assignment, padded);
          expect_exact_mass<double>(device(), grid, assignment, padded);
        }
}

// Weights by hand for places 3.75, 5.5 and 0.125 in cells: cloud-in-cell 0.75/0.25, 1/0 and, across the edge,
// 0.375/0.625; triangular cloud with d = 0.25, 0, −0.375.
TEST_P(Exchange, OneParticleGivesItsWeightsToItsCells) {
  const Grid grid = cubic_grid(8, Boundary::periodic, 8.0);
  HostParticles<double> one;
  one.add(3.75, 5.5, 0.125, 64);
  struct Share {
    int x, y, z;
    double weight;
  };
  const auto expect = [&](Assignment assignment, const std::vector<Share>& shares) {
    MeshFixture<double> mesh(device(), grid, with(assignment));
    auto density = mesh.deposit(one, quantum);
    for (const auto& [x, y, z, weight] : shares) {
      double& value = density[static_cast<std::size_t>(mesh.at(x, y, z))];
      EXPECT_NEAR(value, 64 * weight, 8 * quantum) << x << ' ' << y << ' ' << z;
      value = 0;
    }
    for (const double value : density) EXPECT_NEAR(value, 0, 8 * quantum);
  };
  expect(Assignment::ngp, {{3, 5, 0, 1}});
  expect(Assignment::cic,
         {{3, 5, 7, 0.75 * 0.375}, {4, 5, 7, 0.25 * 0.375}, {3, 5, 0, 0.75 * 0.625}, {4, 5, 0, 0.25 * 0.625}});
  const double tx[3] = {0.5 * 0.25 * 0.25, 0.75 - 0.0625, 0.5 * 0.75 * 0.75}, ty[3] = {0.125, 0.75, 0.125};
  const double tz[3] = {0.5 * 0.875 * 0.875, 0.75 - 0.140625, 0.5 * 0.125 * 0.125};
  std::vector<Share> triangular;
  for (int k = 0; k < 27; ++k)
    triangular.push_back({2 + k % 3, 4 + k / 3 % 3, (7 + k / 9) % 8, tx[k % 3] * ty[k / 3 % 3] * tz[k / 9]});
  expect(Assignment::tsc, triangular);
}

// Reference: the shares of each particle, added one by one.
template <int order, class Real>
void expect_shares(const Device& device, const Grid& grid) {
  const auto particles = scattered<Real>(grid, 5000, 21, 0.9);
  MeshFixture<Real> mesh(device, grid, with(static_cast<Assignment>(order)));
  const auto density = mesh.deposit(particles, quantum);
  const CellFrame<Real> frame(grid);
  std::vector<std::int64_t> sums(density.size(), 0);
  for (std::size_t i = 0; i < particles.x.size(); ++i) {
    const auto x = physics::axis_weights<order>(frame.place(0, particles.x[i]));
    const auto y = physics::axis_weights<order>(frame.place(1, particles.y[i]));
    const auto z = physics::axis_weights<order>(frame.place(2, particles.z[i]));
    share_out<3>(x, y, z, physics::quanta(particles.mass[i], 1 / quantum),
                 [&](int kx, int ky, int kz, std::int64_t share) {
                   const int ix = frame.wrapped(0, x.first + kx), iy = frame.wrapped(1, y.first + ky);
                   sums[static_cast<std::size_t>(mesh.at(ix, iy, frame.wrapped(2, z.first + kz)))] += share;
                 });
  }
  const double factor = quantum / grid.cell_volume();
  for (std::size_t k = 0; k < sums.size(); ++k) ASSERT_EQ(density[k], physics::density<Real>(sums[k], factor));
}

TEST_P(Exchange, DensityIsTheSumOfTheParticlesShares) {
  const Grid grid = box_grid(Boundary::periodic);
  expect_shares<1, float>(device(), grid);
  expect_shares<2, float>(device(), grid);
  expect_shares<3, float>(device(), grid);
  expect_shares<4, float>(device(), grid);
  expect_shares<2, double>(device(), grid);
  expect_shares<3, double>(device(), grid);
  expect_shares<4, double>(device(), grid);
}

// A mass of few quanta, of up to 2³¹ and of more; the second deposit may know from the first how the particles lie.
TEST_P(Exchange, EveryRouteGivesTheSameDensity) {
  for (const Assignment assignment : every_assignment)
    for (const Grid& grid : {box_grid(Boundary::periodic), box_grid(Boundary::isolated), flat_grid(Boundary::isolated)})
      for (const double unit : {0x1p-19, 0x1p-30, quantum}) {
        const auto particles = scattered<float>(grid, 20000, 5, 0.05);
        std::vector<float> first;
        for (const auto route : {DensityRoute::atomic, DensityRoute::automatic, DensityRoute::sorted}) {
          MeshFixture<float> mesh(device(), grid, {assignment, Gradient::two_point, route});
          if (first.empty()) first = mesh.deposit(particles, unit);
          for (int k = 0; k < 2; ++k)
            EXPECT_EQ(mesh.deposit(particles, unit), first) << density_route_names[static_cast<std::size_t>(route)];
        }
      }
}

// Reference: the route that adds every share by itself. Clustered, in cell order, and negative masses.
TEST_P(Exchange, EveryRouteCountsClustersAndCharges) {
  for (const Assignment assignment : every_assignment)
    for (const double unit : {0x1p-19, 0x1p-30, quantum}) {
      const Grid grid = cubic_grid(32, Boundary::periodic, 32.0);
      HostParticles<double> particles;
      std::mt19937_64 random(3);
      std::uniform_real_distribution<double> anywhere(0, 32);
      std::normal_distribution<double> near(0, 0.7);
      for (int i = 0; i < 5000; ++i) particles.add(anywhere(random), anywhere(random), i * 0.0064, i % 3 - 1.0);
      for (int i = 0; i < 5000; ++i) particles.add(near(random), 31.5 + near(random), 16 + near(random));
      for (int i = 0; i < 5000; ++i) particles.add(31.9, 0.1, 31.999, i % 2 ? -0.75 : 1);
      std::vector<double> first;
      for (const auto route : {DensityRoute::atomic, DensityRoute::automatic, DensityRoute::sorted}) {
        MeshFixture<double> mesh(device(), grid, {assignment, Gradient::two_point, route});
        const auto density = mesh.deposit(particles, unit);
        if (first.empty()) first = density;
        EXPECT_EQ(density, first) << density_route_names[static_cast<std::size_t>(route)];
      }
    }
}

TEST_P(Exchange, AnyOrderOfTheParticlesAndAnyNumberOfThreadsGivesTheSameBits) {
  for (const Assignment assignment : every_assignment) {
    const Grid grid = box_grid(Boundary::isolated);
    const auto particles = scattered<float>(grid, 30000, 6, 0.05);
    std::vector<std::size_t> order(particles.x.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
    const auto shuffled = reordered(particles, order);
    MeshFixture<float> mesh(device(), grid, with(assignment));
    const auto density = mesh.deposit(particles, quantum);
    mesh.set_field([](int x, int y, int z) { return std::sin(x * 0.7 + y * y * 0.1 - z * 0.3); });
    mesh.differentiate();
    const auto forces = mesh.gather();
    for (const int threads : {1, 2, 7}) {
      MeshFixture<float> other(device(threads), grid, with(assignment));
      EXPECT_EQ(other.deposit(shuffled, quantum), density);
      other.set_field([](int x, int y, int z) { return std::sin(x * 0.7 + y * y * 0.1 - z * 0.3); });
      other.differentiate();
      const auto again = other.gather();
      for (std::size_t k = 0; k < order.size(); ++k) {
        ASSERT_EQ(again.ax[k], forces.ax[order[k]]);
        ASSERT_EQ(again.az[k], forces.az[order[k]]);
        ASSERT_EQ(again.potential[k], forces.potential[order[k]]);
      }
    }
  }
}

TEST_P(Exchange, UpperEdgeOfAPeriodicBoxIsTheLowerOne) {
  for (const Assignment assignment : every_assignment) {
    const Grid grid = box_grid(Boundary::periodic);
    HostParticles<float> lower, upper, beyond;
    lower.add(-1, 2, 0.5), upper.add(1, 5, 4.5), beyond.add(-3, 8, 4.5);
    MeshFixture<float> mesh(device(), grid, with(assignment));
    const auto density = mesh.deposit(lower, quantum);
    EXPECT_EQ(mesh.deposit(upper, quantum), density);
    EXPECT_EQ(mesh.deposit(beyond, quantum), density);
    HostParticles<float> highest;
    highest.add(std::nextafter(1.0f, 0.0f), std::nextafter(5.0f, 0.0f), std::nextafter(4.5f, 0.0f));
    mesh.deposit(highest, quantum);
    EXPECT_EQ(mesh.exchange().deposited_quanta(), physics::quanta(1.0f, 1 / quantum));
    mesh.set_field([](int, int, int) { return 2.0; });
    mesh.differentiate();
    EXPECT_NEAR(mesh.gather().potential[0], 2, 1e-6);
  }
}

// In cell order particles are added by whole groups, elsewhere one by one: both ways.
TEST_P(Exchange, CellOrderGivesTheSameDensity) {
  const Device here = device();
  for (const Assignment assignment : every_assignment)
    for (const Grid& grid :
         {box_grid(Boundary::isolated), box_grid(Boundary::periodic), flat_grid(Boundary::periodic)}) {
      const auto particles = scattered<float>(grid, 60000, 13, grid.periodic() ? 0 : 0.02);
      MeshFixture<float> mesh(here, grid, with(assignment));
      const auto density = mesh.deposit(particles, quantum);
      Buffer<std::uint32_t> order(here, particles.count());
      Buffer<std::byte> work(here, mesh.exchange().order_bytes(particles.count()));
      mesh.exchange().find_order(mesh.particles(), order.data(), work.data());
      const auto found = order.to_host();
      const auto sorted = reordered(particles, std::vector<std::size_t>(found.begin(), found.end()));
      EXPECT_EQ(mesh.deposit(sorted, quantum), density);
    }
}

// Reference: the same with memory of their own. Rows are long and short, and planes many and few.
TEST_P(Exchange, DensityMayBeWrittenOverItsSums) {
  if (GetParam() != "cuda") GTEST_SKIP() << "sums and field share memory on a GPU";
  const Device here = device();  // and its stream
  for (const std::array<int, 3> cells : {std::array<int, 3>{16, 20, 24}, {64, 8, 8}, {8, 8, 40}}) {
    const Grid grid{3, cells, {{0, 0, 0}, {1, 2, 3}, Boundary::periodic}};
    const auto check = [&](auto real) {
      using Real = decltype(real);
      MeshFixture<Real> mesh(here, grid, with(Assignment::tsc));
      const auto expected = mesh.deposit(scattered<Real>(grid, 3000, 5), quantum);
      const auto size = static_cast<std::int64_t>(sizeof(Real));
      const std::int64_t plane = (mesh.layout().pitch * mesh.layout().ny * size + 255) / 256 * 256;
      const std::int64_t sums = (mesh.exchange().sum_bytes() + 255) / 256 * 256, field = mesh.layout().size();
      Buffer<std::byte> both(here, std::max(plane + sums, field * size + 256));
      Field<Real> over = mesh.layout();
      over.data = reinterpret_cast<Real*>(both.data());
      StageClock clock;
      std::vector<std::uint32_t> order(3000);
      for (std::uint32_t k = 0; k < 3000; ++k) order[k] = k * 7 % 3000;
      const Buffer<std::uint32_t> near(here, order);
      MeshParticles<Real> particles = mesh.particles();
      particles.order = near.data();
      mesh.exchange().deposit(particles, quantum, over, both.data() + (both.size() / 256 * 256 - sums), clock);
      std::vector<Real> found(static_cast<std::size_t>(field));
      here.memory().to_host(found.data(), over.data, found.size() * sizeof(Real));
      EXPECT_EQ(found, expected);
    };
    check(float{});
    check(double{});
  }
}

TEST_P(Exchange, AllParticlesInOneCellAreCounted) {
  for (const Assignment assignment : every_assignment) {
    const Grid grid = cubic_grid(16, Boundary::periodic, 16.0);
    HostParticles<float> particles;
    for (int i = 0; i < 50000; ++i) particles.add(3.5, 4.5, 5.5);
    MeshFixture<float> mesh(device(), grid, with(assignment));
    const auto density = mesh.deposit(particles, quantum);
    EXPECT_EQ(mesh.exchange().deposited_quanta(), 50000 * physics::quanta(1.0f, 1 / quantum));
    // What the cell of a particle in its middle gets along an axis.
    const double along = assignment == Assignment::tsc ? 0.75 : assignment == Assignment::pcs ? 2.0 / 3 : 1.0;
    const double share = along * along * along;
    EXPECT_NEAR(density[static_cast<std::size_t>(mesh.at(3, 4, 5))], 50000 * share, 0.01);
  }
}

/// Every particle once; those at the same place in their old order; successive ones near each other: in the order they
/// were made in, the mean distance is a third of the box.
template <class Real>
void expect_stable_and_near(const Grid& grid, const HostParticles<Real>& particles,
                            const std::vector<std::uint32_t>& order) {
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 0; k < sorted.size(); ++k) ASSERT_EQ(sorted[k], k);
  const auto h = grid.spacing();
  double distance = 0;
  std::int64_t steps = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const std::uint32_t i = order[k - 1], j = order[k];
    if (particles.x[i] == particles.x[j] && particles.y[i] == particles.y[j] && particles.z[i] == particles.z[j]) {
      ASSERT_LT(i, j);
    }
    if (!grid.periodic() && (!inside_margin(grid, particles.x[i], particles.y[i], particles.z[i]) ||
                             !inside_margin(grid, particles.x[j], particles.y[j], particles.z[j])))
      continue;
    distance += std::abs(particles.x[i] - particles.x[j]) / h[0] + std::abs(particles.y[i] - particles.y[j]) / h[1];
    if (grid.dimensions == 3) distance += std::abs(particles.z[i] - particles.z[j]) / h[2];
    ++steps;
  }
  EXPECT_LT(distance / static_cast<double>(steps), 3.5);
}

TEST_P(Exchange, OrderIsStableAndByCell) {
  const Device here = device();
  for (const Grid& grid : {box_grid(Boundary::isolated), flat_grid(Boundary::periodic)}) {
    auto particles = scattered<double>(grid, 40000, 12, grid.periodic() ? 0 : 0.02);
    for (std::size_t i = 20000; i < 40000; i += 2)  // pairs at one place
      particles.x[i] = particles.x[i - 20000], particles.y[i] = particles.y[i - 20000],
      particles.z[i] = particles.z[i - 20000];
    MeshFixture<double> mesh(here, grid, with(Assignment::cic));
    mesh.set(particles);
    const std::int64_t count = particles.count();
    Buffer<std::uint32_t> order(here, count);
    Buffer<std::byte> work(here, mesh.exchange().order_bytes(count));
    mesh.exchange().find_order(mesh.particles(), order.data(), work.data());
    const auto found = order.to_host();
    std::vector<std::uint32_t> expected(found.size());
    std::iota(expected.begin(), expected.end(), 0U);
    const auto h = grid.spacing();
    const auto cell = [&](std::uint32_t i) {
      if (!grid.periodic() && !inside_margin(grid, particles.x[i], particles.y[i], particles.z[i]))
        return static_cast<double>(grid.cell_count());
      const auto& corner = grid.box.corner;
      const double x = std::floor((particles.x[i] - corner.x) / h[0]),
                   y = std::floor((particles.y[i] - corner.y) / h[1]);
      const double z = grid.dimensions == 3 ? std::floor((particles.z[i] - corner.z) / h[2]) : 0;
      return (z * grid.cells[1] + y) * grid.cells[0] + x;
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return cell(a) < cell(b); });
    if (!here.is_cuda()) {  // a GPU has an order of its own
      EXPECT_EQ(found, expected);
    }
    expect_stable_and_near(grid, particles, found);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Exchange, OnEachDevice(), device_test_name);

}  // namespace

}  // namespace pergola

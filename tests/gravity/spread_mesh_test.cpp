#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/mesh.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedMeshForces.HaveTheBitsOfOneRankWhereParticlesAreInFewPlanes*");

class DistributedMeshForces : public DeviceTest {};

/// How far particles reach along x and y and along z, but for some of a hundred, which are anywhere.
struct Shape {
  double across, along;
  int anywhere;
};
constexpr Shape even{1, 1, 0}, clump{0.1, 0.1, 67}, disc{0.9, 0.04, 2}, thicker_disc{0.9, 0.3, 2},
    sphere{0.12, 0.12, 0};

/// Places in a box of 1, and masses that differ.
template <class Real>
struct Matter {
  std::vector<Real> x, y, z, mass;
  Matter(std::int64_t n, const Shape& shape) {
    for (std::int64_t k = 0; k < n; ++k) {
      Philox random(3, 1, static_cast<std::uint64_t>(k));
      const bool anywhere = k % 100 < shape.anywhere;
      const auto place = [&](double width) {
        if (anywhere) width = 1;
        return static_cast<Real>(std::min(0.9999, 0.85 * (1 - width) + width * random.uniform()));
      };
      x.push_back(place(shape.across)), y.push_back(place(shape.across)), z.push_back(place(shape.along));
      mass.push_back(static_cast<Real>((0.5 + random.uniform()) / static_cast<double>(n)));
    }
  }
};

/// The accelerations along x, y and z and the potential of particles first … first + n − 1, which are all that a rank
/// has, into those of all.
template <class Real>
void find_forces(Solver<Real>& solver, const Device& device, const Matter<Real>& matter, std::int64_t first,
                 std::int64_t n, std::vector<Real> (&all)[4]) {
  const auto part = [&](const std::vector<Real>& values) {
    return Buffer<Real>(device, std::vector<Real>(values.begin() + first, values.begin() + first + n));
  };
  const auto x = part(matter.x), y = part(matter.y), z = part(matter.z), mass = part(matter.mass);
  Sources<Real> sources;
  sources.count = n, sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data();
  Buffer<Real> out[4];
  for (auto& one : out) one = Buffer<Real>(device, n);
  Forces<Real> forces;
  forces.ax = out[0].data(), forces.ay = out[1].data(), forces.az = out[2].data(), forces.potential = out[3].data();
  Targets targets;
  targets.count = targets.total = n;
  solver.prepare(sources);
  solver.evaluate(targets, want_acceleration, forces);
  solver.evaluate(targets, want_acceleration | want_potential, forces);  // places are sent again
  device.synchronize();
  for (int k = 0; k < 4; ++k) out[k].to_host(all[k].data() + first);
}

/// Reference: the solver of one rank. In an isolated box particles near its faces are off the mesh. Particles have one
/// shape after the other.
template <class Real>
void expect_bits_of_one_rank(const std::string& spec, SolverOptions options, std::int64_t n,
                             const std::vector<int>& numbers, const std::vector<Shape>& shapes = {even, clump}) {
  options.solver = "mesh";
  options.precision = sizeof(Real) == sizeof(float) ? Precision::single : Precision::double_;
  options.mesh.box = {{0, 0, 0}, {1, 1, 1}, options.mesh.box.boundary};
  std::vector<Matter<Real>> matter;
  for (const Shape& shape : shapes) matter.emplace_back(n, shape);
  const auto room = [&](std::vector<Real>(&of)[4]) {
    for (auto& one : of) one.assign(static_cast<std::size_t>(n), Real(0));
  };
  using Components = std::vector<Real>[4];
  const auto all_shapes = [&] {
    auto found = std::make_unique<Components[]>(shapes.size());
    for (std::size_t s = 0; s < shapes.size(); ++s) room(found[s]);
    return found;
  };
  const auto one = all_shapes();
  const Device device = Device::open(spec, 1);
  const auto alone = make_mesh_solver<Real>(options, device);
  for (std::size_t s = 0; s < shapes.size(); ++s) find_forces(*alone, device, matter[s], 0, n, one[s]);
  for (const int ranks : numbers) {
    const auto several = all_shapes();
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Device own = Device::open(spec, 1);
      const Shares shares{n, ranks};
      const auto solver = make_distributed_mesh<Real>(options, own, {&communicator, [](Communicator*) {}});
      const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
      for (std::size_t s = 0; s < shapes.size(); ++s) find_forces(*solver, own, matter[s], first, count, several[s]);
    });
    for (std::size_t s = 0; s < shapes.size(); ++s)
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_EQ(std::memcmp(several[s][k].data(), one[s][k].data(), one[s][k].size() * sizeof(Real)), 0)
            << ranks << " ranks, shape " << s << ", component " << k;
  }
}

SolverOptions mesh_of(std::array<int, 3> cells, Assignment assignment, Gradient gradient) {
  SolverOptions options;
  options.mesh.cells = cells, options.mesh.assignment = assignment, options.mesh.gradient = gradient;
  return options;
}

TEST_P(DistributedMeshForces, HaveTheBitsOfOneRank) {
  const auto cic = mesh_of({32, 24, 40}, Assignment::cic, Gradient::two_point);
  expect_bits_of_one_rank<float>(GetParam(), cic, 20000, {1, 2, 3, 4, 7});
  expect_bits_of_one_rank<double>(GetParam(), cic, 5000, {2, 7});
  expect_bits_of_one_rank<float>(GetParam(), mesh_of({16, 16, 64}, Assignment::tsc, Gradient::four_point), 20000,
                                 {3, 64});
}

TEST_P(DistributedMeshForces, HaveTheBitsOfOneRankWithSpectralGradients) {
  const auto pcs = mesh_of({32, 32, 32}, Assignment::pcs, Gradient::spectral);
  expect_bits_of_one_rank<float>(GetParam(), pcs, 20000, {1, 2, 4, 7});
  expect_bits_of_one_rank<double>(GetParam(), pcs, 5000, {3, 40});
  // Lines along z by one kernel there and back, rows with a place too many.
  expect_bits_of_one_rank<float>(GetParam(), mesh_of({48, 32, 64}, Assignment::pcs, Gradient::spectral), 20000, {1, 3});
}

// The first and the last planes of the padding are read by a four-point gradient next to the particles' cells.
TEST_P(DistributedMeshForces, HaveTheBitsOfOneRankInAnIsolatedBox) {
  const auto isolated = [](std::array<int, 3> cells, Assignment assignment, Gradient gradient) {
    auto options = mesh_of(cells, assignment, gradient);
    options.mesh.box.boundary = Boundary::isolated;
    return options;
  };
  const auto cic = isolated({16, 12, 20}, Assignment::cic, Gradient::two_point);
  expect_bits_of_one_rank<float>(GetParam(), cic, 5000, {1, 2, 3, 4, 7});
  expect_bits_of_one_rank<double>(GetParam(), cic, 2000, {3, 64});
  expect_bits_of_one_rank<float>(GetParam(), isolated({8, 14, 16}, Assignment::tsc, Gradient::four_point), 5000,
                                 {1, 3, 16});
}

// Levels that all share, that some share and that each rank has, with about as many cells along all axes and not; slabs
// thinner than what is read around them.
TEST_P(DistributedMeshForces, HaveTheBitsOfOneRankWithMultigrid) {
  for (const Boundary boundary : {Boundary::periodic, Boundary::isolated}) {
    const auto multigrid = [&](std::array<int, 3> cells, Gradient gradient) {
      auto options = mesh_of(cells, Assignment::tsc, gradient);
      options.mesh.box.boundary = boundary, options.mesh.poisson = Poisson::multigrid;
      return options;
    };
    expect_bits_of_one_rank<float>(GetParam(), multigrid({48, 48, 64}, Gradient::two_point), 5000, {1, 2, 3, 4, 7});
    expect_bits_of_one_rank<double>(GetParam(), multigrid({20, 24, 96}, Gradient::four_point), 3000, {4, 12, 64});
    auto direct = multigrid({8, 10, 12}, Gradient::four_point);  // one level
    expect_bits_of_one_rank<float>(GetParam(), direct, 500, {3});
    auto paper = multigrid({64, 16, 16}, Gradient::two_point);
    paper.mesh.multigrid = {MultigridOptions::Cycle::v, 0, 3, 5, 5, 5};
    expect_bits_of_one_rank<float>(GetParam(), paper, 500, {5});
  }
}

TEST_P(DistributedMeshForces, HaveTheBitsOfOneRankForEveryRouteOfTheDensity) {
  for (const auto route : {DensityRoute::atomic, DensityRoute::sorted}) {
    auto options = mesh_of({16, 16, 16}, Assignment::tsc, Gradient::two_point);
    options.mesh.density = route;
    expect_bits_of_one_rank<float>(GetParam(), options, 5000, {3});
  }
}

// Most particles are in a few planes of the mesh: ranks work on rows, also on parts of one plane, which are divided
// anew where particles come to planes that nobody works on.
TEST_P(DistributedMeshForces, HaveTheBitsOfOneRankWhereParticlesAreInFewPlanes) {
  const std::vector<Shape> shapes{disc, thicker_disc, sphere, disc};
  auto periodic = mesh_of({16, 24, 40}, Assignment::cic, Gradient::two_point);
  expect_bits_of_one_rank<float>(GetParam(), periodic, 20000, {1, 2, 3, 4, 7, 64}, shapes);
  periodic = mesh_of({16, 16, 32}, Assignment::tsc, Gradient::four_point);
  expect_bits_of_one_rank<double>(GetParam(), periodic, 10000, {4, 7}, shapes);
  const auto spectral = mesh_of({16, 16, 32}, Assignment::pcs, Gradient::spectral);
  expect_bits_of_one_rank<float>(GetParam(), spectral, 10000, {3, 4, 40}, shapes);
  for (const Poisson poisson : {Poisson::fft, Poisson::multigrid}) {
    auto isolated = mesh_of({16, 24, 32}, Assignment::cic, Gradient::four_point);
    isolated.mesh.box.boundary = Boundary::isolated, isolated.mesh.poisson = poisson;
    expect_bits_of_one_rank<float>(GetParam(), isolated, 20000, {2, 4, 7}, shapes);
    isolated.mesh.assignment = Assignment::tsc, isolated.mesh.gradient = Gradient::two_point;
    expect_bits_of_one_rank<double>(GetParam(), isolated, 10000, {3, 16}, shapes);
  }
  for (const auto route : {DensityRoute::atomic, DensityRoute::sorted}) {
    auto options = mesh_of({16, 16, 32}, Assignment::tsc, Gradient::two_point);
    options.mesh.density = route;
    expect_bits_of_one_rank<float>(GetParam(), options, 10000, {4}, shapes);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedMeshForces, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "base/philox.hpp"
#include "device/buffer.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

// References: the sum over all pairs in double precision, and for the tree in a periodic box Ewald's sum. Neither knows
// a mesh or a split.

constexpr double newton = 3;

/// Equal masses, somewhere in space; "pair" of galaxies: most of the cube is empty.
Particles system_of(const std::string& name, std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::uint32_t words[8];
    const Philox random(23, 0, i);
    random.block(0, words);
    random.block(1, words + 4);
    const auto unit = [&](int k) { return (words[k] + 0.5) / 4294967296.0; };
    const double angle = 6.283185307179586 * unit(1), cosine = 2 * unit(2) - 1;
    const double sine = std::sqrt(1 - cosine * cosine);
    const double r = 0.589 / std::sqrt(std::pow(0.98 * unit(0), -2.0 / 3) - 1);
    Vec3<double> at{r * sine * std::cos(angle), r * sine * std::sin(angle), r * cosine};
    if (name != "plummer") {
      const double radius = -0.3 * std::log(unit(0) * unit(6));
      at = {radius * std::cos(angle), radius * std::sin(angle), 0.03 * std::atanh(0.9999 * cosine)};
    }
    if (name == "pair" && i % 2) at = at + Vec3<double>{5, -3, 4};
    p.x[i] = at.x + 1, p.y[i] = at.y - 20, p.z[i] = at.z + 0.5;
    p.mass[i] = 1.0 / static_cast<double>(n);
    p.id[i] = i;
  }
  return p;
}

SolverOptions open_space(double accuracy, Precision precision = Precision::mixed) {
  SolverOptions o;
  o.solver = "treepm";
  o.gravitational_constant = newton;
  o.softening = Softening::same(0.002);
  o.softening.kernel = SofteningKernel::spline;
  o.precision = precision;
  o.tree.accuracy = accuracy;
  set_box(o, Box{});
  return o;
}

/// A mesh so fine that it carries most of the forces.
SolverOptions fine_mesh(double accuracy, Precision precision = Precision::mixed) {
  SolverOptions o = open_space(accuracy, precision);
  o.own["treepm.cells"] = std::int64_t{40};
  return o;
}

class TreePmOpen : public DeviceTest {
 protected:
  ForceResult forces(const SolverOptions& o, const Particles& p, int threads = 2) const {
    const auto on = device(threads);
    return evaluate_forces(*make_solver(o, on), on, p, want_acceleration | want_potential);
  }
  static ForceResult exact_forces(SolverOptions o, const Particles& p, const std::vector<std::int64_t>& places) {
    o.solver = "direct";
    o.precision = Precision::double_;
    const auto cpu = Device::open("cpu");
    return evaluate_forces(*make_solver(o, cpu), cpu, p, want_acceleration | want_potential, places);
  }
  ForceErrors errors(const SolverOptions& o, const Particles& p, std::int64_t sample = 300) const {
    const auto found = forces(o, p);
    const auto places = sample_places(p.size(), sample);
    ForceResult some;
    for (const std::int64_t place : places) {
      const auto i = static_cast<std::size_t>(place);
      some.ax.push_back(found.ax[i]), some.ay.push_back(found.ay[i]), some.az.push_back(found.az[i]);
    }
    return force_errors(some, exact_forces(o, p, places));
  }
};

TEST_P(TreePmOpen, KeepsTheAccuracyAskedForAgainstTheDirectSum) {
  for (const std::string name : {"plummer", "disc", "pair"})
    for (const double accuracy : {1e-2, 1e-3, 1e-4})
      for (const auto& o : {open_space(accuracy), fine_mesh(accuracy)}) {
        const auto found = errors(o, system_of(name, 3000), 200);
        EXPECT_LT(found.median, accuracy) << name << ' ' << o.own.size();
        EXPECT_LT(found.p99, 6 * accuracy) << name << ' ' << o.own.size();
      }
}

/// Two particles see the law itself, near and from one end of the mesh to the other.
TEST_P(TreePmOpen, APairAttractsByNewtonsLawAtAnyDistance) {
  Particles p = system_of("plummer", 4);
  p.mass = {0.25, 0.75, 1e-9, 1e-9};
  p.x = {0, 0, 0, 10}, p.y = {0, 0, 0, 10}, p.z = {0, 0, 0, 10};
  for (const double d : {0.03, 0.4, 1.5, 4.0, 9.9}) {
    p.x[1] = d, p.y[1] = 0.4 * d, p.z[1] = 0.9 * d;
    const auto found = errors(fine_mesh(1e-4, Precision::double_), p);
    EXPECT_LT(found.max, 3e-4) << d;
  }
}

TEST_P(TreePmOpen, SoftensWithBothKernelsAndBySpecies) {
  Particles p = system_of("plummer", 3000);
  for (std::size_t i = 0; i < p.species.size(); ++i) p.species[i] = i % 3 == 0 ? 2 : 1;
  for (const SofteningKernel kernel : {SofteningKernel::plummer, SofteningKernel::spline}) {
    auto o = open_space(1e-3);
    o.softening.epsilon = {0.0, 0.01, 0.05, 0.0, 0.0, 0.0};
    o.softening.kernel = kernel;
    const auto found = errors(o, p);
    EXPECT_LT(found.median, 1e-3);
    EXPECT_LT(found.p99, 6e-3);
  }
}

TEST_P(TreePmOpen, SingleAndDoublePrecisionKeepAThousandth) {
  for (const Precision precision : {Precision::single, Precision::double_}) {
    const auto found = errors(fine_mesh(1e-3, precision), system_of("disc", 3000));
    EXPECT_LT(found.median, 1e-3);
    EXPECT_LT(found.p99, 6e-3);
  }
}

TEST_P(TreePmOpen, TheSplitIsInvisible) {
  const Particles p = system_of("plummer", 3000);
  auto o = fine_mesh(1e-4);
  o.own["treepm.split"] = 2.6, o.own["treepm.cut_off"] = 17.0;
  const auto one = forces(o, p);
  o.own["treepm.split"] = 5.2, o.own["treepm.cut_off"] = 34.0;
  const auto other = forces(o, p);
  EXPECT_LT(force_errors(one, other).median, 1e-4);
  EXPECT_LT(force_errors(one, other).p99, 6e-4);
}

TEST_P(TreePmOpen, PotentialIsThatOfAllPairs) {
  const Particles p = system_of("pair", 3000);
  const auto places = sample_places(p.size(), 200);
  const auto found = forces(fine_mesh(1e-3), p), exact = exact_forces(open_space(1e-3), p, places);
  for (std::size_t k = 0; k < places.size(); ++k)
    EXPECT_NEAR(found.potential[static_cast<std::size_t>(places[k])], exact.potential[k],
                1e-3 * std::abs(exact.potential[k]));
}

/// Particles that fly apart: the box goes with them, and where it does not change the tree may keep its cells.
TEST_P(TreePmOpen, TheBoxGoesWithTheParticles) {
  const auto on = device(2);
  const Particles start = system_of("plummer", 3000);
  const auto solver = make_solver<double>(open_space(1e-3), on);
  const auto places = sample_places(start.size(), 100);
  const Buffer<std::int64_t> index(on, places);
  for (const double scale : {1.0, 1.001, 1.4, 8.0}) {
    Particles now = start;
    for (std::size_t i = 0; i < now.x.size(); ++i) now.x[i] = scale * (now.x[i] + 40), now.y[i] *= scale;
    const Buffer<double> x(on, now.x), y(on, now.y), z(on, now.z), mass(on, now.mass);
    Sources<double> sources;
    sources.count = now.size();
    sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data();
    if (!solver->update(sources)) solver->prepare(sources);
    Buffer<double> ax(on, index.size()), ay(on, index.size()), az(on, index.size());
    Forces<double> into;
    into.ax = ax.data(), into.ay = ay.data(), into.az = az.data();
    solver->evaluate({index.data(), index.size(), index.size(), 0}, want_acceleration, into);
    ForceResult found;
    found.ax = ax.to_host(), found.ay = ay.to_host(), found.az = az.to_host();
    const auto seen = force_errors(found, exact_forces(open_space(1e-3), now, places));
    EXPECT_LT(seen.median, 1e-3) << scale;
    EXPECT_LT(seen.p99, 6e-3) << scale;
  }
}

TEST_P(TreePmOpen, TheSameBitsForAnyThreadsAndOrder) {
  const Particles p = system_of("pair", 3000);
  const auto one = forces(open_space(1e-3), p, 1), many = forces(open_space(1e-3), p, 3);  // a GPU does it twice
  EXPECT_EQ(one.ax, many.ax);
  EXPECT_EQ(one.potential, many.potential);
  Particles turned = p;
  for (auto* values : {&turned.x, &turned.y, &turned.z, &turned.mass}) std::reverse(values->begin(), values->end());
  std::reverse(turned.id.begin(), turned.id.end());
  auto back = forces(open_space(1e-3), turned);
  std::reverse(back.ax.begin(), back.ax.end());
  EXPECT_EQ(one.ax, back.ax);
}

TEST_P(TreePmOpen, TheTreeInAPeriodicBoxAgreesWithEwald) {
  const Box box{{-0.5, 0, 0.25}, {2, 2, 2}, Boundary::periodic};
  Particles p = system_of("plummer", 2000);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const Vec3<double> in = wrap(Vec3<double>{0.4 * p.x[i], p.y[i], p.z[i]}, box);
    p.x[i] = in.x, p.y[i] = in.y, p.z[i] = in.z;
  }
  for (const double accuracy : {1e-2, 1e-3}) {
    auto o = open_space(accuracy);
    o.solver = "tree";
    set_box(o, box);
    const auto found = forces(o, p);
    const auto places = sample_places(p.size(), 150);
    const auto exact = ewald_sum(p, places, box, o.softening, newton, Device::open("cpu", 2));
    ForceResult some;
    for (const std::int64_t place : places) {
      const auto i = static_cast<std::size_t>(place);
      some.ax.push_back(found.ax[i]), some.ay.push_back(found.ay[i]), some.az.push_back(found.az[i]);
    }
    EXPECT_LT(force_errors(some, exact).median, accuracy);
    EXPECT_LT(force_errors(some, exact).p99, 6 * accuracy);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TreePmOpen, OnEachDevice(), device_test_name);

TEST(SteadyCube, HoldsTheParticlesAndStaysWhereItIsWhileTheyMoveALittle) {
  int changes = 0;
  Box before;
  for (int k = 0; k < 1000; ++k) {
    const tree::Frame about{{-3 + 1e-4 * k, 7 - 2e-4 * k, 1e6}, 2 + 2e-4 * k, 1};
    const Box cube = steady_cube(about);
    EXPECT_LE(cube.side.x, 1.16 * about.side);
    for (const auto& [low, corner] :
         {std::pair{about.corner.x, cube.corner.x}, {about.corner.y, cube.corner.y}, {about.corner.z, cube.corner.z}}) {
      EXPECT_LE(corner, low);
      EXPECT_GE(corner + cube.side.x, low + about.side);
    }
    changes += cube.side.x != before.side.x || cube.corner.x != before.corner.x || cube.corner.y != before.corner.y;
    before = cube;
  }
  EXPECT_LE(changes, 6);
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/force_audit.hpp"
#include "base/philox.hpp"
#include "gravity/solver.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr double two_pi = 6.283185307179586;

/// Equal masses; positions are floats.
Particles model(const std::string& name, std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::uint32_t words[8];
    const Philox random(11, 0, i);
    random.block(0, words);
    random.block(1, words + 4);
    const auto unit = [&](int k) { return (words[k] + 0.5) / 4294967296.0; };
    const double angle = two_pi * unit(1), cosine = 2 * unit(2) - 1, sine = std::sqrt(1 - cosine * cosine);
    Vec3<double> at{unit(3), unit(4), unit(5)};
    double r = 0;
    if (name == "plummer") r = 0.589 / std::sqrt(std::pow(0.999 * unit(0), -2.0 / 3) - 1);
    if (name == "hernquist") r = 1 / (1 / std::sqrt(0.98 * unit(0)) - 1);
    if (r > 0) at = {r * sine * std::cos(angle), r * sine * std::sin(angle), r * cosine};
    if (name == "disc") {
      const double radius = -0.3 * std::log(unit(0) * unit(6));
      at = {radius * std::cos(angle), radius * std::sin(angle), 0.03 * std::atanh(0.9999 * cosine)};
    }
    p.x[i] = static_cast<float>(at.x), p.y[i] = static_cast<float>(at.y), p.z[i] = static_cast<float>(at.z);
    p.mass[i] = 1.0 / static_cast<double>(n);
  }
  return p;
}

SolverOptions options(double accuracy, Precision precision = Precision::mixed) {
  SolverOptions o;
  o.solver = "tree";
  o.softening = Softening::same(0.01);
  o.precision = precision;
  o.tree.accuracy = accuracy;
  return o;
}

class Tree : public DeviceTest {
 protected:
  ForceResult forces(const SolverOptions& o, const Particles& p, const std::vector<std::int64_t>& targets = {},
                     int threads = 0) const {
    const auto on = device(threads);
    const auto solver = make_solver(o, on);
    return evaluate_forces(*solver, on, p, want_acceleration | want_potential, targets);
  }
  /// Against a direct sum in double precision on the CPU, at some places.
  static ForceErrors errors(const ForceResult& found, const SolverOptions& o, const Particles& p,
                            std::int64_t sample = 300) {
    auto exact = o;
    exact.solver = "direct";
    exact.precision = Precision::double_;
    const auto cpu = Device::open("cpu");
    const auto places = sample_places(p.size(), sample);
    const auto reference = evaluate_forces(*make_solver(exact, cpu), cpu, p, want_acceleration, places);
    ForceResult some;
    for (std::int64_t place : places) {
      const auto i = static_cast<std::size_t>(place);
      some.ax.push_back(found.ax[i]), some.ay.push_back(found.ay[i]), some.az.push_back(found.az[i]);
    }
    return force_errors(some, reference);
  }
};

// Reference: the direct sum in double precision. The promise of gravity.tree.accuracy.
TEST_P(Tree, AccuracyIsKeptWithoutWaste) {
  for (const char* name : {"plummer", "hernquist", "disc", "cube"}) {
    const auto p = model(name, 20000);
    for (double accuracy : {1e-2, 4e-3, 1e-3, 1e-4, 1e-5}) {
      const auto o = options(accuracy);
      const auto e = errors(forces(o, p), o, p);
      EXPECT_LE(e.median, accuracy) << name;
      EXPECT_GE(e.median, accuracy / 6) << name;
      EXPECT_LE(e.p99, 6 * accuracy) << name;
    }
  }
}

// Reference: the direct sum in double precision. Expansions to order p leave out terms of order θ^p of the
// acceleration; fewer pairs of cells are near the limit at smaller angles, so that the power is a little above p.
TEST_P(Tree, ErrorFallsWithTheAngleAtThePowerOfTheOrder) {
  const auto p = model("plummer", 8000);
  for (int order = 2; order <= 5; ++order) {
    double rms[2];
    for (int k = 0; k < 2; ++k) {
      auto o = options(1e-3, Precision::double_);
      o.tree.opening = TreeOptions::Opening::geometric;
      o.tree.order = order;
      o.tree.opening_angle = k == 0 ? 0.8 : 0.4;
      rms[k] = errors(forces(o, p), o, p, 1000).rms;
    }
    const double power = std::log2(rms[0] / rms[1]);
    EXPECT_GT(power, order - 0.5) << "order " << order;
    EXPECT_LT(power, order + 2.5) << "order " << order;
  }
}

// Reference: the direct sum; one leaf has no expansions at all.
TEST_P(Tree, LeafMatesInteract) {
  const auto p = model("cube", 30);
  for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
    const auto o = options(1e-2, precision);
    EXPECT_LT(errors(forces(o, p), o, p).max, precision == Precision::double_ ? 1e-13 : 3e-6);
  }
}

// Newton's third law: the forces of an isolated system add up to zero, but for the approximation.
TEST_P(Tree, TotalForceIsSmall) {
  const auto p = model("plummer", 20000);
  const auto f = forces(options(1e-3), p);
  double sum[3] = {}, size = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    sum[0] += f.ax[i], sum[1] += f.ay[i], sum[2] += f.az[i];
    size += std::sqrt(f.ax[i] * f.ax[i] + f.ay[i] * f.ay[i] + f.az[i] * f.az[i]);
  }
  EXPECT_LT(std::sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / size, 1e-4);
}

// Reference: the direct sum's potential. Its relative error is below that of the force.
TEST_P(Tree, PotentialAgreesWithTheDirectSum) {
  const auto p = model("hernquist", 5000);
  auto o = options(1e-4);
  const auto found = forces(o, p).potential;
  o.solver = "direct";
  const auto expected = forces(o, p).potential;
  for (std::size_t i = 0; i < expected.size(); i += 7) ASSERT_NEAR(found[i], expected[i], -1e-4 * expected[i]);
}

// Reference: the direct sum with the larger softening length of each pair.
TEST_P(Tree, SofteningBySpeciesIsThePairwiseLarger) {
  auto p = model("plummer", 8000);
  for (std::size_t i = 0; i < p.x.size(); ++i) p.species[i] = static_cast<std::uint8_t>(i % 3);
  auto o = options(1e-3);
  o.softening.epsilon = {0.05, 0.01, 0.002, 0, 0, 0};
  const auto e = errors(forces(o, p), o, p);
  EXPECT_LE(e.median, 1e-3);
  EXPECT_LE(e.p99, 6e-3);
}

// Reference: the direct sum with the same kernel. With 0.1 the sphere of a particle holds a tenth of the others.
TEST_P(Tree, SplineSofteningAgreesWithTheDirectSum) {
  const auto p = model("plummer", 8000);
  for (double epsilon : {0.0, 0.01, 0.1})
    for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
      auto o = options(1e-3, precision);
      o.softening = Softening::same(epsilon);
      o.softening.kernel = SofteningKernel::spline;
      const auto found = forces(o, p);
      const auto e = errors(found, o, p);
      EXPECT_LE(e.median, 1e-3) << epsilon;
      EXPECT_LE(e.p99, 6e-3) << epsilon;
      o.solver = "direct";
      const auto expected = forces(o, p).potential;
      for (std::size_t i = 0; i < expected.size(); i += 97)
        ASSERT_NEAR(found.potential[i], expected[i], -1e-3 * expected[i]);
    }
}

// Reference: the direct sum with the larger spline of each pair.
TEST_P(Tree, SplineSofteningBySpeciesIsThePairwiseLarger) {
  auto p = model("plummer", 8000);
  for (std::size_t i = 0; i < p.x.size(); ++i) p.species[i] = static_cast<std::uint8_t>(i % 3);
  auto o = options(1e-3);
  o.softening.epsilon = {0.05, 0.01, 0.002, 0, 0, 0};
  o.softening.kernel = SofteningKernel::spline;
  const auto e = errors(forces(o, p), o, p);
  EXPECT_LE(e.median, 1e-3);
  EXPECT_LE(e.p99, 6e-3);
}

// Reference: the direct sum; rms of the difference over rms of the force, for on a line the force on most particles is
// a small difference of large ones. Shapes that an octree could be lost in.
TEST_P(Tree, AnyInputIsServed) {
  const auto check = [&](const Particles& p, const char* what, Precision precision, double allowed) {
    const auto o = options(1e-3, precision);
    const auto f = forces(o, p);
    for (double value : f.ax) ASSERT_TRUE(std::isfinite(value)) << what;
    EXPECT_LE(errors(f, o, p).median, allowed) << what;
  };
  auto p = model("cube", 4000);
  check(model("cube", 1), "one particle", Precision::mixed, 0);
  check(model("cube", 2), "two particles", Precision::mixed, 1e-6);
  auto line = p;
  for (std::size_t i = 0; i < p.x.size(); ++i) line.y[i] = line.z[i] = 0;
  check(line, "a line", Precision::mixed, 1e-2);
  auto clumps = p;
  for (std::size_t i = 0; i < p.x.size(); i += 2) clumps.x[i] += 1e6;
  check(clumps, "two clumps", Precision::mixed, 1e-3);
  auto outlier = p;
  outlier.x[7] = 1e8;
  check(outlier, "a particle far away", Precision::mixed, 1e-3);
  check(outlier, "a particle far away", Precision::double_, 1e-3);
  auto massless = p;
  for (std::size_t i = 0; i < p.x.size(); ++i)
    if (p.x[i] < 0.6) massless.mass[i] = 0;
  check(massless, "particles without mass", Precision::mixed, 1e-3);
  auto point = p;
  for (std::size_t i = 0; i < p.x.size(); ++i) point.x[i] = point.y[i] = point.z[i] = 0.25;
  const auto f = forces(options(1e-3), point);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    ASSERT_EQ(f.ax[i], 0);
    ASSERT_NEAR(f.potential[i], -(1 - 1.0 / 4000) / 0.01, 1e-3);
  }
}

// Lengths, masses and G in other units, by powers of two: the walk is the same, and so is every bit of the result. Far
// from 1 in both directions, where squares and cubes of lengths leave the range of float.
TEST_P(Tree, BitsDoNotDependOnTheUnits) {
  const auto p = model("plummer", 5000);
  const auto f = forces(options(1e-3), p);
  for (const int sign : {1, -1}) {
    const double length = std::ldexp(1.0, 70 * sign), mass = std::ldexp(1.0, 100 * sign);
    auto o = options(1e-3);
    o.softening = Softening::same(0.01 * length);
    o.gravitational_constant = std::ldexp(1.0, -60 * sign);
    auto other = p;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      other.x[i] *= length, other.y[i] *= length, other.z[i] *= length;
      other.mass[i] *= mass;
    }
    const auto scaled = forces(o, other);
    const double acceleration = o.gravitational_constant * mass / (length * length), potential = acceleration * length;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      ASSERT_EQ(scaled.ax[i], f.ax[i] * acceleration) << sign;
      ASSERT_EQ(scaled.ay[i], f.ay[i] * acceleration) << sign;
      ASSERT_EQ(scaled.az[i], f.az[i] * acceleration) << sign;
      ASSERT_EQ(scaled.potential[i], f.potential[i] * potential) << sign;
    }
  }
}

TEST_P(Tree, CoincidentParticlesWithoutSofteningAreNamed) {
  auto p = model("plummer", 3000);
  p.x[2000] = p.x[40], p.y[2000] = p.y[40], p.z[2000] = p.z[40];
  auto o = options(1e-3);
  o.softening = Softening::same(0);
  try {
    forces(o, p);
    FAIL() << "no error";
  } catch (const CoincidentParticles& found) {
    EXPECT_EQ(std::min(found.first(), found.second()), 40);
    EXPECT_EQ(std::max(found.first(), found.second()), 2000);
  }
}

TEST_P(Tree, SubsetHasTheSameBitsAsAll) {
  const auto p = model("plummer", 6000);
  const auto o = options(1e-3);
  const auto all = forces(o, p);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 3; i < 6000; i += 97) places.push_back(i);
  const auto some = forces(o, p, places);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const auto i = static_cast<std::size_t>(places[k]);
    ASSERT_EQ(some.ax[k], all.ax[i]);
    ASSERT_EQ(some.az[k], all.az[i]);
    ASSERT_EQ(some.potential[k], all.potential[i]);
  }
}

// On a GPU few targets are served by other kernels than many are.
TEST_P(Tree, FewTargetsHaveTheBitsOfAll) {
  auto p = model("hernquist", 400000);
  for (std::size_t i = 0; i < p.x.size(); ++i) p.species[i] = static_cast<std::uint8_t>(i % 2);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 11; i < p.size(); i += 1999) places.push_back(i);
  for (const auto kernel : {SofteningKernel::plummer, SofteningKernel::spline})
    for (const double other : {0.01, 0.03}) {
      auto o = options(1e-3);
      o.softening.epsilon[1] = other;
      o.softening.kernel = kernel;
      const auto all = forces(o, p), some = forces(o, p, places);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const auto i = static_cast<std::size_t>(places[k]);
        ASSERT_EQ(some.ax[k], all.ax[i]);
        ASSERT_EQ(some.ay[k], all.ay[i]);
        ASSERT_EQ(some.potential[k], all.potential[i]);
      }
    }
}

TEST_P(Tree, SameBitsOnAnyNumberOfThreadsAndEveryTime) {
  const auto p = model("hernquist", 30000);
  const auto o = options(1e-3);
  const auto one = forces(o, p, {}, 1), three = forces(o, p, {}, 3);
  EXPECT_EQ(one.ax, three.ax);
  EXPECT_EQ(one.ay, three.ay);
  EXPECT_EQ(one.potential, three.potential);
}

// Each particle is known by its id, also where masses differ, where the 21 levels of a key do not tell particles apart
// (a clump of 1e-7 of the system's size) and where nothing does (particles in one place).
TEST_P(Tree, OrderInMemoryDoesNotMatter) {
  auto p = model("hernquist", 20000);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::uint32_t words[4];
    Philox(3, 1, i).block(0, words);
    p.mass[i] *= std::ldexp(1.0 + words[0] * 0x1p-32, -static_cast<int>(words[1] % 30));
    p.species[i] = static_cast<std::uint8_t>(words[2] % 2);
    if (i % 100 == 7) p.x[i] = p.x[7], p.y[i] = p.y[7], p.z[i] = p.z[7];
    if (i % 40 == 3) p.x[i] *= 1e-8, p.y[i] *= 1e-8, p.z[i] *= 1e-8;
  }
  const auto shuffled = [&](std::size_t step) {
    auto q = p;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      const std::size_t from = i * step % p.x.size();
      q.x[i] = p.x[from], q.y[i] = p.y[from], q.z[i] = p.z[from];
      q.mass[i] = p.mass[from], q.id[i] = p.id[from], q.species[i] = p.species[from];
    }
    return q;
  };
  for (const bool unequal : {false, true}) {
    auto o = options(1e-3);
    if (unequal) o.softening.epsilon[1] = 0.05;
    const auto f = forces(o, p);
    for (const std::size_t step : {7919u, 19999u}) {
      const auto q = shuffled(step);
      const auto g = forces(o, q);
      for (std::size_t i = 0; i < p.x.size(); ++i) {
        const std::size_t from = i * step % p.x.size();
        ASSERT_EQ(g.ax[i], f.ax[from]) << "id " << q.id[i];
        ASSERT_EQ(g.az[i], f.az[from]) << "id " << q.id[i];
        ASSERT_EQ(g.potential[i], f.potential[from]) << "id " << q.id[i];
      }
    }
  }
}

// Reference: the CPU. The opening tests are the same; sums are taken in another order.
TEST_P(Tree, DevicesAgree) {
  const auto p = model("plummer", 20000);
  const auto o = options(1e-3);
  const auto here = forces(o, p);
  const auto cpu = Device::open("cpu");
  const auto there = evaluate_forces(*make_solver(o, cpu), cpu, p, want_acceleration);
  const auto e = force_errors(here, there);
  EXPECT_LE(e.median, 1e-5);
  EXPECT_LE(e.p99, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Devices, Tree, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "device/buffer.hpp"
#include "gravity/direct_reference.hpp"
#include "gravity/solver.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr unsigned want_all = want_acceleration | want_jerk | want_potential;
constexpr Precision all_precisions[] = {Precision::single, Precision::mixed, Precision::double_};

class DirectSolver : public DeviceTest {
 protected:
  ForceResult forces(const SolverOptions& options, const Particles& p, unsigned want,
                     const std::vector<std::int64_t>& targets = {}, int threads = 0) const {
    const auto d = device(threads);
    const auto solver = make_solver(options, d);
    return evaluate_forces(*solver, d, p, want, targets);
  }
};

SolverOptions with(Precision precision, const Softening& softening) {
  SolverOptions options;
  options.precision = precision;
  options.softening = softening;
  return options;
}

Softening spline(Softening softening) {
  softening.kernel = SofteningKernel::spline;
  return softening;
}

Softening by_species() {
  Softening softening;
  softening.epsilon = {0.01, 0.02, 0.05, 0.0, 0.1, 0.03};
  return softening;
}

/// Largest relative rounding error of one operation: 2^-24 or 2^-53.
double rounding(Precision precision) { return precision == Precision::double_ ? 0x1p-53 : 0x1p-24; }

/// Bound on the error of a sum over n sources, relative to the sum of the terms' magnitudes: a term takes about 20
/// operations (and 2^-22 is lost where a GPU approximates 1/√ in fp32, three times over in 1/r³), and at most 256 terms
/// are added before the sum goes on in fp64.
double tolerance(Precision precision, std::int64_t n) {
  return rounding(precision) * (40.0 + static_cast<double>(std::min<std::int64_t>(n, 256)));
}

void expect_forces(const ForceResult& f, const Particles& p, const SolverOptions& options, unsigned want,
                   const std::vector<ReferenceForce>& exact, const std::vector<std::int64_t>& targets = {}) {
  const double bound = tolerance(options.precision, p.size());
  for (std::size_t t = 0; t < exact.size(); ++t) {
    const std::size_t i = targets.empty() ? t : static_cast<std::size_t>(targets[t]);
    const ReferenceForce& r = exact[t];
    const auto near = [&](double value, long double reference, long double size, const char* what) {
      ASSERT_NEAR(value, static_cast<double>(reference), static_cast<double>(bound * size))
          << what << " of " << i << " of " << p.size() << ", " << precision_name(options.precision);
    };
    if (want & want_acceleration)
      near(f.ax[t], r.a[0], r.a_size, "ax"), near(f.ay[t], r.a[1], r.a_size, "ay"),
          near(f.az[t], r.a[2], r.a_size, "az");
    if (want & want_jerk)
      near(f.jx[t], r.j[0], r.j_size, "jx"), near(f.jy[t], r.j[1], r.j_size, "jy"),
          near(f.jz[t], r.j[2], r.j_size, "jz");
    if (want & want_potential) near(f.potential[t], r.potential, -r.potential, "potential");
    if (want & want_nearest) {
      ASSERT_EQ(f.nearest[t], r.nearest);
    }
  }
}

void expect_forces(const ForceResult& f, const Particles& p, const SolverOptions& options, unsigned want,
                   const std::vector<std::int64_t>& targets = {}) {
  expect_forces(f, p, options, want, reference_forces(p, options.softening, targets, options.gravitational_constant),
                targets);
}

void expect_same_bits(const ForceResult& a, const ForceResult& b) {
  EXPECT_EQ(a.ax, b.ax);
  EXPECT_EQ(a.ay, b.ay);
  EXPECT_EQ(a.az, b.az);
  EXPECT_EQ(a.jx, b.jx);
  EXPECT_EQ(a.jy, b.jy);
  EXPECT_EQ(a.jz, b.jz);
  EXPECT_EQ(a.potential, b.potential);
  EXPECT_EQ(a.nearest, b.nearest);
}

// Reference: Newton's law for two bodies, by hand.
TEST_P(DirectSolver, TwoBodiesAttractWithTheInverseSquare) {
  Particles p;
  p.resize(2);
  p.mass = {3.0, 5.0};
  p.x = {0.0, 2.0};
  const auto f = forces(with(Precision::double_, Softening::same(0)), p, want_acceleration | want_potential);
  EXPECT_NEAR(f.ax[0], 5.0 / 4.0, 1e-15);
  EXPECT_NEAR(f.ax[1], -3.0 / 4.0, 1e-15);
  EXPECT_NEAR(f.potential[0], -5.0 / 2.0, 1e-15);
}

// Reference: the law in long double (direct_reference.hpp).
TEST_P(DirectSolver, AgreesWithTheLawForAnyNumberOfParticles) {
  for (std::int64_t n : {1, 2, 3, 17, 255, 256, 257, 1000}) {
    auto options = with(Precision::double_, Softening::same(0.02));
    options.gravitational_constant = 43.0;
    const auto p = random_particles(n, 1);
    const auto exact = reference_forces(p, options.softening, {}, options.gravitational_constant);
    for (Precision precision : all_precisions) {
      options.precision = precision;
      expect_forces(forces(options, p, want_all), p, options, want_all, exact);
    }
  }
}

// Reference: the law in long double.
TEST_P(DirectSolver, AgreesWithTheLawWithZeroAndPerSpeciesSoftening) {
  const auto p = random_particles(1000, 2);
  for (const auto& softening : {Softening::same(0), by_species()}) {
    const auto exact = reference_forces(p, softening);
    for (Precision precision : all_precisions) {
      const auto options = with(precision, softening);
      expect_forces(forces(options, p, want_all), p, options, want_all, exact);
    }
  }
}

// Reference: the papers' polynomials in long double. With 0.01, 0.3 and 2 most pairs are outside the spline, about it
// and inside; species 3 is not softened at all.
TEST_P(DirectSolver, AgreesWithTheSplineKernel) {
  const auto p = random_particles(700, 2);
  for (const auto& softening :
       {Softening::same(0.01), Softening::same(0.3), Softening::same(2), Softening::same(0), by_species()}) {
    const auto exact = reference_forces(p, spline(softening));
    for (Precision precision : all_precisions) {
      const auto options = with(precision, spline(softening));
      for (unsigned want : {want_all, unsigned{want_acceleration}, want_acceleration | want_potential,
                            unsigned{want_potential}, want_acceleration | want_jerk})
        expect_forces(forces(options, p, want), p, options, want, exact);
    }
  }
}

// By hand: at no distance the potential is that of a Plummer sphere, and there is no force.
TEST_P(DirectSolver, SplineSofteningHasThePlummerPotentialAtNoDistance) {
  Particles p;
  p.resize(2);
  p.mass = {3.0, 5.0};
  for (Precision precision : all_precisions) {
    const auto f = forces(with(precision, spline(Softening::same(0.25))), p, want_all);
    EXPECT_NEAR(f.potential[0], -20.0, 1e-5);
    EXPECT_EQ(f.ax[0], 0);
    EXPECT_EQ(f.jx[1], 0);
  }
}

// Reference: the law in long double.
TEST_P(DirectSolver, AnswersExactlyWhatIsAsked) {
  const auto p = random_particles(90, 3);
  for (Precision precision : all_precisions)
    for (const auto& softening : {Softening::same(0.05), by_species()})
      for (unsigned want = 1; want < 16; ++want) {
        const auto options = with(precision, softening);
        const auto f = forces(options, p, want);
        EXPECT_EQ(f.ax.empty(), !(want & want_acceleration));
        EXPECT_EQ(f.jx.empty(), !(want & want_jerk));
        EXPECT_EQ(f.potential.empty(), !(want & want_potential));
        expect_forces(f, p, options, want);
      }
}

// Reference: the law in long double. Rounding errors of independent terms grow with the root of their number: about
// √256 roundings for a sum, a few for each term.
TEST_P(DirectSolver, TypicalErrorIsAFewRoundings) {
  const auto p = random_particles(1000, 4);
  const auto exact = reference_forces(p, Softening::same(0.02));
  for (Precision precision : all_precisions) {
    const auto options = with(precision, Softening::same(0.02));
    const auto f = forces(options, p, want_acceleration);
    double sum = 0;
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      const ReferenceForce& r = exact[i];
      const double dx = f.ax[i] - static_cast<double>(r.a[0]), dy = f.ay[i] - static_cast<double>(r.a[1]),
                   dz = f.az[i] - static_cast<double>(r.a[2]);
      sum += (dx * dx + dy * dy + dz * dz) / static_cast<double>(r.a_size * r.a_size);
    }
    EXPECT_LT(std::sqrt(sum / 1000), 4 * rounding(precision)) << precision_name(precision);
  }
}

// Reference: the law in long double. Only one particle has a mass, so that the force on every other one is a single
// pair: about 8 roundings in the components of d / r³, and up to 7 more where a GPU approximates 1/√.
TEST_P(DirectSolver, EveryPairIsGoodToAFewRoundings) {
  constexpr std::size_t n = 1000;
  auto p = random_particles(n, 15);
  for (std::size_t i = 1; i < n; ++i) p.mass[i] = 0;
  std::vector<ReferenceForce> reference;
  for (std::size_t i = 0; i < n; ++i) reference.push_back(reference_force(p, Softening::same(0), i));
  for (Precision precision : all_precisions)
    for (unsigned want : {unsigned{want_acceleration}, want_acceleration | want_potential, want_all}) {
      const auto options = with(precision, Softening::same(0));
      const auto f = forces(options, p, want);
      double worst = 0;
      for (std::size_t i = 1; i < n; ++i) {
        const auto& r = reference[i];
        const auto update = [&](double value, long double expected, long double size) {
          worst = std::max(worst, static_cast<double>(std::abs(value - expected) / size));
        };
        update(f.ax[i], r.a[0], r.a_size), update(f.ay[i], r.a[1], r.a_size), update(f.az[i], r.a[2], r.a_size);
        if (want & want_potential) update(f.potential[i], r.potential, -r.potential);
      }
      EXPECT_LT(worst, 15 * rounding(precision)) << precision_name(precision) << " " << want;
    }
}

// Reference: the law in long double.
TEST_P(DirectSolver, SubsetsOfAnySizeAreAnswered) {
  const auto p = random_particles(3000, 5);
  for (Precision precision : all_precisions)
    for (std::int64_t count : {1, 2, 7, 32, 100}) {
      std::vector<std::int64_t> places;
      for (std::int64_t k = 0; k < count; ++k) places.push_back(k * (3000 / count) + (count > 1 ? k % 3 : 2999));
      const auto options = with(precision, Softening::same(0.01));
      expect_forces(forces(options, p, want_all, places), p, options, want_all, places);
    }
}

// Reference: the law in long double. A GPU has other kernels for thousands of targets than for hundreds or millions.
TEST_P(DirectSolver, ThousandsOfTargetsAgreeWithTheLaw) {
  const auto p = random_particles(4500, 25);
  for (unsigned want : {unsigned{want_acceleration}, want_acceleration | want_potential, unsigned{want_potential}})
    for (const auto& softening : {Softening::same(0.01), by_species()}) {
      const auto options = with(Precision::single, softening);
      const auto all = forces(options, p, want);
      ForceResult some;
      std::vector<std::int64_t> places;
      for (std::size_t i = 0; i < 4500; i += 61) {
        places.push_back(static_cast<std::int64_t>(i));
        const auto take = [i](const std::vector<double>& from, std::vector<double>& to) {
          if (!from.empty()) to.push_back(from[i]);
        };
        take(all.ax, some.ax), take(all.ay, some.ay), take(all.az, some.az), take(all.potential, some.potential);
      }
      expect_forces(some, p, options, want, places);
    }
}

// Ranks share the targets; 2,048 is the size of a group of targets on the GPU, and halves of it are served apart.
TEST_P(DirectSolver, SharesOfTheTargetsHaveTheBitsOfAll) {
  const auto d = device();
  for (std::int64_t n : {1500, 5000, 9001}) {
    const auto p = random_particles(n, 26);
    const std::vector<float> x(p.x.begin(), p.x.end()), y(p.y.begin(), p.y.end()), z(p.z.begin(), p.z.end()),
        m(p.mass.begin(), p.mass.end());
    const Buffer<float> at_x(d, x), at_y(d, y), at_z(d, z), mass(d, m);
    Sources<float> sources;
    sources.count = n;
    sources.x = at_x.data(), sources.y = at_y.data(), sources.z = at_z.data(), sources.mass = mass.data();
    const auto solver = make_solver<float>(with(Precision::single, Softening::same(0.01)), d);
    solver->prepare(sources);
    const auto shares = [&](const std::vector<std::int64_t>& ends) {
      Buffer<float> ax(d, n), ay(d, n), az(d, n);
      for (std::int64_t first = 0; std::int64_t end : ends) {
        Forces<float> out;
        out.ax = ax.data() + first, out.ay = ay.data() + first, out.az = az.data() + first;
        solver->evaluate({nullptr, end - first, n, first}, want_acceleration, out);
        first = end;
      }
      return std::vector{ax.to_host(), ay.to_host(), az.to_host()};
    };
    const auto whole = shares({n});
    EXPECT_EQ(shares({n / 2, n}), whole) << n;
    EXPECT_EQ(shares({7, 1024, n - 3, n}), whole) << n;
  }
}

// On the GPU the order of the sums depends on Targets::total: asserted on the CPU only.
TEST_P(DirectSolver, AnswerDoesNotDependOnTheOtherTargets) {
  if (GetParam() != "cpu") GTEST_SKIP() << "a promise of the CPU";
  const auto p = random_particles(5000, 6);
  for (Precision precision : all_precisions) {
    const auto options = with(precision, by_species());
    const auto full = forces(options, p, want_all);
    for (std::int64_t stride : {1, 37, 1250}) {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 3; i < 5000; i += stride) places.push_back(i);
      const auto part = forces(options, p, want_all, places);
      for (std::size_t t = 0; t < places.size(); ++t) {
        const auto i = static_cast<std::size_t>(places[t]);
        ASSERT_EQ(part.ax[t], full.ax[i]);
        ASSERT_EQ(part.jz[t], full.jz[i]);
        ASSERT_EQ(part.potential[t], full.potential[i]);
      }
    }
  }
}

TEST_P(DirectSolver, BitsDoNotDependOnTheNumberOfThreads) {
  const auto p = random_particles(5000, 7);
  std::vector<std::int64_t> few;
  for (std::int64_t i = 0; i < 5000; i += 156) few.push_back(i);
  for (Precision precision : all_precisions)
    for (const auto& places : {std::vector<std::int64_t>{}, few, {4321}}) {
      const auto options = with(precision, Softening::same(0.01));
      const unsigned want = places.empty() ? want_all : want_all | want_nearest;
      const auto one = forces(options, p, want, places, 1);
      for (int threads : {2, 7}) expect_same_bits(one, forces(options, p, want, places, threads));
    }
}

// Reference: the law for two bodies. Mixed precision keeps positions to 2^-48: at 100 that is 4e-13, or 4e-7 of the
// distance; single precision cannot tell the two bodies apart at all.
TEST_P(DirectSolver, MixedPrecisionResolvesClosePairsFarFromTheOrigin) {
  Particles p;
  p.resize(2);
  p.mass = {1.0, 1.0};
  p.x = {100.0, 100.0 + 1e-6};
  const double expected = 1 / ((p.x[1] - p.x[0]) * (p.x[1] - p.x[0]));
  const auto f = forces(with(Precision::mixed, Softening::same(0)), p, want_acceleration);
  EXPECT_NEAR(f.ax[0] / expected, 1.0, 3e-6);
  EXPECT_THROW(forces(with(Precision::single, Softening::same(0)), p, want_acceleration), CoincidentParticles);
}

// Reference: the law with and without the massless particles.
TEST_P(DirectSolver, MasslessParticlesFeelButDoNotPull) {
  auto p = random_particles(400, 8);
  for (std::size_t i = 200; i < 400; ++i) p.mass[i] = 0;
  for (Precision precision : all_precisions) {
    const auto options = with(precision, Softening::same(0));
    expect_forces(forces(options, p, want_all), p, options, want_all);
    auto alone = p;
    for (auto& mass : alone.mass) mass = 0;
    const auto none = forces(options, alone, want_all);
    for (double a : none.ax) ASSERT_EQ(a, 0.0);
  }
}

TEST_P(DirectSolver, TwoParticlesInOnePlaceAreNamed) {
  for (Precision precision : all_precisions) {
    auto p = random_particles(1000, 9);
    p.x[700] = p.x[42], p.y[700] = p.y[42], p.z[700] = p.z[42];
    for (unsigned want : {unsigned{want_acceleration}, unsigned{want_potential}, want_all}) {
      try {
        forces(with(precision, Softening::same(0)), p, want);
        ADD_FAILURE() << "expected an error in precision " << precision_name(precision);
      } catch (const CoincidentParticles& error) {
        EXPECT_EQ(std::min(error.first(), error.second()), 42);
        EXPECT_EQ(std::max(error.first(), error.second()), 700);
        EXPECT_EQ(error.kind(), ErrorKind::numerics);
      }
    }
    const auto soft = with(precision, Softening::same(0.01));
    expect_forces(forces(soft, p, want_all, {42, 700}), p, soft, want_all, {42, 700});
  }
}

TEST_P(DirectSolver, OneParticleAloneFeelsNothing) {
  const auto p = random_particles(1, 10);
  for (Precision precision : all_precisions) {
    const auto f = forces(with(precision, Softening::same(0)), p, want_all | want_nearest);
    EXPECT_EQ(f.ax[0], 0.0);
    EXPECT_EQ(f.jx[0], 0.0);
    EXPECT_EQ(f.potential[0], 0.0);
    EXPECT_EQ(f.nearest[0], -1);
  }
}

// Reference: the Taylor series written out, and the law in long double at the places that it gives.
TEST_P(DirectSolver, SourcesArePredictedToTheTimeOfThePrediction) {
  const std::int64_t n = 300, now = 96;
  const double tick_length = 0.001, offset = 0.0005;
  const auto p = random_particles(n, 12), higher = random_particles(n, 13);
  std::vector<std::int64_t> ticks;
  Particles there = p;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    ticks.push_back(i % 7 * 16);
    const double t = static_cast<double>(now - ticks[k]) * tick_length + offset;
    const auto predict = [&](double& x, double& v, double a, double j) {
      x += v * t + a * t * t / 2 + j * t * t * t / 6;
      v += a * t + j * t * t / 2;
    };
    predict(there.x[k], there.vx[k], higher.x[k], higher.vx[k]);
    predict(there.y[k], there.vy[k], higher.y[k], higher.vy[k]);
    predict(there.z[k], there.vz[k], higher.z[k], higher.vz[k]);
  }
  const auto d = device();
  for (Precision precision : {Precision::mixed, Precision::double_}) {
    const auto options = with(precision, Softening::same(0.05));
    const Buffer<double> x(d, p.x), y(d, p.y), z(d, p.z), vx(d, p.vx), vy(d, p.vy), vz(d, p.vz), mass(d, p.mass),
        ax(d, higher.x), ay(d, higher.y), az(d, higher.z), jx(d, higher.vx), jy(d, higher.vy), jz(d, higher.vz);
    const Buffer<std::int64_t> tick(d, ticks);
    Sources<double> s;
    s.count = n;
    s.x = x.data(), s.y = y.data(), s.z = z.data(), s.vx = vx.data(), s.vy = vy.data(), s.vz = vz.data();
    s.ax = ax.data(), s.ay = ay.data(), s.az = az.data(), s.jx = jx.data(), s.jy = jy.data(), s.jz = jz.data();
    s.mass = mass.data(), s.tick = tick.data(), s.now = now, s.tick_length = tick_length, s.offset = offset;
    Buffer<double> out[7];
    for (auto& buffer : out) buffer = Buffer<double>(d, n);
    const auto solver = make_solver<double>(options, d);
    solver->prepare(s);
    solver->evaluate({nullptr, n, n}, want_all,
                     {out[0].data(), out[1].data(), out[2].data(), out[3].data(), out[4].data(), out[5].data(),
                      out[6].data(), nullptr, nullptr});
    ForceResult f;
    f.ax = out[0].to_host(), f.ay = out[1].to_host(), f.az = out[2].to_host(), f.jx = out[3].to_host(),
    f.jy = out[4].to_host(), f.jz = out[5].to_host(), f.potential = out[6].to_host();
    expect_forces(f, there, options, want_all);
  }
}

// Reference: half the sum over particles of m φ in long double.
TEST_P(DirectSolver, PotentialEnergyIsTheSumOverPairs) {
  for (std::int64_t n : {1, 2, 17, 1300})
    for (const auto& softening : {Softening::same(0), by_species(), spline(by_species())}) {
      const auto p = random_particles(n, 14);
      auto options = with(Precision::mixed, softening);
      options.gravitational_constant = 2.0;
      long double expected = 0;
      for (std::size_t i = 0; i < p.x.size(); ++i)
        expected += p.mass[i] * reference_force(p, softening, i, 2.0).potential / 2;
      std::vector<double> found;
      for (int threads : {1, 2, 7}) {
        const auto d = device(threads);
        const Buffer<double> x(d, p.x), y(d, p.y), z(d, p.z), mass(d, p.mass);
        const Buffer<std::uint8_t> species(d, p.species);
        Sources<double> s;
        s.count = n;
        s.x = x.data(), s.y = y.data(), s.z = z.data(), s.mass = mass.data(), s.species = species.data();
        found.push_back(potential_energy(d, s, options));
      }
      EXPECT_NEAR(found[0], static_cast<double>(expected), 1e-13 * std::abs(static_cast<double>(expected)));
      EXPECT_EQ(found[0], found[1]);
      EXPECT_EQ(found[0], found[2]);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, DirectSolver, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

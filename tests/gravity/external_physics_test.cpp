#include "gravity/external.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "analysis/energy.hpp"
#include "test_devices.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

using physics::ExternalKind;

constexpr double g = 2;  // not one, so that a missing G shows

/// A potential with the square of its angular speed on circular orbits and of its epicyclic frequency in the plane
/// z = 0, from the textbook's masses: Binney & Tremaine 2008, sections 2.2, 2.3 and eq. 3.80, κ² = R dΩ²/dR + 4 Ω².
struct Case {
  std::string name;
  ExternalPotential potential;
  std::function<double(double)> omega2, kappa2;
};

ExternalPotential make(ExternalKind kind, double mass, double speed, double radius, double height, double softening) {
  return {kind, mass, speed, radius, height, softening, {0.5, -1, 2}};
}
ExternalPotential everywhere(ExternalKind kind, double density, double omega_lambda, double hubble) {
  return {.kind = kind, .centre = {0.5, -1, 2}, .density = density, .omega_lambda = omega_lambda, .hubble = hubble};
}

std::vector<Case> cases() {
  const double m = 3, a = 0.7, b = 0.2, v = 1.3;
  const auto softened = [=](double length, double r) { return g * m / std::pow(r * r + length * length, 1.5); };
  const auto softened_kappa2 = [=](double length, double r) {
    return softened(length, r) * (4 - 3 * r * r / (r * r + length * length));
  };
  const auto s = [=](double r) { return std::sqrt(r * r + a * a); };
  const auto nfw = [=](double r) { return std::log(1 + r / a) - r / (r + a); };
  const auto isochrone = [=](double r) { return g * m / (s(r) * (a + s(r)) * (a + s(r))); };
  const auto hernquist = [=](double r) { return g * m / (r * (r + a) * (r + a)); };
  return {
      {"point", make(ExternalKind::point, m, 0, 0, 0, 0), [=](double r) { return softened(0, r); },
       [=](double r) { return softened(0, r); }},  // Kepler: κ = Ω
      {"softened point", make(ExternalKind::point, m, 0, 0, 0, b), [=](double r) { return softened(b, r); },
       [=](double r) { return softened_kappa2(b, r); }},
      {"plummer", make(ExternalKind::plummer, m, 0, a, 0, 0), [=](double r) { return softened(a, r); },
       [=](double r) { return softened_kappa2(a, r); }},
      {"hernquist", make(ExternalKind::hernquist, m, 0, a, 0, 0), hernquist,
       [=](double r) { return hernquist(r) * (3 - 2 * r / (r + a)); }},
      // The radial period of the isochrone is that of Kepler's problem with the same energy. BT eq. 3.37.
      {"isochrone", make(ExternalKind::isochrone, m, 0, a, 0, 0), isochrone,
       [=](double r) {
         const double energy = 0.5 * isochrone(r) * r * r - g * m / (a + s(r));
         return std::pow(-2 * energy, 3) / (g * m * g * m);
       }},
      {"nfw", make(ExternalKind::nfw, m, 0, a, 0, 0), [=](double r) { return g * m * nfw(r) / (r * r * r); },
       [=](double r) { return g * m / (r * r * r) * (nfw(r) + r * r / ((r + a) * (r + a))); }},
      {"logarithmic", make(ExternalKind::logarithmic, 0, v, a, 0, 0), [=](double r) { return v * v / (r * r + a * a); },
       [=](double r) { return v * v / (r * r + a * a) * (4 - 2 * r * r / (r * r + a * a)); }},
      {"miyamoto-nagai", make(ExternalKind::miyamoto_nagai, m, 0, a, b, 0),
       [=](double r) { return softened(a + b, r); }, [=](double r) { return softened_kappa2(a + b, r); }},
      // A harmonic oscillator: κ = 2 Ω.
      {"homogeneous", everywhere(ExternalKind::homogeneous, m, 0, 0),
       [=](double r) { return g * m * 4 / 3 * std::numbers::pi * r * r * r / (r * r * r); },
       [=](double) { return 16 * std::numbers::pi / 3 * g * m; }},
      // A negative one, which pulls: a'' = Ω_Λ H₀² a in an empty universe.
      {"cosmological-constant", everywhere(ExternalKind::cosmological_constant, 0, -1.5, 0.8),
       [=](double) { return 1.5 * 0.8 * 0.8; }, [=](double) { return 4 * 1.5 * 0.8 * 0.8; }}};
}

SolverOptions in(const ExternalPotential& potential, Precision precision = Precision::double_) {
  SolverOptions options;
  options.gravitational_constant = g;
  options.precision = precision;
  options.external = {potential};
  return options;
}

/// One particle at distance r from the centre along x, moving along y.
Particles star(const ExternalPotential& potential, double r, double speed) {
  Particles p;
  p.resize(1);
  p.mass[0] = 1.5;
  p.x[0] = potential.centre.x + r, p.y[0] = potential.centre.y, p.z[0] = potential.centre.z;
  p.vy[0] = speed;
  return p;
}

class ExternalPotentials : public DeviceTest {
 protected:
  std::unique_ptr<Integrator> leapfrog(const SolverOptions& options, double step) const {
    TimeOptions time;
    time.integrator = "leapfrog";
    time.step = step;
    return make_integrator(time, options, {device(1), serial_communicator(), nullptr});
  }
};

constexpr double radius = 1.1;
constexpr int steps = 4000;  // per turn; the leapfrog is then wrong by parts of (2π/steps)² = 2.5e-6

// Reference: the circular orbit's period 2π/Ω, and its energy, which stays what it was.
TEST_P(ExternalPotentials, CircularOrbitsCloseAfterTheirPeriod) {
  for (const auto& c : cases()) {
    const double omega = std::sqrt(c.omega2(radius)), period = 2 * std::numbers::pi / omega;
    const auto options = in(c.potential);
    const auto start = star(c.potential, radius, omega * radius);
    const auto system = leapfrog(options, period / steps);
    system->start(start, 0);
    const double before = measure_energies(start, device(1), options).total();
    double worst = 0;
    for (int quarter = 1; quarter <= 4; ++quarter) {
      system->advance(quarter * period / 4, nullptr);
      const auto p = system->state_at(system->time());
      worst = std::max(worst, std::abs(measure_energies(p, device(1), options).total() - before));
    }
    const auto p = system->state_at(period);
    EXPECT_NEAR(p.x[0], start.x[0], 1e-5) << c.name;
    EXPECT_NEAR(p.y[0], start.y[0], 1e-5) << c.name;
    EXPECT_EQ(p.z[0], start.z[0]) << c.name;
    EXPECT_LT(worst, 1e-5 * 0.5 * 1.5 * omega * omega * radius * radius) << c.name;
  }
}

// Reference: the epicyclic frequency κ of each potential, for an orbit with the angular momentum
// of the circular one and a little radial speed. Its radial speed is taken as straight over ten steps, which is wrong
// by parts of (20π/steps)³ = 4e-6.
TEST_P(ExternalPotentials, SlightlyEccentricOrbitsSwingWithTheEpicyclicFrequency) {
  for (const auto& c : cases()) {
    const double omega = std::sqrt(c.omega2(radius)), step = 2 * std::numbers::pi / omega / steps;
    const auto system = leapfrog(in(c.potential), step);
    auto start = star(c.potential, radius, omega * radius);
    start.vx[0] = 1e-3 * omega * radius;
    system->start(start, 0);
    std::vector<double> turns;  // when it is farthest and nearest: half a period apart
    double time_before = 0, radial_before = 1;
    while (turns.size() < 2) {
      system->advance(system->time() + 10 * step, nullptr);
      const auto p = system->state_at(system->time());
      const double radial = (p.x[0] - c.potential.centre.x) * p.vx[0] + (p.y[0] - c.potential.centre.y) * p.vy[0];
      if (radial * radial_before <= 0)
        turns.push_back(time_before + (system->time() - time_before) * radial_before / (radial_before - radial));
      time_before = system->time(), radial_before = radial;
      ASSERT_LT(time_before, 20 / omega) << c.name;
    }
    const double kappa = std::numbers::pi / (turns[1] - turns[0]);
    EXPECT_NEAR(kappa / std::sqrt(c.kappa2(radius)), 1, 2e-5) << c.name;
  }
}

// Reference: central differences of the potential, off the axes and above the plane.
TEST_P(ExternalPotentials, AccelerationIsTheGradientOfThePotential) {
  const double h = 1e-4;
  for (const auto& c : cases()) {
    const Vec3<double> middle = c.potential.centre + Vec3<double>{0.3, -0.4, 0.25};
    Particles p;
    p.resize(7);
    for (std::size_t k = 0; k < 7; ++k) p.x[k] = middle.x, p.y[k] = middle.y, p.z[k] = middle.z;
    p.x[1] += h, p.x[2] -= h, p.y[3] += h, p.y[4] -= h, p.z[5] += h, p.z[6] -= h;
    const auto options = in(c.potential);
    const Device d = device();
    const auto solver = make_solver(options, d);
    const auto f = evaluate_forces(*solver, d, p, want_acceleration | want_potential);
    const double size = std::sqrt(f.ax[0] * f.ax[0] + f.ay[0] * f.ay[0] + f.az[0] * f.az[0]);
    EXPECT_NEAR(f.ax[0], -(f.potential[1] - f.potential[2]) / (2 * h), 1e-6 * size) << c.name;
    EXPECT_NEAR(f.ay[0], -(f.potential[3] - f.potential[4]) / (2 * h), 1e-6 * size) << c.name;
    EXPECT_NEAR(f.az[0], -(f.potential[5] - f.potential[6]) / (2 * h), 1e-6 * size) << c.name;
  }
}

// Reference: central differences of the acceleration on a straight way.
TEST_P(ExternalPotentials, JerkIsTheChangeOfTheAccelerationOnTheWay) {
  const double h = 1e-5;
  for (const auto& c : cases()) {
    const Vec3<double> middle = c.potential.centre + Vec3<double>{0.3, -0.4, 0.25}, v{0.7, -0.2, 0.4};
    Particles p;
    p.resize(3);
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3<double> at = middle + (static_cast<double>(k) - 1) * h * v;
      p.x[k] = at.x, p.y[k] = at.y, p.z[k] = at.z, p.vx[k] = v.x, p.vy[k] = v.y, p.vz[k] = v.z;
    }
    const auto options = in(c.potential);
    const Device d = device();
    const auto solver = make_solver(options, d);
    const auto f = evaluate_forces(*solver, d, p, want_acceleration | want_jerk);
    const double size = std::sqrt(f.jx[1] * f.jx[1] + f.jy[1] * f.jy[1] + f.jz[1] * f.jz[1]);
    EXPECT_NEAR(f.jx[1], (f.ax[2] - f.ax[0]) / (2 * h), 1e-7 * size) << c.name;
    EXPECT_NEAR(f.jy[1], (f.ay[2] - f.ay[0]) / (2 * h), 1e-7 * size) << c.name;
    EXPECT_NEAR(f.jz[1], (f.az[2] - f.az[0]) / (2 * h), 1e-7 * size) << c.name;
  }
}

// Reference: the circular orbit's period 2π/Ω. Hermite's own potential energy is none here, for there is one star.
TEST_P(ExternalPotentials, HermiteClosesCircularOrbits) {
  TimeOptions time;
  time.eta = 0.002, time.eta_start = 0.0005;
  for (const auto& c : cases()) {
    const double omega = std::sqrt(c.omega2(radius)), period = 2 * std::numbers::pi / omega;
    const auto start = star(c.potential, radius, omega * radius);
    for (const auto precision : {Precision::double_, Precision::single}) {
      const auto system =
          make_integrator(time, in(c.potential, precision), {device(1), serial_communicator(), nullptr});
      system->start(start, 0);
      system->finish(period);
      const auto p = system->state_at(period);
      const double tolerance = precision == Precision::single ? 1e-4 : 1e-6;
      EXPECT_NEAR(p.x[0], start.x[0], tolerance) << c.name;
      EXPECT_NEAR(p.y[0], start.y[0], tolerance) << c.name;
      EXPECT_EQ(p.z[0], start.z[0]) << c.name;
      EXPECT_LT(system->counts().steps, 1000) << c.name;
    }
  }
}

// Reference: through the middle of uniform matter, where there is no pull, x = v sin(Ωt)/Ω.
TEST_P(ExternalPotentials, HermiteStartsInTheMiddle) {
  const auto c = cases()[8];
  const double omega = std::sqrt(c.omega2(1));
  TimeOptions time;
  time.eta = 0.002;
  const auto system = make_integrator(time, in(c.potential), {device(1), serial_communicator(), nullptr});
  system->start(star(c.potential, 0, 2), 0);
  system->finish(1);
  EXPECT_NEAR(system->state_at(1).y[0], c.potential.centre.y + 2 * std::sin(omega) / omega, 1e-6);
}

// Reference: in the field of uniform matter the centre of two bodies swings as cos Ωt, and what they have beside its
// motion is the energy of a Kepler orbit with Ω² r²/2 more. The bound pair has several evaluations in a step.
TEST_P(ExternalPotentials, HermiteKeepsABinaryThatSwings) {
  const double omega = 0.05;
  ExternalPotential matter{.kind = ExternalKind::homogeneous};
  matter.density = omega * omega * 3 / (4 * std::numbers::pi * g);
  SolverOptions options = in(matter, GetParam() == "cuda" ? Precision::mixed : Precision::double_);
  options.softening = Softening::same(0);
  Particles pair;
  pair.resize(2);
  pair.mass[0] = 0.75 / g, pair.mass[1] = 0.25 / g;
  pair.x[0] = 10 + 0.375, pair.x[1] = 10 - 1.125;
  pair.vy[0] = 0.25 * std::sqrt(1.0 / 3), pair.vy[1] = -0.75 * std::sqrt(1.0 / 3);
  const auto inner_energy = [&](const Particles& p) {
    const Vec3<double> d{p.x[0] - p.x[1], p.y[0] - p.y[1], p.z[0] - p.z[1]};
    const Vec3<double> w{p.vx[0] - p.vx[1], p.vy[0] - p.vy[1], p.vz[0] - p.vz[1]};
    return 0.5 * dot(w, w) - 1 / std::sqrt(dot(d, d)) + 0.5 * omega * omega * dot(d, d);
  };
  TimeOptions time;
  time.eta = 0.01;
  const auto system = make_integrator(time, options, {device(1), serial_communicator(), nullptr});
  system->start(pair, 0);
  const double end = 40 * 2 * std::numbers::pi;
  system->finish(end);
  const auto p = system->state_at(end);
  EXPECT_NEAR(inner_energy(p) / inner_energy(pair), 1, 1e-5);
  EXPECT_NEAR(0.75 * p.x[0] + 0.25 * p.x[1], 10 * std::cos(omega * end), 1e-4);
}

// Reference: the direct sum of the particles alone and the field at each place alone.
TEST_P(ExternalPotentials, AreAddedToTheSolversForcesForAnyTargetsAndPrecision) {
  Particles p;
  p.resize(20);
  for (std::size_t k = 0; k < 20; ++k) {
    p.mass[k] = 0.1;
    p.x[k] = std::cos(1.7 * static_cast<double>(k)), p.y[k] = std::sin(2.3 * static_cast<double>(k));
    p.z[k] = 0.1 * static_cast<double>(k);
  }
  const std::vector<std::int64_t> targets{3, 4, 11, 19};
  for (const auto precision : {Precision::single, Precision::mixed, Precision::double_}) {
    SolverOptions options = in(cases()[3].potential, precision), alone = options;
    options.external.push_back(cases()[7].potential);
    alone.external.clear();
    const Device d = device();  // one device: two have streams of their own
    const auto both = make_solver(options, d), bare = make_solver(alone, d);
    const unsigned want = want_acceleration | want_potential;
    const auto sum = evaluate_forces(*both, d, p, want, targets);
    const auto own = evaluate_forces(*bare, d, p, want, targets);
    const double tolerance = precision == Precision::single ? 2e-6 : 1e-14;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const auto i = static_cast<std::size_t>(targets[t]);
      const auto field = external_field_at(options.external, g, {p.x[i], p.y[i], p.z[i]});
      EXPECT_NEAR(sum.ax[t], own.ax[t] + field.acceleration.x, tolerance * 10);
      EXPECT_NEAR(sum.ay[t], own.ay[t] + field.acceleration.y, tolerance * 10);
      EXPECT_NEAR(sum.az[t], own.az[t] + field.acceleration.z, tolerance * 10);
      EXPECT_NEAR(sum.potential[t], own.potential[t] + field.potential, tolerance * 10);
    }
  }
}

// Reference: the mass within r, its small-q series against the closed form in the double precision's clear range.
TEST(ExternalPotential, MassOfTheNfwHaloIsSmoothWhereTheSeriesEnds) {
  EXPECT_NEAR(physics::nfw_mass(0.0625) / (std::log1p(0.0625) - 0.0625 / 1.0625), 1, 1e-13);
  EXPECT_NEAR(physics::nfw_mass(0.0625f) / physics::nfw_mass(0.0625), 1, 3e-7);
  EXPECT_NEAR(physics::nfw_mass(1e-6) / (0.5e-12 * (1 - 4e-6 / 3)), 1, 1e-10);
}

TEST_P(ExternalPotentials, AtTheirCentreForcesAreFinite) {
  for (const auto& c : cases()) {
    if (c.name == "point") continue;
    const auto f = external_field_at({c.potential}, g, c.potential.centre);
    EXPECT_EQ(dot(f.acceleration, f.acceleration), 0) << c.name;
    EXPECT_TRUE(std::isfinite(f.potential)) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ExternalPotentials, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

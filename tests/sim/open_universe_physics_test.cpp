#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "sim/gravity_system.hpp"
#include "test_devices.hpp"

namespace pergola {

namespace {

constexpr double omega_matter = 0.3, omega_lambda = 0.7, from = 0.25, until = 1;

/// ∫ dt of a flat universe with H₀ = 1. Peebles 1993, "Principles of physical cosmology", eq. 13.20.
double age(double a) {
  return 2 / (3 * std::sqrt(omega_lambda)) * std::asinh(std::sqrt(omega_lambda / omega_matter) * a * std::sqrt(a));
}
double rate(double a) { return std::sqrt(omega_matter / (a * a * a) + omega_lambda); }

/// Places and velocities dx/dt, comoving, of a lump of `count` with the mass of a sphere of comoving radius 1 at the
/// mean density (G = H₀ = 1), off the origin.
Particles lump(int count) {
  Particles p;
  p.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(7, 1, i);
    const auto draw = [&] { return random.uniform() - 0.5; };
    p.id[i] = i + 1, p.species[i] = 1, p.mass[i] = omega_matter / 2 / count;
    p.x[i] = 1.2 * draw() + 0.3, p.y[i] = 1.2 * draw(), p.z[i] = 1.2 * draw() - 0.1;
    p.vx[i] = 0.2 * draw(), p.vy[i] = 0.2 * draw(), p.vz[i] = 0.2 * draw();
  }
  return p;
}

/// The same with proper places a x and velocities a dx/dt + H a x.
Particles proper(Particles p, double a) {
  for (auto [x, v] : {std::pair{&p.x, &p.vx}, {&p.y, &p.vy}, {&p.z, &p.vz}})
    for (std::size_t i = 0; i < x->size(); ++i) {
      (*v)[i] = a * (*v)[i] + rate(a) * a * (*x)[i];
      (*x)[i] *= a;
    }
  return p;
}
/// √a dx/dt, the velocity of GADGET's files, from dx/dt, or back.
Particles with_file_velocities(Particles p, double factor) {
  for (auto* v : {&p.vx, &p.vy, &p.vz})
    for (double& value : *v) value *= factor;
  return p;
}

std::string text(const std::string& device, const std::string& solver, double end, const std::string& steps,
                 const std::string& more) {
  return fmt::format(R"(
[run]
end_time = {}
precision = "double"
device = "{}"
threads = 1
[time]
integrator = "leapfrog"
{}
[gravity]
solver = "{}"
{}
)",
                     end, device, steps, solver, more);
}

}  // namespace

class OpenUniverseOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, OpenUniverseOn, OnEachDevice(), device_test_name);

// Reference: the same particles at proper places in a space at rest, with Newton's forces and Ω_Λ H₀² r (GADGET-2 with
// ComovingIntegrationOn = 0), over the age of the universe in closed form. The two agree for any particles, not only
// for spheres: r = a x with Friedmann's equation for a.
TEST_P(OpenUniverseOn, ALumpAtComovingPlacesMovesAsAtProperOnes) {
  const Particles start = lump(60);
  const std::string softened = "softening = 0.4\nsoftening_max_proper = 0.1\n";
  for (const std::string solver : {"tree", "treepm"}) {
    GravitySystem comoving(parse_config(text(GetParam(), solver, until, "step = 0.005",
                                             softened + fmt::format("[cosmology]\nomega_matter = {}\nomega_lambda = {}",
                                                                    omega_matter, omega_lambda)),
                                        "test"),
                           with_file_velocities(start, std::sqrt(from)), from);
    comoving.run_until(until);
    const Particles found = proper(with_file_velocities(comoving.particles(), 1 / std::sqrt(until)), until);

    GravitySystem at_rest(
        parse_config(
            text(GetParam(), solver, age(until) - age(from), "step = 0.001953125",
                 fmt::format("softening = 0.1\nexternal = [{{ kind = \"cosmological-constant\", omega_lambda = {}, "
                             "hubble = 1 }}]",
                             omega_lambda)),
            "test"),
        proper(start, from), 0);
    at_rest.run_until(age(until) - age(from));
    const Particles expected = at_rest.particles();
    double moved = 0;
    for (std::size_t i = 0; i < start.id.size(); ++i) {
      EXPECT_NEAR(found.x[i], expected.x[i], 2e-4) << solver << " " << i;
      EXPECT_NEAR(found.y[i], expected.y[i], 2e-4) << solver << " " << i;
      EXPECT_NEAR(found.z[i], expected.z[i], 2e-4) << solver << " " << i;
      EXPECT_NEAR(found.vx[i], expected.vx[i], 2e-3) << solver << " " << i;
      moved = std::max(moved, std::abs(found.x[i] - start.x[i]));
    }
    EXPECT_GT(moved, 0.2) << solver;  // comoving: the forces were worth computing
  }
}

/// A sphere in an Einstein–de Sitter universe (G = H₀ = 1) that collapses at a = 1: r = A (1 − cos θ), t = B (θ − sin
/// θ). Peebles 1980, "The large-scale structure of the universe", section 19.
struct TopHat {
  double mass = 0.5, b = 1 / (3 * std::numbers::pi), a = std::cbrt(mass * b * b);

  double angle(double time) const {
    double low = 0, high = 2 * std::numbers::pi;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (low + high);
      (b * (middle - std::sin(middle)) < time ? low : high) = middle;
    }
    return low;
  }
  double radius(double time) const { return a * (1 - std::cos(angle(time))); }
  double speed(double time) const { return a / b * std::sin(angle(time)) / (1 - std::cos(angle(time))); }
};

/// The places of a cubic lattice in a sphere, scaled to the moment of inertia of an even sphere of radius 1.
std::vector<Vec3<double>> ball(int side) {
  std::vector<Vec3<double>> places;
  const auto at = [&](int i) { return (2 * i + 1.0) / side - 1; };
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      for (int k = 0; k < side; ++k)
        if (const Vec3<double> place{at(i), at(j), at(k)}; dot(place, place) < 1) places.push_back(place);
  double sum = 0;
  for (const auto& place : places) sum += dot(place, place) / static_cast<double>(places.size());
  for (auto& place : places) place = std::sqrt(0.6 / sum) * place;
  return places;
}
/// The sum over pairs of 1/r over that of an even sphere of radius 1. A sphere of few particles lacks a hundredth of
/// it.
double binding(const std::vector<Vec3<double>>& places) {
  double sum = 0;
  for (const auto& one : places)
    for (const auto& other : places)
      if (const auto d = one - other; dot(d, d) > 0) sum += 0.5 / std::sqrt(dot(d, d));
  return sum / (0.6 * static_cast<double>(places.size() * places.size()));
}
double rms_radius(const Particles& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) sum += p.x[i] * p.x[i] + p.y[i] * p.y[i] + p.z[i] * p.z[i];
  return std::sqrt(sum / static_cast<double>(p.x.size()));
}

// Reference: the exact solution. The sphere turns around at half its time and falls into itself at a = 1, when linear
// theory gives it a contrast of 1.686.
TEST_P(OpenUniverseOn, ASphereOfEvenDensityTurnsAroundAndCollapsesInItsTime) {
  const TopHat sphere;
  const auto time = [](double a) { return 2.0 / 3 * a * std::sqrt(a); };
  const double begin = 0.2, rate = std::pow(begin, -1.5);
  const double radius = sphere.radius(time(begin)), speed = sphere.speed(time(begin));
  const auto places = ball(16);
  const double mass = sphere.mass / binding(places) / static_cast<double>(places.size());
  Particles p;
  p.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto x = radius / begin * places[i], u = (speed - rate * radius) / std::sqrt(begin) * places[i];
    p.id[i] = i + 1, p.species[i] = 1, p.mass[i] = mass;
    p.x[i] = x.x, p.y[i] = x.y, p.z[i] = x.z, p.vx[i] = u.x, p.vy[i] = u.y, p.vz[i] = u.z;
  }
  GravitySystem run(parse_config(text(GetParam(), "tree", 1.2, "step = 0.0078125",
                                      "softening = 0.01\n[cosmology]\nomega_matter = 1\nomega_lambda = 0\n"
                                      "omega_baryon = 0"),
                                 "test"),
                    p, begin);
  const double unit = rms_radius(p) * begin / radius;
  for (const double a : {0.3, 0.5, 0.63, 0.8}) {
    run.run_until(a);
    EXPECT_NEAR(a * rms_radius(run.particles()) / unit / sphere.radius(time(a)), 1, 5e-3) << a;
  }
  double least = 1, collapsed = 0;
  for (double a = 0.9; a < 1.1; a += 0.005) {
    run.run_until(a);
    if (const double now = a * rms_radius(run.particles()); now < least) least = now, collapsed = a;
  }
  EXPECT_NEAR(time(collapsed) / time(1), 1, 0.015);
}

// Reference: the equation of Layzer and Irvine, d(T + W)/da = −(2T + W)/a, with the energy of the lump in the field of
// the background that is taken off in W.
TEST_P(OpenUniverseOn, KeepsTheEquationOfEnergy) {
  GravitySystem run(parse_config(text(GetParam(), "tree", until, "step = 0.005",
                                      fmt::format("softening = 0.1\n[cosmology]\nomega_matter = {}\nomega_lambda = {}",
                                                  omega_matter, omega_lambda)),
                                 "test"),
                    with_file_velocities(lump(60), std::sqrt(from)), from);
  EnergyRow row = run.measure();
  for (int k = 1; k <= 28; ++k) run.run_until(from * std::pow(until / from, k / 28.0)), row = run.measure();
  EXPECT_LT(std::abs(*row.error), 2e-3);
}

}  // namespace pergola

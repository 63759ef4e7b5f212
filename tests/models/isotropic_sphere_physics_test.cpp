#include "analysis/energy.hpp"
#include "base/error.hpp"
#include "models/isotropic_sphere.hpp"
#include "physics/external.hpp"
#include "physics/spheres.hpp"
#include "time/integrator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace pergola {
namespace {

/// A sphere alone from nothing but its density: masses, potential energy and Jeans' dispersion by plain sums over thin
/// shells, independent of models/.
class Shells {
 public:
  Shells(const std::function<double(double)>& density, double low, double high) {
    const int shells = 40000;
    const double h = std::log(high / low) / shells;
    double mass = 0;
    for (int k = 0; k < shells; ++k) {
      const double r = low * std::exp((k + 0.5) * h), shell = 4 * std::numbers::pi * r * r * r * density(r) * h;
      radius_.push_back(r);
      energy_ += (mass + shell / 2) * shell / r;
      mass += shell;
      mass_.push_back(mass);
      pressure_.push_back(density(r) * (mass - shell / 2) / r * h);
      density_.push_back(density(r));
    }
    for (std::size_t k = pressure_.size() - 1; k-- > 0;) pressure_[k] += pressure_[k + 1];
  }
  double mass() const { return mass_.back(); }
  double virial_radius() const { return mass() * mass() / (2 * energy_); }
  /// In units of total mass and virial radius with G = 1: the part of the mass within r, and σ² = ∫ ρ M/r² dr/ρ.
  double mass_within(double r) const { return mass_[place(r)] / mass(); }
  double dispersion2(double r) const {
    const auto k = place(r);
    return pressure_[k] / density_[k] * virial_radius() / mass();
  }

 private:
  std::size_t place(double r) const {
    const auto after = std::lower_bound(radius_.begin(), radius_.end(), r * virial_radius());
    return std::min(static_cast<std::size_t>(after - radius_.begin()), radius_.size() - 1);
  }
  std::vector<double> radius_, mass_, density_, pressure_;
  double energy_ = 0;
};

double hernquist_density(double r) { return 1 / (r * std::pow(1 + r, 3)); }

/// Kazantzidis, Magorrian & Moore 2004, eqs. 2 and 3, for c = 10 and a decay length of 3.
double nfw_density(double r) {
  const double c = 10, d = 3, power = -(1 + 3 * c) / (1 + c) + c / d;
  if (r < c) return 1 / (r * (1 + r) * (1 + r));
  return 1 / (c * (1 + c) * (1 + c)) * std::pow(r / c, power) * std::exp(-(r - c) / d);
}

/// W(x) of King's sphere by small equal steps outwards.
struct KingByHand {
  std::vector<double> w;
  double step = 1e-4;
  explicit KingByHand(double w0) {
    double x = step, here = w0 - 1.5 * x * x, flux = -3 * x * x * x;  // x² dW/dx
    w = {w0, here};
    while (here > 0) {
      flux -= 9 * (x + step / 2) * (x + step / 2) * physics::king_density(here + step / 2 * flux / (x * x)) /
              physics::king_density(w0) * step;
      x += step;
      here += step * flux / (x * x);
      w.push_back(std::max(here, 0.0));
    }
  }
  double edge() const { return step * static_cast<double>(w.size() - 1); }
  double density(double x) const {
    const double place = x / step;
    const auto k = static_cast<std::size_t>(place);
    if (k + 1 >= w.size()) return 0;
    return physics::king_density(w[k] + (place - static_cast<double>(k)) * (w[k + 1] - w[k]));
  }
};

struct Case {
  std::string name;
  Shells shells;
};

const std::vector<Case>& cases() {
  static const KingByHand king(6);
  static const std::vector<Case> all{{"hernquist", Shells(hernquist_density, 1e-7, 100)},
                                     {"nfw", Shells(nfw_density, 1e-7, 200)},
                                     {"king", Shells([](double x) { return king.density(x); }, 1e-4, king.edge())}};
  return all;
}

Particles stars(const std::string& name, std::int64_t n, std::map<std::string, ModelValue> values = {}) {
  ModelOptions options;
  options.n = n;
  options.values = std::move(values);
  return make_model(name, options, 2);
}

double radius(const Particles& p, std::size_t i) { return std::hypot(p.x[i], p.y[i], p.z[i]); }

std::vector<double> radii(const Particles& p) {
  std::vector<double> r;
  for (std::size_t i = 0; i < p.x.size(); ++i) r.push_back(radius(p, i));
  std::sort(r.begin(), r.end());
  return r;
}

/// The largest relative distance of f by Eddington's integral, with knots in steps of `step` in ln r, from the closed
/// form.
double inversion_error(double step) {
  const double g = 3, mass = 2, a = 0.5;
  const SphereLaw law = [&](double r) {
    return SphereDensity{mass / (a * a * a) * physics::hernquist_density(r / a), physics::hernquist_log_slope(r / a)};
  };
  const auto grid = equal_ratio_radii(1e-6, 1e6, step);
  const auto knots = eddington_sphere(grid, law, mass_within(grid, law), g);
  EXPECT_TRUE(has_isotropic_velocities(knots));
  const double speed = std::sqrt(g * mass / a);
  double worst = 0;
  for (std::size_t k = 0; k < grid.size(); ++k) {
    EXPECT_NEAR(knots.mass[k] / (mass * physics::hernquist_mass_within(grid[k] / a)), 1, 1e-5);
    EXPECT_NEAR(knots.potential[k] / (speed * speed * physics::hernquist_depth(grid[k] / a)), 1, 3e-5);
    if (grid[k] < 1e-4 || grid[k] > 1e4) continue;
    const double f = mass / std::pow(a * speed, 3) * physics::hernquist_distribution(1 / (1 + grid[k] / a));
    worst = std::max(worst, std::abs(knots.f[k] / f - 1));
  }
  return worst;
}

// Reference: the closed form of Hernquist 1990, eq. 17. The integrand has a root in its last stretch, where its slope
// is taken as even: the error falls as the steps' power 3/2.
TEST(IsotropicSphere, EddingtonsInversionGivesHernquistsDistributionFunction) {
  const double coarse = inversion_error(0.02), usual = inversion_error(0.01);
  EXPECT_LT(usual, 1.2e-3);
  EXPECT_NEAR(std::log2(coarse / usual), 1.5, 0.1);
}

// Reference: ∫ f d³v = ρ at some radii; the series and the closed form meet.
TEST(IsotropicSphere, HernquistsDistributionFunctionAddsUpToHisDensity) {
  for (const double r : {0.01, 1.0, 30.0, 300.0}) {
    const double depth = 1 / (1 + r), fastest = std::sqrt(2 * depth);
    double sum = 0;
    const int steps = 20000;
    for (int k = 0; k < steps; ++k) {
      const double v = fastest * (k + 0.5) / steps;
      sum += 4 * std::numbers::pi * v * v * physics::hernquist_distribution(depth - v * v / 2) * fastest / steps;
    }
    EXPECT_NEAR(sum / physics::hernquist_density(r), 1, 1e-5) << r;
  }
  EXPECT_NEAR(physics::hernquist_distribution(0.01 - 1e-12) / physics::hernquist_distribution(0.01 + 1e-12), 1, 1e-8);
}

// Reference: log10 of the edge over the King radius, King 1966, figure 3; Binney & Tremaine 2008, figure 4.9; to all
// digits given here in the tables of Spitzer 1987 and others.
TEST(IsotropicSphere, KingsConcentrationIsThePublishedOne) {
  for (const auto& [w0, concentration] :
       {std::pair{1.0, 0.296}, {3.0, 0.672}, {6.0, 1.255}, {9.0, 2.120}, {12.0, 2.739}})
    EXPECT_NEAR(std::log10(king_sphere(w0).radius.back()), concentration, 0.0015) << w0;
}

// Reference: ρ in closed form and by its series meet at W = 1.
TEST(IsotropicSphere, KingsDensityIsContinuous) {
  EXPECT_NEAR(physics::king_density(1 - 1e-9) / physics::king_density(1 + 1e-9), 1, 1e-8);
  EXPECT_EQ(physics::king_density(-1.0), 0);
}

// Reference: the mass of Navarro, Frenk & White within the concentration in closed form.
TEST(IsotropicSphere, TheHaloHasTheClosedMassWithinItsRadius) {
  const physics::TruncatedNfw<double> halo{12, 2};
  const auto grid = equal_ratio_radii(1e-6, nfw_edge(halo));
  const auto mass = mass_within(grid, [&](double r) { return SphereDensity{halo.density(r), halo.log_slope(r)}; });
  for (std::size_t k = 0; k < grid.size() && grid[k] <= 12; ++k)
    EXPECT_NEAR(mass[k] / physics::nfw_mass(grid[k]), 1, 1e-6) << grid[k];
  EXPECT_GT(mass.back(), 1.05 * physics::nfw_mass(12.0));
  EXPECT_LT(mass.back(), 1.5 * physics::nfw_mass(12.0));
}

// Reference: masses from thin shells. 1 % bound of Kolmogorov's statistic; centring and the shells add little.
TEST(IsotropicSphere, MassProfilesAreThoseOfTheDensities) {
  const std::size_t n = 40000;
  for (const auto& one : cases()) {
    const auto r = radii(stars(one.name, n));
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i)
      worst = std::max(worst, std::abs(one.shells.mass_within(r[i]) - static_cast<double>(i) / n));
    EXPECT_LT(worst, 1.63 / std::sqrt(n) + 0.002) << one.name;
  }
}

// Reference: the virial theorem in N-body units, with the potential energy as the direct sum. Sampling noise: about
// 1/√n, more for the cusps, whose few inner stars carry much energy.
TEST(IsotropicSphere, EnergyIsMinusAQuarterAndTheVirialRatioAHalf) {
  for (const auto& one : cases()) {
    const auto energies = measure_energies(stars(one.name, 16384), Device::open("cpu", 2), SolverOptions{});
    EXPECT_NEAR(energies.kinetic / 0.25, 1, 0.03) << one.name;
    EXPECT_NEAR(energies.potential / -0.5, 1, 0.03) << one.name;
    EXPECT_NEAR(energies.kinetic / -energies.potential, 0.5, 0.015) << one.name;
  }
}

// Reference: the isotropic Jeans equation, σ² = ∫ ρ G M/r² dr/ρ, in shells; along r and across alike.
TEST(IsotropicSphere, DispersionsSolveTheJeansEquation) {
  for (const auto& one : cases()) {
    const Particles p = stars(one.name, 100000);
    for (double low = 0.1; low < 1.5; low *= 1.5) {
      double radial = 0, all = 0, expected = 0, count = 0;
      for (std::size_t i = 0; i < p.x.size(); ++i) {
        const double r = radius(p, i);
        if (r < low || r > 1.5 * low) continue;
        const double vr = (p.x[i] * p.vx[i] + p.y[i] * p.vy[i] + p.z[i] * p.vz[i]) / r;
        radial += vr * vr;
        all += p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i];
        expected += one.shells.dispersion2(r);
        count += 1;
      }
      const double noise = 4 * std::sqrt(2 / count);
      EXPECT_NEAR(radial / expected, 1, noise) << one.name << " " << low << " " << count;
      EXPECT_NEAR(all / (3 * expected), 1, noise / std::sqrt(3)) << one.name << " " << low;
    }
  }
}

// Reference: a stationary sphere. Over two crossing times (2√2 in N-body units) the radii of a quarter, a half and
// three quarters of the mass stay, within the noise of the stars within (1/√n of a mass, and relaxation).
TEST(IsotropicSphere, LagrangianRadiiStay) {
  const std::size_t n = 6000;
  for (const auto& one : cases()) {
    const Particles start = stars(one.name, n);
    SolverOptions gravity;
    gravity.solver = "tree";
    gravity.precision = Precision::single;
    gravity.softening = Softening::same(0.02);
    gravity.tree.accuracy = 3e-3;
    TimeOptions time;
    time.integrator = "leapfrog";
    time.step = 1.0 / 32;
    const auto system = make_integrator(time, gravity, {Device::open("cpu", 2), serial_communicator(), nullptr});
    system->start(start, 0);
    system->advance(5.65625, nullptr);
    const auto before = radii(start), after = radii(system->state_at(5.65625));
    for (const double part : {0.25, 0.5, 0.75}) {
      const auto i = static_cast<std::size_t>(part * static_cast<double>(n));
      EXPECT_NEAR(after[i] / before[i], 1, 0.03) << one.name << " " << part;
    }
  }
}

TEST(IsotropicSphere, ScalesWithMassLengthAndNewtonsConstant) {
  for (const auto& one : cases()) {
    ModelOptions options;
    options.n = 4096;
    const Particles unit = make_model(one.name, options);
    options.values = {{"mass", 3.0}, {"virial_radius", 2.0}};
    options.gravitational_constant = 5;
    const Particles p = make_model(one.name, options);
    for (const std::size_t i : {0u, 100u, 4000u}) {
      EXPECT_NEAR(p.x[i], 2 * unit.x[i], 1e-12) << one.name;
      EXPECT_NEAR(p.vx[i], std::sqrt(7.5) * unit.vx[i], 1e-12) << one.name;
    }
  }
}

TEST(IsotropicSphere, NoStarIsBeyondTheCutoffOrTheEdge) {
  const auto far = radii(stars("hernquist", 20000, {{"cutoff", 3.0}}));
  // Within 3 scale radii, whose length (4 + c)/(3 c) follows from W of the part within.
  EXPECT_LT(far.back(), 1.02 * 3 * 7 / 9);
  EXPECT_GT(far.back(), 0.98 * 3 * 7 / 9);
  const auto king = king_sphere(3);
  const double edge =
      king.radius.back() / (king.mass.back() * king.mass.back() / (2 * IsotropicSphere(king).self_energy()));
  EXPECT_LT(radii(stars("king", 20000, {{"w0", 3.0}})).back(), 1.02 * edge);
}

TEST(IsotropicSphere, AnEdgeThatIsTooSharpIsRefused) {
  try {
    stars("nfw", 100, {{"truncation", 0.02}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("nfw: truncation: expected a wider edge"), std::string::npos);
  }
  for (const double concentration : {3.0, 10.0, 30.0})
    for (const double truncation : {0.1, 0.3, 1.0})
      EXPECT_EQ(stars("nfw", 100, {{"concentration", concentration}, {"truncation", truncation}}).size(), 100);
}

}  // namespace
}  // namespace pergola

#include "analysis/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/analysis.hpp"
#include "base/error.hpp"
#include "models/model.hpp"

namespace pergola {
namespace {

AnalysisSnapshot model(const std::string& name, std::int64_t n, std::map<std::string, ModelValue> values = {}) {
  ModelOptions options;
  options.n = n;
  options.values = std::move(values);
  AnalysisSnapshot snapshot;
  snapshot.name = name;
  snapshot.particles = make_model(name, options);
  return snapshot;
}

/// Particles at the origin's rest, as the models are made.
std::vector<ProfileShell> shells_of(const AnalysisSnapshot& snapshot, double low, double high, std::int64_t bins) {
  const SystemCenter center{{0, 0, 0}, {0, 0, 0}, "given"};
  const auto seen = seen_from(snapshot, center.place);
  return profile_of(snapshot, center, seen, profile_edges(seen, bins, low, high), has_mass(snapshot.particles));
}

AnalysisFiles one_file(const AnalysisSnapshot& snapshot) {
  AnalysisFiles files;
  files.names = {snapshot.name};
  files.snapshot = [snapshot](std::size_t) { return snapshot; };
  return files;
}

// Reference: Plummer 1911 with scale radius a and mass 1: M(r) = r³ (r² + a²)^(−3/2), and the isotropic dispersion
// σ² = 1/(6 √(r² + a²)) of every component (Binney & Tremaine 2008, eq. 4.93 with G = M = 1).
TEST(Profile, OfAPlummerModelIsTheAnalyticOne) {
  const double a = 3 * std::numbers::pi / 16;
  const auto snapshot = model("plummer", 60000);
  for (const ProfileShell& shell : shells_of(snapshot, 0.2, 3, 8)) {
    const auto within = [a](double r) { return std::pow(r / std::sqrt(r * r + a * a), 3); };
    const double mass = within(shell.outer) - within(shell.inner);
    const double volume = 4 * std::numbers::pi / 3 * (std::pow(shell.outer, 3) - std::pow(shell.inner, 3));
    EXPECT_NEAR(shell.density, mass / volume, 4 * shell.density_error) << shell.outer;
    EXPECT_NEAR(shell.mass_within, within(shell.outer), 0.01) << shell.outer;
    const double middle = shell.inner > 0 ? std::sqrt(shell.inner * shell.outer) : 0.75 * shell.outer;
    const double sigma = 1 / std::sqrt(6 * std::sqrt(middle * middle + a * a));
    const double noise = 5 / std::sqrt(2.0 * static_cast<double>(shell.particles)) + 0.02;
    EXPECT_NEAR(shell.sigma_radial, sigma, noise * sigma) << shell.outer;
    EXPECT_NEAR(shell.sigma_tangential, sigma, noise * sigma) << shell.outer;
    EXPECT_NEAR(shell.anisotropy, 0, 3 * noise) << shell.outer;
    EXPECT_NEAR(shell.radial_velocity, 0, 5 * sigma / std::sqrt(static_cast<double>(shell.particles)));
  }
}

// Reference: Hernquist 1990, eq. 3: M(r) ∝ r²/(r + a)², cut at c = 100 a. The model's virial radius 1/(2 |W|) is 1, and
// |W| = (1/a) ∫ 2 x²/(1 + x)⁵ dx/m² over 0 … 100 with m = (100/101)²; the integral is 1/6 − 1/100², nearly. Models
// have their centre of mass at the origin: the cusp of this one is 0.03 away from it, which the innermost radii would
// see.
TEST(Profile, OfAHernquistModelHoldsItsMass) {
  const double m = std::pow(100.0 / 101, 2), a = 2 * (1.0 / 6 - 1e-4) / (m * m);
  const auto snapshot = model("hernquist", 40000);
  for (const ProfileShell& shell : shells_of(snapshot, 0.3, 5, 8)) {
    const double mass = std::pow(shell.outer / (shell.outer + a), 2) / m;
    EXPECT_NEAR(shell.mass_within, mass, 4 * std::sqrt(mass * (1 - mass) / 40000) + 0.001) << shell.outer;
  }
}

// Reference: a King model ends at its tidal radius: no particle and no density beyond it, and its mass is all within.
TEST(Profile, OfAKingModelEndsAtItsEdge) {
  const auto snapshot = model("king", 20000, {{"w0", 5.0}});
  const auto seen = seen_from(snapshot, {0, 0, 0});
  const double edge = seen.radius.back();
  const auto shells = shells_of(snapshot, edge / 20, 4 * edge, 40);
  for (const ProfileShell& shell : shells)
    if (shell.inner > 1.01 * edge) {
      EXPECT_EQ(shell.particles, 0);
      EXPECT_EQ(shell.density, 0);
      EXPECT_TRUE(std::isnan(shell.sigma_radial));
    }
  EXPECT_NEAR(shells.back().mass_within, 1, 1e-9);
}

// Reference: by hand. On radial orbits β is 1; on circular ones the radial dispersion vanishes and the tangential does
// not.
TEST(Profile, AnisotropyTellsRadialFromTangentialOrbits) {
  AnalysisSnapshot snapshot;
  Particles& p = snapshot.particles;
  p.resize(6);
  p.mass.assign(6, 1.0);
  p.x = {1, -1, 0, 0, 0, 0}, p.y = {0, 0, 1, -1, 0, 0}, p.z = {0, 0, 0, 0, 1, -1};
  for (std::size_t i = 0; i < 6; ++i) {
    const double sign = i < 3 ? 1 : -1;
    p.vx[i] = sign * p.x[i], p.vy[i] = sign * p.y[i], p.vz[i] = sign * p.z[i];
  }
  auto shells = shells_of(snapshot, 0.5, 2, 1);
  EXPECT_DOUBLE_EQ(shells[1].anisotropy, 1);
  EXPECT_DOUBLE_EQ(shells[1].mass_within, 6);
  EXPECT_NEAR(shells[1].density, 6 / (4 * std::numbers::pi / 3 * (8 - 0.125)), 1e-12);
  for (std::size_t i = 0; i < 6; ++i) {  // about z, half of them each way
    const double sign = i % 2 == 0 ? 1 : -1;
    p.vx[i] = i < 4 ? -sign * p.y[i] : sign, p.vy[i] = i < 4 ? sign * p.x[i] : 0, p.vz[i] = 0;
  }
  shells = shells_of(snapshot, 0.5, 2, 1);
  EXPECT_NEAR(shells[1].sigma_radial, 0, 1e-15);
  EXPECT_GT(shells[1].sigma_tangential, 0.5);
}

// Reference: the same particles in another order.
TEST(Profile, DoesNotDependOnTheOrderOfTheParticles) {
  const auto snapshot = model("plummer", 500);
  auto turned = snapshot;
  Particles& p = turned.particles;
  for (auto* list : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) std::reverse(list->begin(), list->end());
  std::reverse(p.id.begin(), p.id.end());
  const auto a = shells_of(snapshot, 0.1, 2, 6), b = shells_of(turned, 0.1, 2, 6);
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].density, b[k].density);
    EXPECT_EQ(a[k].sigma_radial, b[k].sigma_radial);
  }
}

// Reference: Plummer's cumulative mass; the entry is what the command line calls.
TEST(RadiiEntry, GivesTheRadiiOfAPlummerModel) {
  const auto snapshot = model("plummer", 40000);
  const auto result = radii_entry().analyze(one_file(snapshot), {}, Device::open("cpu", 1));
  for (const double fraction : {0.1, 0.25, 0.5, 0.75}) {
    const double r = 3 * std::numbers::pi / 16 / std::sqrt(std::pow(fraction, -2.0 / 3.0) - 1);
    EXPECT_NEAR(result.table.numbers("r" + std::to_string(static_cast<int>(100 * fraction + 0.5))).front(), r,
                0.02 * r);
  }
}

TEST(Centers, OfAPeriodicBoxAreRefusedUnlessGiven) {
  auto snapshot = model("plummer", 200);
  snapshot.box = {{0, 0, 0}, {10, 10, 10}, Boundary::periodic};
  const Device device = Device::open("cpu", 1);
  AnalysisOptions options;
  EXPECT_THROW(find_center(snapshot, options, device), Error);
  options.center = "9.9,0,0";
  EXPECT_EQ(find_center(snapshot, options, device).how, "given");
  EXPECT_LT(seen_from(snapshot, {9.9, 0, 0}).radius.front(), 1);  // across the face of the box
  options.center = "1,2";
  EXPECT_THROW(find_center(snapshot, options, device), Error);
}

// Reference: a heavy particle away from the centre of mass is where the potential is lowest... but for itself, so the
// lightest particle beside it is: by hand.
TEST(Centers, ThePotentialsLowestPlaceIsFoundFromThePairsOrTheFile) {
  AnalysisSnapshot snapshot;
  Particles& p = snapshot.particles;
  p.resize(3);
  p.mass = {10, 0.1, 1};
  p.x = {0, 1, 5};
  AnalysisOptions options;
  options.center = "potential";
  const Device device = Device::open("cpu", 1);
  EXPECT_EQ(find_center(snapshot, options, device).place.x, 1);
  p.potential = {-1, -2, -3};
  EXPECT_EQ(find_center(snapshot, options, device).place.x, 5);
}

}  // namespace
}  // namespace pergola

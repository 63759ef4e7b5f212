#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "analysis/analysis.hpp"
#include "analysis/disc.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"

namespace pergola {
namespace {

/// A thin exponential disc of mass 1 and scale length 1 at quiet radii and random azimuths; particles move about z with
/// speed 0.5 and radial speeds of dispersion 0.1.
AnalysisSnapshot disc(std::int64_t n) {
  AnalysisSnapshot snapshot;
  snapshot.name = "disc";
  Particles& p = snapshot.particles;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(5, 0, i);
    p.mass[i] = 1.0 / static_cast<double>(n);
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    double r = 1;  // 1 − (1 + r) exp(−r) = part, by bisection
    for (double low = 0, high = 40, k = 0; k < 60; ++k) {
      r = (low + high) / 2;
      (1 - (1 + r) * std::exp(-r) > part ? high : low) = r;
    }
    const double phi = 2 * std::numbers::pi * random.uniform(), outward = i % 2 == 0 ? 0.1 : -0.1;
    p.x[i] = r * std::cos(phi), p.y[i] = r * std::sin(phi);
    p.vx[i] = -0.5 * std::sin(phi) + outward * std::cos(phi);
    p.vy[i] = 0.5 * std::cos(phi) + outward * std::sin(phi);
  }
  return snapshot;
}

AnalysisFiles series(const std::vector<AnalysisSnapshot>& snapshots) {
  AnalysisFiles files;
  for (const auto& one : snapshots) files.names.push_back(one.name);
  files.snapshot = [snapshots](std::size_t k) { return snapshots[k]; };
  return files;
}

// Reference: Freeman 1970: v² = 4π G Σ₀ R_d y² (I₀ K₀ − I₁ K₁), y = R/2 R_d, Σ₀ = 1/2π; at R = 1, 2, 3, 4: v² = 0.2590,
// 0.3800, 0.3820, 0.3311 (tables of Bessel functions, Abramowitz & Stegun 9.8). Σ = exp(−R)/2π.
TEST(Rotation, OfAThinExponentialDiscIsFreemans) {
  AnalysisOptions options;
  options.center = "0,0,0";
  options.softening = 0.02;
  options.low = 0.5, options.high = 4.5, options.bins = 4;
  const auto result = rotation_entry().analyze(series({disc(6000)}), options, Device::open("cpu", 1));
  const Table& table = result.table;
  const auto bessel = [](double r) {
    const double y = r / 2;
    return 2 * y * y *
           (std::cyl_bessel_i(0.0, y) * std::cyl_bessel_k(0.0, y) -
            std::cyl_bessel_i(1.0, y) * std::cyl_bessel_k(1.0, y));
  };
  for (std::size_t k = 0; k < 4; ++k) {
    const double r = static_cast<double>(k) + 1;
    EXPECT_NEAR(table.numbers("circular_speed")[k], std::sqrt(bessel(r)), 0.04 * std::sqrt(bessel(r))) << r;
    EXPECT_NEAR(table.numbers("rotation")[k], 0.5, 0.01);
    EXPECT_NEAR(table.numbers("sigma_R")[k], 0.1, 0.01);
    const double mass = (1 + r - 0.5) * std::exp(0.5 - r) - (1 + r + 0.5) * std::exp(-0.5 - r);
    const double sigma = mass / (std::numbers::pi * (std::pow(r + 0.5, 2) - std::pow(r - 0.5, 2)));
    EXPECT_NEAR(table.numbers("surface_density")[k], sigma, 0.01 * sigma);
    // Q = σ_R κ/(3.36 G Σ) from the columns themselves, κ² = 2 v²/R² + d(v²)/dR/R.
    EXPECT_NEAR(table.numbers("toomre_q")[k],
                table.numbers("sigma_R")[k] * table.numbers("kappa")[k] / (3.36 * table.numbers("surface_density")[k]),
                1e-9);
  }
  const double slope = (bessel(2.001) - bessel(1.999)) / 0.002, kappa = std::sqrt(bessel(2) / 2 + slope / 2);
  EXPECT_NEAR(table.numbers("kappa")[1], kappa, 0.08 * kappa);
}

TEST(Rotation, OfParticlesThatDoNotTurnIsRefused) {
  auto still = disc(100);
  still.particles.vx.assign(100, 0.0), still.particles.vy.assign(100, 0.0);
  EXPECT_THROW(rotation_entry().analyze(series({still}), {}, Device::open("cpu", 1)), Error);
}

/// A disc with masses 1 + ε cos 2(φ − φ₀) on a ring of equal azimuths, that turns as a whole.
AnalysisSnapshot barred(double time, double epsilon, double phase) {
  AnalysisSnapshot snapshot;
  snapshot.name = "bar";
  snapshot.time = time;
  Particles& p = snapshot.particles;
  p.resize(720);
  for (std::size_t i = 0; i < 720; ++i) {
    const double phi = 2 * std::numbers::pi * static_cast<double>(i) / 720, r = 1 + static_cast<double>(i % 3);
    p.mass[i] = 1 + epsilon * std::cos(2 * (phi - phase));
    p.x[i] = r * std::cos(phi), p.y[i] = r * std::sin(phi);
    p.vx[i] = -std::sin(phi), p.vy[i] = std::cos(phi);
  }
  return snapshot;
}

// Reference: the mean of exp(2iφ) over 1 + ε cos 2(φ − φ₀) is (ε/2) exp(2iφ₀).
TEST(Bar, StrengthAndPhaseAreThoseOfTheDensity) {
  AnalysisOptions options;
  options.center = "0,0,0";
  options.high = 4;
  const auto files = series({barred(0, 0.3, 1.2), barred(1, 0.3, 1.9), barred(2, 0.1, 2.6)});
  const auto result = bar_entry().analyze(files, options, Device::open("cpu", 1));
  const auto &strength = result.table.numbers("A2"), &phase = result.table.numbers("phase");
  EXPECT_NEAR(strength[0], 0.15, 1e-3);
  EXPECT_NEAR(strength[2], 0.05, 1e-3);
  EXPECT_NEAR(phase[0], 1.2, 5e-3);
  EXPECT_NEAR(phase[1], 1.9, 5e-3);
  EXPECT_NEAR(phase[2], 2.6, 2e-2);
  EXPECT_NEAR(result.table.numbers("pattern_speed")[1], 0.7, 1e-2);
}

}  // namespace
}  // namespace pergola

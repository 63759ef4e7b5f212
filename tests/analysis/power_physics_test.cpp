#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "analysis/power_spectrum.hpp"
#include "base/philox.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

Box cube(double side) { return {{0, 0, 0}, {side, side, side}, Boundary::periodic}; }

/// Random points, half of them in clumps, with masses of two kinds.
Particles points(std::int64_t n, double side, bool clumps) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(3, 0, i), clump(3, 1, i / 40);
    const bool in_clump = clumps && i % 2 == 0;
    const auto place = [&] {
      const double own = random.uniform(), center = clump.uniform();
      return side * (in_clump ? std::fmod(center + 0.02 * own, 1.0) : own);
    };
    p.x[i] = place(), p.y[i] = place(), p.z[i] = place();
    p.mass[i] = i % 3 == 0 ? 2 : 1;
  }
  return p;
}

class PowerSpectra : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, PowerSpectra, OnEachDevice(), device_test_name);

/// V |Σ m exp(−ik·x)|²/M² averaged over the modes of a shell, by the sum itself.
double direct_power(const Particles& p, double side, int step, int shell) {
  double sum = 0, total = 0;
  std::int64_t modes = 0;
  for (const double m : p.mass) total += m;
  for (int a = -shell - 1; a <= shell + 1; ++a)
    for (int b = -shell - 1; b <= shell + 1; ++b)
      for (int c = -shell - 1; c <= shell + 1; ++c) {
        if (std::floor(std::sqrt(static_cast<double>(a * a + b * b + c * c)) + 0.5) != shell) continue;
        std::complex<double> mode = 0;
        const double k = 2 * std::numbers::pi * step / side;
        for (std::size_t i = 0; i < p.id.size(); ++i)
          mode += std::polar(p.mass[i], -k * (a * p.x[i] + b * p.y[i] + c * p.z[i]));
        sum += std::norm(mode);
        ++modes;
      }
  return side * side * side * sum / (total * total * static_cast<double>(modes));
}

// Reference: the Fourier sum over the particles, mode by mode, up to the Nyquist wave number of the mesh (16 of 32
// cells) and beyond: shells 1 … 8 of the box, 5 … 8 of the folded one at twice, 5 … 8 at four times the wave number.
TEST_P(PowerSpectra, AreThoseOfTheSumOverTheParticlesToATenthOfAPercent) {
  const double side = 10;
  const Particles p = points(400, side, true);
  const auto spectrum = power_spectrum(p, cube(side), 32, 2, device(2));
  ASSERT_EQ(spectrum.bins.size(), 16u);
  for (std::size_t s = 0; s < spectrum.bins.size(); ++s) {
    const int fold = s < 8 ? 0 : s < 12 ? 1 : 2, shell = s < 8 ? static_cast<int>(s) + 1 : static_cast<int>(s) % 4 + 5;
    EXPECT_EQ(spectrum.bins[s].fold, fold);
    const double expected = direct_power(p, side, 1 << fold, shell);
    EXPECT_NEAR(spectrum.bins[s].power, expected, 1e-3 * expected) << fold << " " << shell;
  }
}

// Reference: a lattice whose points are moved along x by A sin(2πx/L) has modes J_m(2πmA/L) at k = 2πm/L: one pair of
// the six modes of the first shell has J_1².
TEST_P(PowerSpectra, OfPlaneWavesAreBesselFunctions) {
  const double side = 2, amplitude = 0.1, k = 2 * std::numbers::pi / side;
  Particles p;
  p.resize(16 * 16 * 16);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const double q = side * static_cast<double>(i % 16) / 16;
    p.mass[i] = 1;
    p.x[i] = q + amplitude * std::sin(k * q);
    p.y[i] = side * static_cast<double>(i / 16 % 16) / 16, p.z[i] = side * static_cast<double>(i / 256) / 16;
  }
  const auto spectrum = power_spectrum(p, cube(side), 32, 0, device(1));
  std::int64_t modes = spectrum.bins[0].modes;
  const double bessel = std::cyl_bessel_j(1.0, k * amplitude);
  const double expected = side * side * side * 2 * bessel * bessel / static_cast<double>(modes);
  EXPECT_NEAR(spectrum.bins[0].power, expected, 1e-3 * expected);
}

// Reference: points at random have the power V/N at every wave number, within the scatter of their modes.
TEST_P(PowerSpectra, OfPoissonPointsAreFlatAtTheShotNoise) {
  Particles p = points(20000, 5, false);
  p.mass.assign(p.mass.size(), 1.0);
  const auto spectrum = power_spectrum(p, cube(5), 32, 1, device(2));
  EXPECT_NEAR(spectrum.shot_noise, 125.0 / 20000, 1e-15);
  for (const PowerBin& bin : spectrum.bins) EXPECT_NEAR(bin.power, spectrum.shot_noise, 4.5 * bin.error) << bin.k;
}

// Reference: none is needed. A lattice that is hardly displaced has no noise of points at random: its power is far
// below it between its own wave numbers (16 points per side: those are beyond shell 8).
TEST_P(PowerSpectra, OfADisplacedLatticeAreFarBelowTheShotNoise) {
  Particles p = points(16 * 16 * 16, 1, false);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    p.mass[i] = 1;
    p.x[i] = (static_cast<double>(i % 16) + 0.02 * p.x[i]) / 16;
    p.y[i] = (static_cast<double>(i / 16 % 16) + 0.02 * p.y[i]) / 16;
    p.z[i] = (static_cast<double>(i / 256) + 0.02 * p.z[i]) / 16;
  }
  const auto spectrum = power_spectrum(p, cube(1), 32, 0, device(2));
  for (const PowerBin& bin : spectrum.bins) EXPECT_LT(bin.power, 0.01 * spectrum.shot_noise) << bin.k;
}

// Reference: the CPU, whose modes differ in rounding. The same bits from particles that live on the device.
TEST_P(PowerSpectra, AreThoseOfTheCpuAndTheSameTwice) {
  const Particles p = points(3000, 4, true);
  const auto here = power_spectrum(p, cube(4), 32, 2, device(2)),
             again = power_spectrum(*show_particles(device(2), p), cube(4), 32, 2);
  const auto cpu = power_spectrum(p, cube(4), 32, 2, Device::open("cpu", 1));
  ASSERT_EQ(here.bins.size(), cpu.bins.size());
  EXPECT_EQ(here.shot_noise, cpu.shot_noise);
  for (std::size_t s = 0; s < cpu.bins.size(); ++s) {
    EXPECT_EQ(here.bins[s].power, again.bins[s].power);
    EXPECT_EQ(here.bins[s].modes, cpu.bins[s].modes);
    EXPECT_NEAR(here.bins[s].power, cpu.bins[s].power, 1e-10 * cpu.bins[s].power);
  }
}

// Reference: itself.
TEST(PowerSpectrum, HasTheSameBitsOnAnyNumberOfThreads) {
  const Particles p = points(300, 1, true);
  const auto a = power_spectrum(p, cube(1), 16, 1, Device::open("cpu", 1));
  const auto b = power_spectrum(p, cube(1), 16, 1, Device::open("cpu", 3));
  for (std::size_t s = 0; s < a.bins.size(); ++s) EXPECT_EQ(a.bins[s].power, b.bins[s].power);
}

}  // namespace
}  // namespace pergola

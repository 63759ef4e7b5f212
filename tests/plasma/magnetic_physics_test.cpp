// Motion and waves in an external magnetic field.
#include <gtest/gtest.h>

#include <complex>

#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class MagnetisedPlasma : public DeviceTest {};

// dv/dt = (q/m) v × B: electrons turn counterclockwise about B with ω_c = |q B / m|, ions clockwise. The field of the
// particles is made negligible by their weight.
TEST_P(MagnetisedPlasma, ParticlesTurnWithTheCyclotronFrequency) {
  PlasmaOptions options = electrons({32, 32, 1}, 1);
  options.magnetic_field = {0, 0, 0.5};
  options.species = {{"electrons", -1, 1, 1e-12}, {"ions", 1, 4, 1e-12}};
  PlasmaParticles one;
  one.id = {1}, one.x = {16}, one.y = {10}, one.vx = {2}, one.vy = {0};
  const auto system = make_particle_in_cell(device(), options, Precision::double_);
  system->start({one, one});
  for (int i = 0; i < 60; ++i) {
    system->advance(1, 0.25);
    for (int s = 0; s < 2; ++s) {
      const double angle = (s == 0 ? 0.5 : -0.125) * system->time(), radius = 2 / (s == 0 ? 0.5 : -0.125);
      const auto now = system->particles(s);
      EXPECT_NEAR(now.vx[0], 2 * std::cos(angle), 1e-9);
      EXPECT_NEAR(now.vy[0], 2 * std::sin(angle), 1e-9);
      // Straight steps instead of arcs: the radius is larger by (ω_c dt)² / 24.
      EXPECT_NEAR(std::remainder(now.x[0] - 16 - radius * std::sin(angle), 32), 0, 2e-3 * std::fabs(radius));
      EXPECT_NEAR(std::remainder(now.y[0] - 10 - radius * (1 - std::cos(angle)), 32), 0, 2e-3 * std::fabs(radius));
    }
  }
}

// Along B nothing changes; across it the velocity turns by −(q/m) |B| t: Rodrigues' rotation of the start.
TEST_P(MagnetisedPlasma, ThreeVelocitiesTurnAboutAnObliqueField) {
  for (const auto& cells : {std::array<int, 3>{16, 16, 1}, std::array<int, 3>{16, 8, 8}}) {
    PlasmaOptions options = electrons(cells, 1, 3);
    options.magnetic_field = {0.2, -0.3, 0.6};  // |B| = 0.7
    options.species = {{"electrons", -1, 1, 1e-12}};
    const auto start = random_particles(options, 20, 1, 21);
    const auto system = make_particle_in_cell(device(), options, Precision::double_);
    system->start({start});
    system->advance(30, 0.2);
    const auto end = system->particles(0);
    const Vec3<double> axis = (1 / 0.7) * options.magnetic_field;
    const double angle = 0.7 * system->time();
    for (std::size_t i = 0; i < 20; ++i) {
      const Vec3<double> v{start.vx[i], start.vy[i], start.vz[i]};
      const Vec3<double> expected =
          std::cos(angle) * v + std::sin(angle) * cross(axis, v) + (dot(axis, v) * (1 - std::cos(angle))) * axis;
      EXPECT_NEAR(end.vx[i], expected.x, 1e-9);
      EXPECT_NEAR(end.vy[i], expected.y, 1e-9);
      EXPECT_NEAR(end.vz[i], expected.z, 1e-9);
    }
  }
}

/// 1 − 2 Σ_n e^−λ I_n(λ)/λ · n² / (ω² − n² ω_c²) with λ = (k v_th / ω_c)², ω_p = 1: the dispersion relation of
/// Bernstein modes (Bernstein 1958; Stix 1992, section 11-10).
double bernstein(double frequency, double cyclotron, double lambda) {
  double sum = 0;
  for (int n = 1; n < 40; ++n)
    sum += 2 * std::exp(-lambda) * std::cyl_bessel_i(static_cast<double>(n), lambda) / lambda * n * n /
           (frequency * frequency - n * n * cyclotron * cyclotron);
  return 1 - sum;
}

/// The root between the harmonics n and n + 1.
double bernstein_frequency(int n, double cyclotron, double lambda) {
  double low = n * cyclotron * (1 + 1e-9), high = (n + 1) * cyclotron * (1 - 1e-9);
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (bernstein(middle, cyclotron, lambda) < 0 ? low : high) = middle;
  }
  return low;
}

/// The frequency between two bounds at which a history has the most power, with a Hann window.
double strongest_frequency(const std::vector<double>& history, double step, double low, double high) {
  double best = 0, most = -1;
  const auto count = static_cast<double>(history.size());
  for (double frequency = low; frequency < high; frequency += 0.0005) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < history.size(); ++i)
      sum += history[i] * (1 - std::cos(two_pi * (static_cast<double>(i) + 0.5) / count)) *
             std::polar(1.0, frequency * step * static_cast<double>(i));
    if (std::abs(sum) > most) most = std::abs(sum), best = frequency;
  }
  return best;
}

TEST_P(MagnetisedPlasma, WavesAcrossTheFieldAreBernsteinModes) {
  const double cyclotron = 0.5, k = two_pi / 32, step = 0.1;
  PlasmaOptions options = electrons({32, 4, 1}, 1);
  options.magnetic_field = {0, 0, cyclotron};
  const std::int64_t count = 65536;
  options.species[0].weight = static_cast<double>(options.cell_count()) / static_cast<double>(count);
  for (const double lambda : {0.5, 1.0}) {
    const double thermal = std::sqrt(lambda) * cyclotron / k;
    const auto history = mode_history(device(), options, {quiet_particles(options, count, thermal, 0.02)}, step, 1000);
    for (const int n : {1, 2}) {
      const double expected = bernstein_frequency(n, cyclotron, lambda);
      const double found = strongest_frequency(history, step, (n + 0.03) * cyclotron, (n + 0.97) * cyclotron);
      EXPECT_NEAR(found, expected, 0.01 * expected) << "harmonic " << n << " lambda " << lambda;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MagnetisedPlasma, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

// Waves and instabilities along x against linear theory.
#include <gtest/gtest.h>

#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class PlasmaWaves : public DeviceTest {
 protected:
  /// Waves of wave number k λ_D in electrons on a grid of `cells`, of which the first holds one wavelength.
  std::vector<double> wave(double k_debye, const PlasmaOptions& options, std::int64_t count, double amplitude,
                           double step, int steps) const {
    const double thermal = k_debye * options.cells[0] / two_pi;
    return mode_history(device(), options, {quiet_particles(options, count, thermal, amplitude)}, step, steps);
  }
};

/// Electrons at rest on a regular lattice, moved by a sine.
PlasmaParticles cold_lattice(const PlasmaOptions& options, double amplitude) {
  PlasmaParticles particles;
  const double length = options.cells[0], k = two_pi / length;
  const int layers = options.dimensions == 3 ? 2 * options.cells[2] : 1;
  for (int iz = 0; iz < layers; ++iz)
    for (int iy = 0; iy < 2 * options.cells[1]; ++iy)
      for (int ix = 0; ix < 4 * options.cells[0]; ++ix) {
        const double x = (ix + 0.5) / 4;
        particles.id.push_back(particles.id.size());
        particles.x.push_back(x + amplitude / k * std::sin(k * x));
        particles.y.push_back((iy + 0.5) / 2);
        if (options.dimensions == 3) particles.z.push_back((iz + 0.5) / 2);
        particles.vx.push_back(0), particles.vy.push_back(0);
        if (options.velocities == 3) particles.vz.push_back(0);
      }
  return particles;
}

// ω = ω_p = 1 for any wave number: Tonks & Langmuir 1929.
TEST_P(PlasmaWaves, ColdPlasmaOscillatesWithThePlasmaFrequency) {
  for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
    for (const auto precision : {Precision::single, Precision::double_}) {
      PlasmaOptions options = electrons({64, 4, 1}, 8);
      options.shape = shape;
      const auto history = mode_history(device(), options, {cold_lattice(options, 0.01)}, 0.1, 320, precision);
      const auto found = fit_oscillation(history, 0.1, 0);
      EXPECT_NEAR(found.frequency, 1, 0.005);
      EXPECT_NEAR(found.growth, 0, 0.001);
      // ∇²φ = −ρ with ρ = −n₁, n₁ = −n₀ amplitude cos k x.
      const double k = two_pi / 64;
      EXPECT_NEAR(history[0], 0.01 / (k * k), 0.01 * 0.01 / (k * k));
    }
}

// With ions that move, ω² = ω_pe² + ω_pi² = 1 + 1/4 for a mass of 4 electrons.
TEST_P(PlasmaWaves, IonsThatMoveRaiseTheFrequency) {
  PlasmaOptions options = electrons({64, 4, 1}, 8);
  options.species.push_back({"ions", 1, 4, 1.0 / 8});
  options.background = false;
  const auto history =
      mode_history(device(), options, {cold_lattice(options, 0.01), cold_lattice(options, 0)}, 0.1, 320);
  EXPECT_NEAR(fit_oscillation(history, 0.1, 0).frequency, std::sqrt(1.25), 0.005);
}

TEST_P(PlasmaWaves, TwoAndThreeDimensionsAgreeOnAWaveAlongX) {
  const PlasmaOptions flat = electrons({32, 4, 1}, 8), deep = electrons({32, 4, 6}, 16);
  const auto two = mode_history(device(), flat, {cold_lattice(flat, 0.05)}, 0.1, 100);
  const auto three = mode_history(device(), deep, {cold_lattice(deep, 0.05)}, 0.1, 100);
  ASSERT_EQ(two.size(), three.size());
  for (std::size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(two[i], three[i], 1e-4 * two[0]) << i;
}

// Roots of the kinetic dispersion relation (Canosa 1973, J. Comput. Phys. 13, 158): k λ_D = 0.1: ω = 1.0152, close to
// Bohm & Gross, √(1 + 3 k² λ_D²) = 1.0149; 0.2: 1.0640; 0.3: 1.1598.
TEST_P(PlasmaWaves, FrequencyRisesWithTheWaveNumberAsBohmAndGrossSay) {
  const double expected[][2] = {{0.1, 1.0152}, {0.2, 1.0640}, {0.3, 1.1598}};
  for (const auto& [k_debye, frequency] : expected) {
    const PlasmaOptions options = electrons({64, 2, 1}, 500);
    const auto found = fit_oscillation(wave(k_debye, options, 64000, 0.02, 0.1, 200), 0.1, 3);
    EXPECT_NEAR(found.frequency, frequency, 0.003 * frequency) << k_debye;
  }
}

// k λ_D = 0.5: ω = 1.4156, γ = −0.1533 (Landau 1946; the root is that of Canosa 1973).
TEST_P(PlasmaWaves, WaveIsDampedAtLandausRate) {
  struct Case {
    std::array<int, 3> cells;
    PlasmaShape shape;
    std::int64_t count;
  };
  for (const Case& one :
       {Case{{64, 2, 1}, PlasmaShape::linear, 131072}, Case{{64, 2, 1}, PlasmaShape::quadratic, 131072},
        Case{{64, 2, 2}, PlasmaShape::linear, 131072}}) {
    PlasmaOptions options = electrons(one.cells, 1);
    options.species[0].weight = static_cast<double>(options.cell_count()) / static_cast<double>(one.count);
    options.shape = one.shape;
    const auto found = fit_oscillation(wave(0.5, options, one.count, 0.01, 0.1, 150), 0.1, 1);
    EXPECT_NEAR(found.frequency, 1.4156, 0.03 * 1.4156);
    EXPECT_NEAR(found.growth, -0.1533, 0.03 * 0.1533);
  }
}

// Two cold beams of half the density each: ω² = a² + ω_b² − ω_b √(4 a² + ω_b²) with a = k v₀, ω_b² = 1/2 (Birdsall &
// Langdon 1985, section 5-6). At a = √3/2 ω_b the growth rate is ω_b / 2.
TEST_P(PlasmaWaves, TwoStreamsGrowAtTheRateOfTheColdBeamDispersionRelation) {
  const double beam = std::sqrt(0.5);
  for (const double a : {0.5 * beam, 0.5 * std::sqrt(3.0) * beam}) {
    PlasmaOptions options = electrons({64, 4, 1}, 16);
    options.species.push_back(options.species[0]);
    const double speed = a / (two_pi / 64);
    auto one = cold_lattice(options, 1e-4), other = cold_lattice(options, 1e-4);
    for (auto& v : one.vx) v = speed;
    for (auto& v : other.vx) v = -speed;
    const double step = 0.05;  // the wave that does not grow is left behind before t = 16
    const auto history = mode_history(device(), options, {one, other}, step, 500);
    const double square = beam * std::sqrt(4 * a * a + beam * beam) - a * a - beam * beam;
    const double growth = std::log(std::fabs(history[500] / history[320])) / (180 * step);
    EXPECT_NEAR(growth, std::sqrt(square), 0.05 * std::sqrt(square)) << a;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PlasmaWaves, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

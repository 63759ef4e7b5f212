#include <gtest/gtest.h>
#include <cmath>
#include <numbers>

#include "base/philox.hpp"
#include "io/temporary_directory.hpp"
#include "physics/plasma_dispersion.hpp"
#include "picture/run_plots.hpp"
#include "plasma/particle_in_cell.hpp"
#include "sim/plasma_diagnostics.hpp"

namespace pergola {

namespace {

PlasmaOptions long_box() {
  PlasmaOptions options;
  options.cells = {256, 4, 1};
  return options;
}

/// Two equal streams against each other, with k v = √(3/8) for the second mode.
std::vector<PlasmaKind> two_streams(double thermal_speed) {
  const double drift = std::sqrt(3.0 / 8) * 256 / (4 * std::numbers::pi);
  const Vec3<double> thermal{thermal_speed, thermal_speed, 0};
  return {{0.5, thermal, {drift, 0, 0}}, {0.5, thermal, {-drift, 0, 0}}};
}

// Reference: Birdsall & Langdon 1985, section 5-6: the fastest wave of two cold equal streams grows with ω_p/√8. The
// cloud of the particles takes 0.1 % here.
TEST(WaveTheory, ColdStreamsGrowWithThePublishedRate) {
  EXPECT_NEAR(wave_theory(long_box(), two_streams(0), {2, 0, 0}).imag(), 1 / std::sqrt(8.0), 1e-3);
  EXPECT_NEAR(wave_theory(long_box(), two_streams(0), {2, 0, 0}).real(), 0, 1e-9);
}

TEST(WaveTheory, WarmthSlowsTheGrowth) {
  const double cold = wave_theory(long_box(), two_streams(0), {2, 0, 0}).imag();
  const double warm = wave_theory(long_box(), two_streams(0.6), {2, 0, 0}).imag();
  EXPECT_LT(warm, cold);
  EXPECT_GT(warm, 0.95 * cold);
}

// Reference: Landau damping at k λ_D = 0.5: ω = 1.4156, γ = −0.1533 (Canosa 1973).
TEST(WaveTheory, APlasmaAtRestHasTheLangmuirWave) {
  const double k = 2 * std::numbers::pi / 256;
  const auto root = wave_theory(long_box(), {{1, {0.5 / k, 0.5 / k, 0}, {}}}, {1, 0, 0});
  EXPECT_NEAR(root.real(), 1.4156, 2e-3);
  EXPECT_NEAR(root.imag(), -0.1533, 2e-3);
}

TEST(WaveTheory, WhatItDoesNotKnowIsNotANumber) {
  PlasmaOptions turned = long_box();
  turned.magnetic_field = {0, 0, 1};
  EXPECT_TRUE(std::isnan(wave_theory(turned, two_streams(0), {2, 0, 0}).imag()));
  EXPECT_TRUE(std::isnan(wave_theory(long_box(), {}, {2, 0, 0}).imag()));
  EXPECT_TRUE(std::isnan(wave_theory(long_box(), two_streams(0), {0, 0, 0}).imag()));
}

// Reference: waves with k v > ω_p do not grow in two equal cold streams (Birdsall & Langdon 1985, section 5-6), and
// none does in streams that are so warm that their sum has one maximum: a thermal speed of the drift or more (Penrose
// 1960).
TEST(WaveTheory, StreamsThatNoWaveGrowsInAreStable) {
  const auto is_stable = [](double thermal_speed, int mode) {
    const auto root = wave_theory(long_box(), two_streams(thermal_speed), {mode, 0, 0});
    return std::isnan(root.real()) && root.imag() == 0;
  };
  const double drift = two_streams(0)[0].drift.x;
  EXPECT_FALSE(is_stable(0, 3));
  EXPECT_TRUE(is_stable(0, 4));  // k v = 1.22 ω_p
  EXPECT_FALSE(is_stable(0.6, 3));
  EXPECT_TRUE(is_stable(0.6, 4));
  EXPECT_FALSE(is_stable(0.4 * drift, 2));
  EXPECT_TRUE(is_stable(1.01 * drift, 2));
  EXPECT_TRUE(is_stable(1.01 * drift, 1));
}

// Reference: the root of the dispersion relation is above the real axis where cold beams would not grow: the beam's
// slope drives a wave of the plasma (a gentle bump), whose phase speed is below that of the beam.
TEST(WaveTheory, AWarmBeamDrivesAWaveThatAColdOneDoesNot) {
  const double k = 2 * std::numbers::pi / 256, per_k = 0.45 / k;
  const auto root =
      wave_theory(long_box(), {{0.95, {per_k, per_k, 0}, {}}, {0.05, {per_k / 2, 0, 0}, {4 * per_k, 0, 0}}}, {1, 0, 0});
  EXPECT_GT(root.imag(), 0.04);
  EXPECT_LT(root.real(), 1.4);
}

class PlasmaDiagnosticsTest : public FileTest {
 protected:
  static constexpr double dt = 0.05;

  static PlasmaOptions options() {
    PlasmaOptions options;
    options.cells = {32, 4, 1};
    options.species = {{"electrons", -1, 1, 1.0 / 16}};
    return options;
  }
  static PlasmaDiagnostics diagnostics() { return {options(), PlasmaUnits{}, {{1, 0, 0}, 0, 0}, {{1, {}, {}}}}; }

  /// Cold electrons at rest on a lattice, 16 in a cell, displaced along x by 0.05 sin(kx).
  static std::unique_ptr<ParticleInCell> oscillating_plasma() {
    PlasmaParticles electrons;
    for (int j = 0; j < 16; ++j)
      for (int i = 0; i < 128; ++i) {
        const double x = (i + 0.5) / 4;
        electrons.id.push_back(electrons.id.size() + 1);
        electrons.x.push_back(x + 0.05 * std::sin(2 * std::numbers::pi * x / 32));
        electrons.y.push_back((j + 0.5) / 4);
        electrons.vx.push_back(0);
        electrons.vy.push_back(0);
      }
    auto system = make_particle_in_cell(Device::open("cpu", 1), options(), Precision::double_);
    system->start({electrons});
    return system;
  }
};

/// Reference: electrons that are displaced against fixed ions swing with ω_p; the cloud of the linear shape lowers that
/// by sin²(k/2)/(k/2)², the leapfrog raises it by (ω dt)²/24: both known (Birdsall & Langdon 1985, chapters 4 and 8).
TEST_F(PlasmaDiagnosticsTest, FrequencyOfAColdPlasmaIsMeasured) {
  auto watched = diagnostics();
  const auto system = oscillating_plasma();
  watched.record(system->time(), system->field(PlasmaFieldPart::potential));
  for (int step = 0; step < 400; ++step) {
    system->advance(1, dt);
    watched.record(system->time(), system->field(PlasmaFieldPart::potential));
  }
  const double k = 2 * std::numbers::pi / 32;
  const double expected = leapfrog_frequency(std::sqrt(grid_shape_squared(k, 0, 2)), dt);
  EXPECT_NEAR(watched.measure("frequency"), expected, 2e-4);
  EXPECT_NEAR(watched.measure("frequency"), 1, 0.005);
  EXPECT_NEAR(watched.measure("damping_rate"), 0, 1e-3);

  watched.write(directory_);
  const SpectrumFile spectrum = read_spectrum(at("spectrum.hdf5"));
  ASSERT_EQ(spectrum.axes.size(), 2u);
  EXPECT_EQ(spectrum.times.size(), 401u);
  const AxisSpectrum& x = spectrum.axes[0];
  EXPECT_EQ(x.wave_numbers.size(), 16u);
  EXPECT_DOUBLE_EQ(x.wave_numbers[0], k);
  ASSERT_EQ(x.theory.size(), 1u);
  EXPECT_NEAR(x.theory[0].frequencies[0], expected, 1e-3);
  EXPECT_NE(read_bytes(at("spectrum.csv")).find("axis,mode,wave_number,frequency,power\nx,1,"), std::string::npos);
  EXPECT_NE(read_bytes(at("wave.csv")).find("time,real,imaginary,amplitude,fit\n0,"), std::string::npos);
  EXPECT_EQ(files_in_directory(), PlasmaDiagnostics::file_names().size());
}

TEST_F(PlasmaDiagnosticsTest, RecordGoesOnFromACheckpoint) {
  auto watched = diagnostics(), resumed = diagnostics();
  const auto system = oscillating_plasma();
  for (int step = 0; step < 100; ++step) {
    watched.record(system->time(), system->field(PlasmaFieldPart::potential));
    watched.record_energy(system->time(), 0.25 * step);
    if (step == 50) {
      StateBlocks blocks;
      watched.save(blocks);
      resumed.restore(blocks);
    }
    if (step > 50) {
      resumed.record(system->time(), system->field(PlasmaFieldPart::potential));
      resumed.record_energy(system->time(), 0.25 * step);
    }
    system->advance(1, dt);
  }
  for (const std::string& name : plasma_measure_names())
    EXPECT_EQ(resumed.measure(name), watched.measure(name)) << name;
  EXPECT_DOUBLE_EQ(watched.measure("field_energy"), 0.25 * 49.5);
  EXPECT_TRUE(std::isnan(watched.measure("half_mass_radius")));
  watched.write(directory_);
  const std::string before = read_bytes(at("spectrum.hdf5"));
  resumed.write(directory_);
  EXPECT_EQ(read_bytes(at("spectrum.hdf5")), before);
}

/// Reference: the standing wave that is put in, e^(−0.15 t) cos 1.4 t. Its straight line in log |φ| has another slope:
/// the sum over the zeros of the cosine.
TEST_F(PlasmaDiagnosticsTest, CardRecordAndTableOfADampedWaveHaveOneFit) {
  PlasmaDiagnostics watched{options(), PlasmaUnits{}, {{1, 0, 0}, 4, 18}, {{1, {}, {}}}};
  std::vector<double> potential(static_cast<std::size_t>(options().cell_count()));
  for (int step = 0; step <= 250; ++step) {
    const double t = 0.1 * step, wave = std::exp(-0.15 * t) * std::cos(1.4 * t);
    for (std::size_t i = 0; i < potential.size(); ++i)
      potential[i] = wave * std::cos(2 * std::numbers::pi * static_cast<double>(i % 32) / 32);
    watched.record(t, potential);
  }
  EXPECT_NEAR(watched.measure("damping_rate"), 0.15, 1e-6);
  EXPECT_NEAR(watched.measure("frequency"), 1.4, 1e-6);
  EXPECT_EQ(watched.measure("growth_rate"), -watched.measure("damping_rate"));
  const WaveFit fit = watched.wave_fit();
  EXPECT_EQ(fit.kind(), "oscillation");
  EXPECT_LT(fit.error, 1e-6);
  EXPECT_EQ(fit.rate, -watched.measure("damping_rate"));
  EXPECT_EQ(fit.frequency, watched.measure("frequency"));
  EXPECT_NEAR(fit.from, 4, 1e-9);
  EXPECT_NEAR(fit.until, 18, 1e-9);
  watched.write(directory_);
  const RunLog log = RunLog::read(at("wave.csv"));
  const auto times = log.numbers("time"), line = log.numbers("fit");
  EXPECT_EQ(line[39], 0);  // before the window
  for (std::size_t i = 41; i <= 180; ++i)
    EXPECT_NEAR(std::log(line[i] / line[40]) / (times[i] - times[40]), fit.rate, 1e-9) << times[i];
  EXPECT_EQ(line[181], 0);
}

TEST_F(PlasmaDiagnosticsTest, AWaveThatGrowsByAFactorOfEIsALine) {
  PlasmaDiagnostics watched{options(), PlasmaUnits{}, {{1, 0, 0}, 4, 18}, {{1, {}, {}}}};
  std::vector<double> potential(static_cast<std::size_t>(options().cell_count()));
  for (int step = 0; step <= 250; ++step) {
    for (std::size_t i = 0; i < potential.size(); ++i)
      potential[i] = std::exp(0.02 * step) * std::sin(2 * std::numbers::pi * static_cast<double>(i % 32) / 32);
    watched.record(0.1 * step, potential);
  }
  const WaveFit fit = watched.wave_fit();
  EXPECT_EQ(fit.kind(), "line");
  EXPECT_NEAR(fit.rate, 0.2, 1e-9);
  EXPECT_NEAR(fit.error, 0, 1e-9);
  EXPECT_EQ(watched.measure("growth_rate"), fit.rate);
  EXPECT_EQ(watched.measure("damping_rate"), -fit.rate);
}

/// A mode that is turned at random from step to step has no rate; a wave.csv without a fit has zeros there.
TEST_F(PlasmaDiagnosticsTest, NoiseHasNoClearWave) {
  auto watched = diagnostics();
  std::vector<double> potential(static_cast<std::size_t>(options().cell_count()));
  for (int step = 0; step <= 250; ++step) {
    const double turn = 2 * std::numbers::pi * Philox(1, 0, static_cast<std::uint64_t>(step)).uniform();
    for (std::size_t i = 0; i < potential.size(); ++i)
      potential[i] = std::cos(2 * std::numbers::pi * static_cast<double>(i % 32) / 32 + turn);
    watched.record(0.1 * step, potential);
  }
  const WaveFit fit = watched.wave_fit();
  EXPECT_EQ(fit.kind(), "none");
  EXPECT_TRUE(std::isnan(fit.rate));
  EXPECT_TRUE(std::isnan(watched.measure("growth_rate")));
  EXPECT_TRUE(std::isfinite(watched.measure("frequency")));
  watched.write(directory_);
  for (const double line : RunLog::read(at("wave.csv")).numbers("fit")) EXPECT_EQ(line, 0);
}

TEST_F(PlasmaDiagnosticsTest, AWaveThatNobodyAskedForIsNotFitted) {
  PlasmaDiagnostics watched{options(), PlasmaUnits{}, PlasmaWave{}, {{1, {}, {}}}};
  const auto system = oscillating_plasma();
  for (int step = 0; step < 20; ++step) {
    watched.record(system->time(), system->field(PlasmaFieldPart::potential));
    system->advance(1, dt);
  }
  watched.write(directory_);
  EXPECT_TRUE(std::filesystem::exists(at("spectrum.csv")));
  EXPECT_FALSE(std::filesystem::exists(at("wave.csv")));
}

TEST_F(PlasmaDiagnosticsTest, NothingIsWrittenWhereNothingWasRecorded) {
  diagnostics().write(directory_);
  EXPECT_EQ(files_in_directory(), 0u);
  EXPECT_TRUE(std::isnan(diagnostics().measure("frequency")));
  EXPECT_TRUE(std::isnan(diagnostics().measure("field_energy")));
}

}  // namespace

}  // namespace pergola

#include "analysis/wave_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "analysis/mode_recorder.hpp"
#include "base/philox.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

using Complex = std::complex<double>;

WaveSeries sampled(double end, double spacing, const std::function<Complex(double)>& value) {
  WaveSeries series;
  for (int i = 0; i * spacing <= end; ++i) {
    series.times.push_back(i * spacing);
    series.values.push_back(value(i * spacing));
  }
  return series;
}

/// Uniform numbers of mean 0, the same in every run.
double noise(int i) {
  return static_cast<double>(static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15u >> 11) / 9007199254740992.0 - 0.5;
}

/// What a plasma without a wave has in a mode: oscillations in both directions, damped, and kicked at random.
WaveSeries fluctuations(double end, std::uint64_t seed) {
  constexpr double spacing = 0.1, damping = 0.08, frequency = 1.2;
  const double left = std::exp(-damping * spacing);
  Complex forward = 0, backward = 0;
  std::uint64_t step = 0;
  const auto kick = [&](Complex& swing) {
    Philox random(seed, 0, ++step);
    const double x = random.uniform() - 0.5, y = random.uniform() - 0.5;
    swing = left * swing + Complex{x, y};
  };
  for (int i = 0; i < 1000; ++i) kick(forward), kick(backward);
  return sampled(end, spacing, [&](double t) {
    kick(forward), kick(backward);
    return forward * std::polar(1.0, -frequency * t) + backward * std::polar(1.0, frequency * t);
  });
}

TEST(WaveFit, DampedStandingWaveIsFoundExactly) {
  // Landau's wave at k λ_D = 0.5.
  const auto series = sampled(20, 0.1, [](double t) {
    return Complex{0.6, -0.2} * std::exp(-0.1533 * t) * std::cos(1.4156 * t + 0.3);
  });
  const OscillationFit fit = fit_oscillation(series);
  EXPECT_NEAR(fit.frequency, 1.4156, 1e-6);
  EXPECT_NEAR(fit.growth_rate, -0.1533, 1e-6);
  EXPECT_NEAR(fit.amplitude, std::hypot(0.6, 0.2), 1e-5);
  EXPECT_LT(fit.residual, 1e-5);
  EXPECT_LT(fit.error, 1e-6);
  EXPECT_TRUE(is_clear(fit, 20));
}

TEST(WaveFit, NoiseOfConstantStrengthDoesNotShiftTheFit) {
  int i = 0;
  const auto series = sampled(25, 0.05, [&](double t) {
    const double x = noise(++i), y = noise(++i);
    return std::exp(-0.1533 * t) * std::cos(1.4156 * t) + Complex{0.05 * x, 0.05 * y};
  });
  const OscillationFit fit = fit_oscillation(series);
  EXPECT_NEAR(fit.frequency, 1.4156, 0.01);
  EXPECT_NEAR(fit.growth_rate, -0.1533, 0.004);
  EXPECT_NEAR(fit.growth_rate, -0.1533, 4 * fit.error);
  EXPECT_TRUE(is_clear(fit, 25));
}

TEST(WaveFit, FluctuationsHaveNoClearWave) {
  int lines = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const WaveSeries series = fluctuations(100, seed);
    lines += is_clear(find_growth(series, 2 * std::numbers::pi));
    EXPECT_FALSE(is_clear(fit_oscillation(series), 100)) << seed;
  }
  EXPECT_EQ(lines, 0);
  EXPECT_FALSE(is_clear(OscillationFit{0, 0, 0, std::nan(""), std::nan("")}, 1));
  EXPECT_FALSE(is_clear(find_growth({})));
}

TEST(WaveFit, AnUndampedWaveHasTheRateZero) {
  const auto series = sampled(40, 0.1, [](double t) { return Complex{std::cos(t), 0}; });
  const OscillationFit fit = fit_oscillation(series);
  EXPECT_NEAR(fit.growth_rate, 0, 1e-6);
  EXPECT_TRUE(is_clear(fit, 40));
}

TEST(WaveFit, TravellingAndGrowingWavesAreFound) {
  const auto travelling = sampled(30, 0.1, [](double t) { return std::polar(std::exp(0.2 * t), -0.9 * t); });
  const OscillationFit fit = fit_oscillation(travelling);
  EXPECT_NEAR(fit.frequency, 0.9, 1e-6);
  EXPECT_NEAR(fit.growth_rate, 0.2, 1e-6);
  EXPECT_NEAR(fit_growth(travelling).rate, 0.2, 1e-12);
  EXPECT_NEAR(fit_growth(travelling).amplitude, 1, 1e-10);
  const auto growing = sampled(30, 0.1, [](double t) { return Complex{0, 1e-6 * std::exp(0.35 * t)}; });
  EXPECT_NEAR(fit_growth(growing).rate, 0.35, 1e-12);
}

TEST(WaveFit, StrongerStaticFieldDoesNotHideAnOscillation) {
  const auto series = sampled(100, 0.1, [](double t) { return Complex{5 + 0.5 * std::cos(0.98 * t), 1}; });
  EXPECT_NEAR(fit_oscillation(series).frequency, 0.98, 1e-5);
  EXPECT_NEAR(fit_oscillation(series).growth_rate, 0, 1e-6);
  EXPECT_NEAR(peak_frequency(frequency_spectrum(series)), 0.98, 5e-3);
}

TEST(WaveFit, TheWindowOfGrowthIsFound) {
  // Noise and waves that die away, then growth by a factor of 3000, then saturation with a bounce.
  constexpr double rate = 0.35;
  const auto series = sampled(60, 0.1, [](double t) {
    const double grown = 1e-4 * std::exp(rate * t), held = grown / (1 + grown);
    const double early = 3e-4 * std::exp(-0.4 * t) * std::cos(1.3 * t) + 2e-5 * noise(static_cast<int>(10 * t));
    return Complex{held * (t > 30 ? 1 - 0.3 * std::sin(0.5 * (t - 30)) : 1.0) + early, 0};
  });
  const GrowthWindow found = find_growth(series);
  EXPECT_NEAR(found.rate, rate, 0.02 * rate);
  EXPECT_NEAR(found.rate, rate, 4 * found.error);
  EXPECT_LT(found.error, 0.05 * rate);
  EXPECT_GT(found.from, 3);
  EXPECT_LT(found.until, 27);
  EXPECT_GT(found.until - found.from, 8);
  EXPECT_TRUE(is_clear(found));
}

// Reference: by hand: a quarter of a swing, from 0.1 to 1.5 of the angle, rises by a factor of ten.
TEST(WaveFit, ASwingIsNoGrowth) {
  const auto swing = sampled(1.5, 0.01, [](double t) { return Complex{std::sin(t + 0.1), 0}; });
  EXPECT_GT(find_growth(swing).rate, 1);
  EXPECT_TRUE(std::isnan(find_growth(swing, 2 * std::numbers::pi).rate));
  EXPECT_FALSE(is_clear(growth_of(swing)));
}

TEST(WaveFit, WhatDoesNotGrowHasNoWindowOfGrowth) {
  EXPECT_TRUE(std::isnan(find_growth(sampled(20, 0.1, [](double t) { return Complex{std::exp(-0.1 * t), 0}; })).rate));
  EXPECT_TRUE(std::isnan(find_growth(sampled(20, 0.1, [](double) { return Complex{0, 0}; })).rate));
  EXPECT_TRUE(std::isnan(find_growth({}).rate));
  EXPECT_TRUE(std::isnan(growth_of({}).rate));
}

TEST(WaveFit, NothingToFitIsNotANumber) {
  EXPECT_TRUE(std::isnan(fit_oscillation({}).frequency));
  EXPECT_TRUE(std::isnan(fit_growth({}).rate));
  EXPECT_TRUE(std::isnan(fit_oscillation(sampled(10, 0.1, [](double) { return Complex{}; })).frequency));
}

TEST(WaveSpectrum, PeakStandsAtTheFrequencyAndHasTheSquareOfTheAmplitude) {
  // A frequency between two of the spectrum's, in either direction of travel.
  for (const double sign : {1.0, -1.0}) {
    const auto series = sampled(200, 0.2, [&](double t) { return std::polar(3.0, sign * 1.27 * t); });
    const FrequencySpectrum spectrum = frequency_spectrum(series);
    EXPECT_NEAR(spectrum.frequencies.back(), 3.14159 / 0.2, 0.02);
    EXPECT_NEAR(peak_frequency(spectrum), 1.27, 2e-3);
    // Hann: at most 1.42 dB of loss between two frequencies.
    const double peak = *std::max_element(spectrum.power.begin(), spectrum.power.end());
    EXPECT_LE(peak, 9.001);
    EXPECT_GE(peak, 9 * 0.72);
  }
}

TEST(WaveSpectrum, AnOddLastSampleIsLeftOut) {
  auto series = sampled(50, 0.25, [](double t) { return Complex{std::cos(2 * t), 0}; });
  const auto before = frequency_spectrum(series).power;
  series.times.push_back(50.1);
  series.values.emplace_back(7, 0);
  EXPECT_EQ(frequency_spectrum(series).power, before);
}

class Modes : public testing::Test {
 protected:
  static constexpr std::array<int, 3> cells{12, 8, 6};
  /// 5 + 2 cos(2π 3x/12 + 0.4) + 0.5 sin(2π y/8) + cos(2π (x + 2y − z)) at the grid points.
  static std::vector<double> field() {
    std::vector<double> values;
    const double turn = 2 * std::numbers::pi;
    for (int z = 0; z < cells[2]; ++z)
      for (int y = 0; y < cells[1]; ++y)
        for (int x = 0; x < cells[0]; ++x)
          values.push_back(5 + 2 * std::cos(turn * 3 * x / 12 + 0.4) + 0.5 * std::sin(turn * y / 8) +
                           std::cos(turn * (x / 12.0 + 2 * y / 8.0 - z / 6.0)));
    return values;
  }
};

TEST_F(Modes, AreTheFieldsFourierCoefficients) {
  ModeRecorder recorder(3, cells, {1, 2, -1});
  recorder.record(0.5, field());
  EXPECT_EQ(recorder.modes(0), 6);
  EXPECT_LT(std::abs(recorder.series(0, 3)[0] - std::polar(1.0, 0.4)), 1e-14);
  EXPECT_LT(std::abs(recorder.series(0, 2)[0]), 1e-14);
  EXPECT_LT(std::abs(recorder.series(1, 1)[0] - Complex(0, -0.25)), 1e-14);
  EXPECT_LT(std::abs(recorder.series(2, 1)[0]), 1e-14);
  EXPECT_LT(std::abs(recorder.wave()[0] - 0.5), 1e-14);
}

TEST_F(Modes, ComeBackFromACheckpointBitForBit) {
  ModeRecorder recorder(3, cells, {1, 2, -1}), other(3, cells, {1, 2, -1});
  recorder.record(0.5, field());
  recorder.record(0.75, std::vector<double>(576, 1.0));
  StateBlocks blocks;
  recorder.save(blocks, "modes/");
  other.restore(blocks, "modes/");
  EXPECT_EQ(other.times(), recorder.times());
  EXPECT_EQ(other.wave(), recorder.wave());
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(other.series(axis, 2), recorder.series(axis, 2));
}

}  // namespace
}  // namespace pergola

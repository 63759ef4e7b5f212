#pragma once
#include <complex>
#include <vector>

#include "base/host_device.hpp"

// Fits of waves of a plasma: frequency and damping of an oscillation, the rate of exponential growth and the window in
// which it holds, and power by frequency. The report card compares them with linear theory.
// What always holds: times need not be evenly spaced for fits; a spectrum uses the evenly spaced start of a series. A
// fit that is not possible returns NaN.
namespace pergola {

/// The amplitude of a wave through time.
struct WaveSeries {
  std::vector<double> times;
  std::vector<std::complex<double>> values;
};

/// exp(γ t) (a cos ωt + b sin ωt) + c with complex a, b and c: a standing or a travelling wave, plus a constant.
struct OscillationFit {
  double frequency = 0;    // ω
  double growth_rate = 0;  // γ; negative: damped
  double amplitude = 0;    // of the envelope at t = 0
  double residual = 0;     // rms of what is left over rms of the series
  double error = 0;        // standard error of the growth rate: jackknife over quarters of the series (Tukey 1958)
};

/// The least-squares fit of one oscillation. a, b and c follow linearly; γ and ω are searched from the highest peak of
/// the spectrum (variable projection, Golub & Pereyra 1973). Noise of constant strength does not shift the result. NaN
/// for fewer than eight samples, or if all are zero.
PERGOLA_API OscillationFit fit_oscillation(const WaveSeries& series);

/// Slope, and value at t = 0, of the straight line through log |value|, all samples with equal weight: the growth rate
/// of a wave that does not oscillate.
struct GrowthFit {
  double rate = 0, amplitude = 0;
  double deviation = 0;  // rms distance of log |value| from the line
};
PERGOLA_API GrowthFit fit_growth(const WaveSeries& series);

/// The range of times in which a wave grows, and its rate.
struct GrowthWindow {
  double rate = 0, amplitude = 0;  // as in GrowthFit; NaN: nothing grows
  double error = 0;                // standard error of the rate, from the rates of the window's quarters
  double from = 0, until = 0;      // times
  double deviation = 0;            // as in GrowthFit
};
/// Among windows that end before half of the largest amplitude and are not shorter than `shortest`: the one with the
/// best ratio of growth in log |value| to the deviation from a straight line. The wave must grow at least by a factor
/// of e. Within less than a period of an oscillation its swing looks like growth.
PERGOLA_API GrowthWindow find_growth(const WaveSeries& series, double shortest = 0);
/// The whole series as the window.
PERGOLA_API GrowthWindow growth_of(const WaveSeries& series);

/// Whether a wave grows, and not its noise: by a factor of e or more, and in log |value| by ten times the deviation
/// from the line. The best window of a period or more that is found in fluctuations has 2 to 7 times, seldom 10.
PERGOLA_API bool is_clear(const GrowthWindow& window);
/// Whether the rate of one oscillation is known, over a series of this length in time: the wave holds at least nine
/// tenths of the power, and the growth over the series, in log |value|, has an error of at most 0.5, or of a fifth of
/// itself.
PERGOLA_API bool is_clear(const OscillationFit& fit, double length);

/// Power by frequency of evenly spaced samples, with a Hann window. Waves of both directions are added; a wave of
/// amplitude A has a peak of A². Samples after a change of the spacing are left out.
struct FrequencySpectrum {
  std::vector<double> frequencies;  // from 0 to π/spacing
  std::vector<double> power;
};
PERGOLA_API FrequencySpectrum frequency_spectrum(const WaveSeries& series);

/// The frequency of the highest peak that is not part of the slope from frequency 0, by a parabola through the
/// logarithms of three neighbours. 0 without a peak.
PERGOLA_API double peak_frequency(const FrequencySpectrum& spectrum);

}  // namespace pergola

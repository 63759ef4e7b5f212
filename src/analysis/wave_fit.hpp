#pragma once
#include <complex>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// The amplitude of a wave through time.
struct WaveSeries {
  std::vector<double> times;
  std::vector<std::complex<double>> values;
};

/// exp(γ t) (a cos ωt + b sin ωt) + c with complex a, b and c: a standing or a travelling wave, and what stays.
struct OscillationFit {
  double frequency = 0;    // ω
  double growth_rate = 0;  // γ; negative: damped
  double amplitude = 0;    // of the envelope at t = 0
  double residual = 0;     // rms of what is left over rms of the series
};

/// The least-squares fit of one oscillation: a, b and c are solved for, γ and ω searched from the highest peak of the
/// spectrum (variable projection, Golub & Pereyra 1973). Noise of constant strength does not shift it. NaN for fewer
/// than eight samples or a series of zeros.
PERGOLA_API OscillationFit fit_oscillation(const WaveSeries& series);

/// The slope and the value at t = 0 of the straight line through log |value|, every sample with the same weight: the
/// rate at which a wave grows that does not stand and oscillate.
struct GrowthFit {
  double rate = 0, amplitude = 0;
};
PERGOLA_API GrowthFit fit_growth(const WaveSeries& series);

/// The stretch of a series in which a wave grows, and how fast.
struct GrowthWindow {
  double rate = 0, amplitude = 0;  // as in GrowthFit; NaN: nothing grows
  double error = 0;                // standard error of the rate, from the rates of the window's quarters
  double from = 0, until = 0;      // times
};
/// Of all windows that end before the wave has half of its greatest amplitude, the one whose logarithm grows most for
/// how far it is from a straight line; at least by a factor of e.
PERGOLA_API GrowthWindow find_growth(const WaveSeries& series);
/// The whole series as the window.
PERGOLA_API GrowthWindow growth_of(const WaveSeries& series);

/// Power of evenly spaced samples by frequency, with a Hann window; waves that travel either way are added, and a wave
/// of amplitude A has a peak of A². Samples after a change of the spacing are left out.
struct FrequencySpectrum {
  std::vector<double> frequencies;  // from 0 to π/spacing
  std::vector<double> power;
};
PERGOLA_API FrequencySpectrum frequency_spectrum(const WaveSeries& series);

/// The frequency of the highest peak that is not part of the slope from frequency 0, by the parabola through the
/// logarithms of three neighbours; 0 for none.
PERGOLA_API double peak_frequency(const FrequencySpectrum& spectrum);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/mass_function.hpp"
#include "analysis/power_spectrum.hpp"
#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// A measured power spectrum over an expected one: the mean over shells up to k_high, each weighted with its error of a
/// Gaussian field and a hundredth that no shell is trusted beyond. Nothing is taken off for the number of particles:
/// what was a lattice or a glass has no such noise in its large waves.
struct PowerRatio {
  double mean = 0, error = 0;
  double k_high = 0;  // of the last shell
  int shells = 0;     // 0: none was in the range
};
/// `k_low` ≤ k ≤ `k_high`; `fixed`: waves have their rms amplitudes, and shells no error from their number.
PERGOLA_API PowerRatio power_ratio(const PowerSpectrum& spectrum, const std::function<double(double k)>& expected,
                                   double k_low, double k_high, bool fixed);

/// The power spectrum that a run began with; a scale factor of 0: it was not measured.
struct StartingPower {
  double scale_factor = 0;
  PowerSpectrum spectrum;
};

/// The largest waves at the end over those of the start grown by linear theory, D: Σ N P_end/(D² Σ N P_start) over the
/// lowest shells of N waves. What the few large waves of a box happen to be falls out of it.
struct GrownPower {
  double ratio = 0;
  double tolerance = 0;            // a hundredth; the weak pull; the next order; three scatters of coupling; the noise
  int shells = 0;                  // 0: not even the first is linear at the end and trusted
  double first_power_per_log = 0;  // of the first shell at the end, by linear theory
};
/// Shells are taken up to `k_trusted`, where the pull of waves is 1 % too weak, and up to linear_power_per_log: as many
/// of them as make the tolerance least. `noise`: white power of the start that may not grow as waves do. Both spectra
/// are of one box with the same cells.
PERGOLA_API GrownPower grown_power(const PowerSpectrum& start, const PowerSpectrum& end, double growth,
                                   double k_trusted, double noise);
/// What of a power spectrum may be white: at most the noise of points at random, and no more than its smallest shell.
PERGOLA_API double most_white_noise(const PowerSpectrum& spectrum);

/// Halos of a range of masses, found and expected.
struct HaloCount {
  double particles = 0;  // from so many on
  double low = 0, high = 0;
  double found = 0, expected = 0;

  /// Three Poisson errors of what is expected, and a fifth of it: what friends of friends, the fit and the waves that
  /// the box lacks may make of it.
  double tolerance() const;
};
/// Halos by M200m, spheres of 200 mean densities about the deepest places of groups of friends, in ranges of half a
/// decade from `least` particles on; the last one without an end. Ranges in which fewer than ten are expected are left
/// out. `box`: periodic, with its mean mass of a particle. `begins` is called, on rank 0, before each part that takes a
/// while. Where each rank has a part of the particles all call it together and get the same.
PERGOLA_API std::vector<HaloCount> halo_counts(AnalysisSnapshot box, const ExpectedHalos& theory, double least,
                                               const Device& device,
                                               const std::function<void(const std::string& part)>& begins = nullptr,
                                               const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola

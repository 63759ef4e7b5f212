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

// The structure of a universe at the end of a run, compared with theory: the power of its large waves, the growth of
// its own initial waves, and the number of its halos. The report card of a cosmological run has a line for each. Each
// comparison states its tolerance.
// What always holds: results depend only on the arguments; halo_counts() is collective and gives all
// ranks the same counts.
namespace pergola {

/// Measured over expected power: the mean over shells up to k_high. A shell is weighted with its error as a Gaussian
/// field, and at least 1 %. Shot noise is not subtracted: particles that began on a lattice or a glass have none in
/// large waves.
struct PowerRatio {
  double mean = 0, error = 0;
  double k_high = 0;  // of the last shell
  int shells = 0;     // 0: none was in the range
};
/// `k_low` ≤ k ≤ `k_high`. `fixed`: waves have their rms amplitudes, so that a shell has no error from its number of
/// waves.
PERGOLA_API PowerRatio power_ratio(const PowerSpectrum& spectrum, const std::function<double(double k)>& expected,
                                   double k_low, double k_high, bool fixed);

/// The power spectrum at the start of a run. Scale factor 0: not measured.
struct StartingPower {
  double scale_factor = 0;
  PowerSpectrum spectrum;
};

/// Power of the largest waves at the end over that at the start, grown by linear theory, D: Σ N P_end/(D² Σ N P_start)
/// over the lowest shells of N waves. The random amplitudes of the few large waves cancel.
struct GrownPower {
  double ratio = 0;
  double tolerance = 0;            // a hundredth; the weak pull; the next order; three scatters of coupling; the noise
  int shells = 0;                  // 0: not even the first is linear at the end and trusted
  double first_power_per_log = 0;  // of the first shell at the end, by linear theory
};
/// Takes shells up to `k_trusted`, where the pull of waves is 1 % too weak, and up to linear_power_per_log; as many of
/// them as give the smallest tolerance. `noise`: white power at the start, which may not grow as waves do. Both spectra
/// belong to one box and have the same cells.
PERGOLA_API GrownPower grown_power(const PowerSpectrum& start, const PowerSpectrum& end, double growth,
                                   double k_trusted, double noise);
/// The largest part of a power spectrum that may be white: the shot noise, at most the power of its lowest shell.
PERGOLA_API double most_white_noise(const PowerSpectrum& spectrum);

/// Found and expected halos in a range of masses.
struct HaloCount {
  double particles = 0;  // the range begins at this number of particles
  double low = 0, high = 0;
  double found = 0, expected = 0;

  /// Three Poisson errors of the expected number, plus a fifth of it for friends of friends, the fit, and waves that
  /// the box does not hold.
  double tolerance() const;
};
/// Counts halos by M200m about groups of friends, in ranges of half a decade from `least` particles on; the last range
/// has no upper end. Ranges with fewer than ten expected halos are left out. `box`: periodic. `begins` is called on
/// rank 0 before each slow part. Collective; all ranks get the same.
PERGOLA_API std::vector<HaloCount> halo_counts(AnalysisSnapshot box, const ExpectedHalos& theory, double least,
                                               const Device& device,
                                               const std::function<void(const std::string& part)>& begins = nullptr,
                                               const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola

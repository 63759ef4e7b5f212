#pragma once
#include <cmath>
#include <complex>
#include <numbers>

namespace pergola::physics {

/// The power of discrete points that are placed at random, V Σm²/(Σm)². Peebles 1980, "The large-scale structure of the
/// universe", section 41.
inline double shot_noise(double volume, double mass_sum, double mass2_sum) {
  return volume * mass2_sum / (mass_sum * mass_sum);
}

/// The error of a power that is the mean over so many modes of a Gaussian field, of which k and −k are one:
/// P √(2/modes). Feldman, Kaiser & Peacock 1994, ApJ 426, 23.
inline double power_error(double power, double modes) { return power * std::sqrt(2 / modes); }

/// Power per logarithm of the wave number, k³ P/(2π²).
inline double power_per_log(double k, double power) {
  return k * k * k * power / (2 * std::numbers::pi * std::numbers::pi);
}

/// One mode from two meshes that are half a cell apart along every axis: the images that fold into it with an odd sum
/// of steps cancel. `transform` and `mirror` are those of first + i second at k and −k; `cells` is the sum of the
/// mode's three whole wave numbers over the cells of an axis. Sefusatti et al. 2016, MNRAS 460, 3624, section 3.2.
inline std::complex<double> interlaced_mode(std::complex<double> transform, std::complex<double> mirror, double cells) {
  const std::complex<double> first = 0.5 * (transform + std::conj(mirror));
  const std::complex<double> second = std::complex<double>(0, -0.5) * (transform - std::conj(mirror));
  return 0.5 * (first + std::polar(1.0, std::numbers::pi * cells) * second);
}

}  // namespace pergola::physics

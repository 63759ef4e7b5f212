#pragma once
#include <cmath>
#include <numbers>

#include "base/host_device.hpp"

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

/// A quantum (physics/mesh_weights.hpp) for equal masses of which a mesh counts a millionth: each has at most 2²⁰
/// quanta. What is rounded is then 10⁻¹¹ of the shot noise.
inline double equal_mass_quantum(double mass) { return std::exp2(std::ceil(std::log2(mass * 0x1p-20))); }

/// |δ|² of one mode from two meshes that are half a cell apart along every axis: the images that fold into it with an
/// odd sum of steps cancel. (re, im) and (mirror_re, mirror_im) are the transforms of first + i second at k and −k;
/// `cells` is the sum of the mode's three whole wave numbers over the cells of an axis. Sefusatti et al. 2016, MNRAS
/// 460, 3624, section 3.2.
PERGOLA_HD double interlaced_power(double re, double im, double mirror_re, double mirror_im, double cells) {
  constexpr double pi = 3.14159265358979323846;
  const double first_re = 0.5 * (re + mirror_re), first_im = 0.5 * (im - mirror_im);
  const double second_re = 0.5 * (im + mirror_im), second_im = 0.5 * (mirror_re - re);
  const double c = std::cos(pi * cells), s = std::sin(pi * cells);
  const double mode_re = 0.5 * (first_re + c * second_re - s * second_im);
  const double mode_im = 0.5 * (first_im + c * second_im + s * second_re);
  return mode_re * mode_re + mode_im * mode_im;
}

}  // namespace pergola::physics

#pragma once
/// Power spectra: the linear one of a universe (Eisenstein & Hu's transfer function, normalised to sigma8), and the
/// noise, errors and interlacing of a measured one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "base/host_device.hpp"
#include "physics/cosmology.hpp"
#include "physics/numerics.hpp"

namespace pergola::physics {

/// The Fourier transform of a sphere of unit volume, 3 (sin x − x cos x)/x³, with x = k R.
inline double sphere_window(double x) {
  return x < 1e-2 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

/// P(k) = A kⁿ T(k)² today, in (Mpc/h)³ over h/Mpc. A gives the rms density contrast sigma8 in spheres of 8 Mpc/h.
class LinearPower {
 public:
  LinearPower(std::function<double(double)> transfer, double n_s, double sigma8, double k_min = 1e-5,
              double k_max = 1e3)
      : transfer_(std::move(transfer)), n_s_(n_s), k_min_(k_min), k_max_(k_max) {
    const double unscaled = sigma(8);
    amplitude_ = sigma8 * sigma8 / (unscaled * unscaled);
  }

  double operator()(double k) const {
    const double t = transfer_(k);
    return amplitude_ * std::pow(k, n_s_) * t * t;
  }

  /// Whether the transfer function is known there.
  bool knows(double k) const { return k_min_ <= k && k <= k_max_; }

  /// The rms density contrast in spheres of radius R Mpc/h: σ² = 1/(2π²) ∫ P W² k³ d ln k. Peebles 1980, section 26.
  double sigma(double radius) const {
    const double last = std::min(std::log(k_max_), std::log(100 / radius)), first = std::log(k_min_);
    const int pieces = 64;
    double sum = 0;
    for (int piece = 0; piece < pieces; ++piece)
      sum += gauss_legendre(
          [&](double log_k) {
            const double k = std::exp(log_k), w = sphere_window(k * radius);
            return (*this)(k)*w * w * k * k * k;
          },
          first + (last - first) * piece / pieces, first + (last - first) * (piece + 1) / pieces);
    return std::sqrt(sum / (2 * std::numbers::pi * std::numbers::pi));
  }

 private:
  std::function<double(double)> transfer_;
  double n_s_, k_min_, k_max_, amplitude_ = 1;
};

/// The transfer function of cold dark matter with baryons as a fit, good to a few per cent. Eisenstein & Hu 1998,
/// ApJ 496, 605 (equations of that paper). Wave numbers in h/Mpc.
class EisensteinHu {
 public:
  EisensteinHu(double omega_matter, double omega_baryon, double h, double cmb_kelvin = 2.7255)
      : h_(h),
        matter_(omega_matter * h * h),
        baryon_(omega_baryon * h * h),
        part_(omega_baryon / omega_matter),
        theta2_(cmb_kelvin / 2.7 * cmb_kelvin / 2.7) {
    fit_smooth();
    if (baryon_ > 0) fit_waves();
  }

  /// With the waves of the baryons (eq. 16); without baryons the smooth one.
  double transfer(double k) const {
    if (!(baryon_ > 0) || !(k > 0)) return smooth(k);
    const double k_mpc = k * h_, q = k_mpc / (13.41 * k_equality_), x = k_mpc * horizon_;  // eq. 10
    const double f = 1 / (1 + std::pow(x / 5.4, 4));                                       // eq. 18
    const double dark = f * fall(q, 1, beta_c_) + (1 - f) * fall(q, alpha_c_, beta_c_);    // eq. 17
    const double x_node = x / std::cbrt(1 + std::pow(beta_node_ / x, 3));                  // eq. 22
    const double damped = alpha_b_ / (1 + std::pow(beta_b_ / x, 3)) * std::exp(-std::pow(k_mpc / k_silk_, 1.4));
    const double baryons = std::sin(x_node) / x_node * (fall(q, 1, 1) / (1 + x * x / (5.2 * 5.2)) + damped);  // eq. 21
    return part_ * baryons + (1 - part_) * dark;
  }

  /// The shape without waves (eqs. 26 and 28 to 31).
  double smooth(double k) const {
    if (!(k > 0)) return 1;
    const double ks = 0.43 * k * h_ * smooth_horizon_;
    const double gamma = matter_ / h_ * (alpha_gamma_ + (1 - alpha_gamma_) / (1 + ks * ks * ks * ks));  // eq. 30
    const double q = k * theta2_ / gamma;                                                               // eq. 28
    const double l = std::log(2 * std::numbers::e + 1.8 * q), c = 14.2 + 731 / (1 + 62.5 * q);          // eq. 29
    return l / (l + c * q * q);
  }

  /// Of the drag epoch, in Mpc (eq. 6), and its own fit (eq. 26).
  double sound_horizon() const { return horizon_; }
  double smooth_sound_horizon() const { return smooth_horizon_; }

 private:
  /// T̃₀ (eqs. 19 and 20).
  static double fall(double q, double alpha, double beta) {
    const double c = 14.2 / alpha + 386 / (1 + 69.9 * std::pow(q, 1.08));
    const double l = std::log(std::numbers::e + 1.8 * beta * q);
    return l / (l + c * q * q);
  }

  void fit_smooth() {
    smooth_horizon_ = 44.5 * std::log(9.83 / matter_) / std::sqrt(1 + 10 * std::pow(baryon_, 0.75));  // eq. 26
    alpha_gamma_ =
        1 - 0.328 * std::log(431 * matter_) * part_ + 0.38 * std::log(22.3 * matter_) * part_ * part_;  // eq. 31
  }

  void fit_waves() {
    const double m = matter_, b = baryon_, theta4 = theta2_ * theta2_;
    const double z_equality = 2.5e4 * m / theta4;                                      // eq. 2
    k_equality_ = 0.0746 * m / theta2_;                                                // eq. 3
    const double b1 = 0.313 * std::pow(m, -0.419) * (1 + 0.607 * std::pow(m, 0.674));  // eq. 4
    const double b2 = 0.238 * std::pow(m, 0.223);
    const double z_drag = 1291 * std::pow(m, 0.251) / (1 + 0.659 * std::pow(m, 0.828)) * (1 + b1 * std::pow(b, b2));
    const double r_drag = 31.5 * b / theta4 * 1000 / (1 + z_drag), r_equality = 31.5 * b / theta4 * 1000 / z_equality;
    horizon_ = 2 / (3 * k_equality_) * std::sqrt(6 / r_equality) *
               std::log((std::sqrt(1 + r_drag) + std::sqrt(r_drag + r_equality)) / (1 + std::sqrt(r_equality)));
    k_silk_ = 1.6 * std::pow(b, 0.52) * std::pow(m, 0.73) * (1 + std::pow(10.4 * m, -0.95));  // eq. 7
    const double a1 = std::pow(46.9 * m, 0.670) * (1 + std::pow(32.1 * m, -0.532));           // eq. 11
    const double a2 = std::pow(12.0 * m, 0.424) * (1 + std::pow(45.0 * m, -0.582));
    alpha_c_ = std::pow(a1, -part_) * std::pow(a2, -part_ * part_ * part_);
    const double c1 = 0.944 / (1 + std::pow(458 * m, -0.708)), c2 = std::pow(0.395 * m, -0.0266);  // eq. 12
    beta_c_ = 1 / (1 + c1 * (std::pow(1 - part_, c2) - 1));
    const double y = z_equality / (1 + z_drag), root = std::sqrt(1 + y);
    const double g = y * (-6 * root + (2 + 3 * y) * std::log((root + 1) / (root - 1)));  // eq. 15
    alpha_b_ = 2.07 * k_equality_ * horizon_ * std::pow(1 + r_drag, -0.75) * g;          // eq. 14
    beta_b_ = 0.5 + part_ + (3 - 2 * part_) * std::sqrt(17.2 * m * 17.2 * m + 1);        // eq. 24
    beta_node_ = 8.41 * std::pow(m, 0.435);                                              // eq. 23
  }

  double h_, matter_, baryon_, part_, theta2_;
  double smooth_horizon_ = 0, alpha_gamma_ = 1;
  double horizon_ = 0, k_equality_ = 0, k_silk_ = 0, alpha_c_ = 1, beta_c_ = 1, alpha_b_ = 0, beta_b_ = 0;
  double beta_node_ = 0;
};

/// The linear power spectrum with this transfer function.
inline LinearPower eisenstein_hu_power(const Cosmology& universe) {
  const EisensteinHu fit(universe.omega_matter, universe.omega_baryon, universe.h);
  return {[fit](double k) { return fit.transfer(k); }, universe.n_s, universe.sigma8};
}

/// The power of discrete points that are placed at random, V Σm²/(Σm)². Peebles 1980, "The large-scale structure of the
/// universe", section 41.
inline double shot_noise(double volume, double mass_sum, double mass2_sum) {
  return volume * mass2_sum / (mass_sum * mass_sum);
}

/// The error of the mean power of `modes` modes of a Gaussian field, where k and −k count as two: P √(2/modes).
/// Feldman, Kaiser & Peacock 1994, ApJ 426, 23.
inline double power_error(double power, double modes) { return power * std::sqrt(2 / modes); }

/// Power per logarithm of the wave number, k³ P/(2π²).
inline double power_per_log(double k, double power) {
  return k * k * k * power / (2 * std::numbers::pi * std::numbers::pi);
}

/// The fixed-point unit (physics/mesh_weights.hpp) of equal masses, a millionth: each has at most 2²⁰ units. The
/// rounding is then 10⁻¹¹ of the shot noise.
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

#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "physics/quadrature.hpp"

namespace pergola::physics {

/// The Fourier transform of a sphere of unit volume, 3 (sin x − x cos x)/x³, with x = k R.
inline double sphere_window(double x) {
  return x < 1e-2 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

/// P(k) = A kⁿ T(k)² today, in (Mpc/h)³ over h/Mpc, with A such that the rms density contrast in spheres of 8 Mpc/h is
/// sigma8.
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

}  // namespace pergola::physics

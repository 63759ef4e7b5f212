#pragma once
// The Gaussian waves of a box, one by one, for the CPU and the GPU.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/host_device.hpp"
#include "base/philox.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

/// How Gaussian waves are drawn: from the seed and the wave vector, so that a wave is the same at any resolution.
struct WaveDraw {
  std::uint64_t seed = 1;
  bool fixed = false;   // all amplitudes at their root mean square (Angulo & Pontzen 2016)
  bool paired = false;  // the opposite field (Pontzen et al. 2016)
};

/// A complex number that a kernel can hold.
struct DrawnWave {
  double real = 0, imaginary = 0;
};

/// A wave whose square has the mean `variance`, with that of −k its conjugate.
PERGOLA_HD DrawnWave drawn_wave(const WaveDraw& draw, int kx, int ky, int kz, double variance) {
  constexpr std::uint32_t wave_stream = 14;
  // One of each pair k, −k is drawn.
  const bool mirrored = kz != 0 ? kz < 0 : ky != 0 ? ky < 0 : kx < 0;
  const auto coded = [mirrored](int k) { return static_cast<std::uint64_t>((mirrored ? -k : k) + (1 << 20)); };
  Philox random(draw.seed, wave_stream, coded(kz) << 42 | coded(ky) << 21 | coded(kx));
  const double u = random.uniform(), phase = 2 * std::numbers::pi * random.uniform();
  const double size = std::sqrt(variance) * (draw.fixed ? 1 : std::sqrt(-std::log(u))) * (draw.paired ? -1 : 1);
  return {size * std::cos(phase), (mirrored ? -size : size) * std::sin(phase)};
}

/// √P over ln k, linear between multiples of one small step, so that a wave is the same at any resolution. Values are
/// those from number `first` on.
struct RootPowerView {
  static constexpr double step = 0x1p-12;
  const double* values = nullptr;
  std::int64_t first = 0;

  PERGOLA_HD double operator()(double k) const {
    const double at = std::log(k) / step, floor = std::floor(at);
    const auto i = static_cast<std::int64_t>(floor) - first;
    return values[i] + (at - floor) * (values[i + 1] - values[i]);
  }
};

/// The table of it for wave numbers from k_low to k_high.
class RootPower {
 public:
  RootPower(const physics::LinearPower& power, double k_low, double k_high)
      : first_(static_cast<std::int64_t>(std::floor(std::log(k_low) / RootPowerView::step)) - 1) {
    const auto last = static_cast<std::int64_t>(std::ceil(std::log(k_high) / RootPowerView::step)) + 1;
    for (std::int64_t i = first_; i <= last; ++i)
      values_.push_back(std::sqrt(power(std::exp(static_cast<double>(i) * RootPowerView::step))));
  }
  RootPowerView view() const { return {values_.data(), first_}; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::int64_t first_;
  std::vector<double> values_;
};

/// The waves of the density contrast of a periodic box: ⟨|δ|²⟩ = P/V for δ(x) = Σ δ_k exp(i k·x). k in waves per box.
struct DrawnWaves {
  WaveDraw draw;
  RootPowerView root;
  double unit = 1, volume = 1;  // of a wave number, of the box

  PERGOLA_HD DrawnWave operator()(int kx, int ky, int kz) const {
    const double amplitude = root(unit * std::sqrt(double(kx) * kx + double(ky) * ky + double(kz) * kz));
    return drawn_wave(draw, kx, ky, kz, amplitude * amplitude / volume);
  }
};

}  // namespace pergola

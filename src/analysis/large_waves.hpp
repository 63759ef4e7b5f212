#pragma once
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "device/exact_terms.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"

// The largest waves of a periodic box: their density contrasts, and their growth compared with linear theory. A
// cosmological run checks with them that its large scales grow as they must. Sums are exact, so that the bits do not
// depend on the number of threads or ranks.
// A run measures the waves at its start and at later lines of its log, as long as linear theory expects contrasts
// below `WaveWatch::linear_below`. The report card then compares the growth of each wave with the growth factor.
namespace pergola {

/// The 13 independent largest waves: (1 0 0), (1 1 0) and (1 1 1) with all signs, one of each pair k and −k.
inline constexpr std::size_t large_wave_count = 13;

/// What particle i adds to Σ m exp(−i k·x) of each wave, real and imaginary, and to Σ m.
struct WaveTerms {
  static constexpr int count = 2 * static_cast<int>(large_wave_count) + 1, mass_at = count - 1;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  double unit = 0;  // the wave number of the box

  struct Phase {
    double real, imaginary;
    PERGOLA_HD Phase operator*(const Phase& other) const {
      return {real * other.real - imaginary * other.imaginary, real * other.imaginary + imaginary * other.real};
    }
    PERGOLA_HD Phase operator~() const { return {real, -imaginary}; }
  };
  PERGOLA_HD static Phase phase(double angle) { return {std::cos(angle), -std::sin(angle)}; }

  PERGOLA_HD Terms<count> operator()(std::int64_t i) const {
    const Phase a = phase(unit * x[i]), b = phase(unit * y[i]), c = phase(unit * z[i]);
    const Phase sum = a * b, difference = a * ~b;
    const Phase waves[large_wave_count] = {a,     b,      c,       sum,      difference,     a * c,          a * ~c,
                                           b * c, b * ~c, sum * c, sum * ~c, difference * c, ~difference * c};
    Terms<count> terms;
    for (std::size_t k = 0; k < large_wave_count; ++k) {
      terms.value[2 * k] = mass[i] * waves[k].real;
      terms.value[2 * k + 1] = mass[i] * waves[k].imaginary;
    }
    terms.value[mass_at] = mass[i];
    return terms;
  }
};

using LargeWaves = std::array<std::complex<double>, large_wave_count>;

/// Density contrasts Σ m exp(−i k·x)/Σ m of the particles of all ranks, summed on their devices. Collective.
PERGOLA_API LargeWaves large_waves(const ShownParticles& here, double box_side,
                                   Communicator& ranks = *serial_communicator());

/// Growth of the waves δ₀ to δ₁ over linear theory, G. `mean` is the part r of G δ₀ in δ₁, weighted with the square of
/// each wave: Re Σ δ₁ δ₀*/(G Σ |δ₀|²). `scatter` is what remains: √(Σ |δ₁ − r G δ₀|²/Σ |r G δ₀|²).
struct LargeWaveGrowth {
  double mean = 0, scatter = 0;
  std::array<double, large_wave_count> ratio{};  // of single waves, |δ₁|/(G |δ₀|)
};
PERGOLA_API LargeWaveGrowth wave_growth(const LargeWaves& before, const LargeWaves& after, double linear_growth);

/// The waves of a run as long as they are linear: up to contrasts of 0.02 by linear theory.
struct WaveWatch {
  static constexpr double linear_below = 0.02;
  LargeWaves start{}, latest{};
  double start_scale_factor = 0, scale_factor = 0;  // of the two; the same: nothing was seen to grow

  double largest_at_start() const;
};

}  // namespace pergola

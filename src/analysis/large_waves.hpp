#pragma once
#include <array>
#include <complex>

#include "analysis/wave_terms.hpp"
#include "comm/communicator.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

using LargeWaves = std::array<std::complex<double>, large_wave_count>;

/// Their density contrasts, Σ m exp(−i k·x)/Σ m, summed where the particles are, in a fixed order on any number of
/// threads.
PERGOLA_API LargeWaves large_waves(const ShownParticles& particles, double box_side);

/// Of particles that ranks keep, each its share `own` of `total`. All ranks call it and get the same bits.
PERGOLA_API LargeWaves spread_large_waves(Communicator& ranks, std::int64_t total, const ShownParticles& own,
                                          double box_side);

/// How the waves δ₀ have become δ₁ over what linear theory says, G: the part r of G δ₀ in δ₁, each wave weighted with
/// its square, Re Σ δ₁ δ₀*/(G Σ |δ₀|²), and what is left, √(Σ |δ₁ − r G δ₀|²/Σ |r G δ₀|²).
struct LargeWaveGrowth {
  double mean = 0, scatter = 0;
  std::array<double, large_wave_count> ratio{};  // of single waves, |δ₁|/(G |δ₀|)
};
PERGOLA_API LargeWaveGrowth wave_growth(const LargeWaves& before, const LargeWaves& after, double linear_growth);

/// Watches the waves of a run while they are linear: up to contrasts of 0.02 by linear theory.
struct WaveWatch {
  static constexpr double linear_below = 0.02;
  LargeWaves start{}, latest{};
  double start_scale_factor = 0, scale_factor = 0;  // of the two; the same: nothing was seen to grow

  double largest_at_start() const;
};

}  // namespace pergola

#include "analysis/large_waves.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/gather.hpp"
#include "device/parallel.hpp"
#include "domain/chunk_shares.hpp"
#include "domain/shown_chunks.hpp"
#include "physics/green.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 16384;
constexpr int vectors[large_wave_count][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {1, 1, 0},  {1, -1, 0},
                                              {1, 0, 1},  {1, 0, -1}, {0, 1, 1}, {0, 1, -1}, {1, 1, 1},
                                              {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};

/// Σ m exp(−i k·x) and Σ m.
struct WaveSums {
  LargeWaves waves{};
  double mass = 0;

  void add(const WaveSums& other) {
    mass += other.mass;
    for (std::size_t k = 0; k < large_wave_count; ++k) waves[k] += other.waves[k];
  }
};

/// Those of the chunks, in their order, so that whole chunks may come in pieces.
std::vector<WaveSums> chunk_waves(const Particles& particles, double box_side, int threads) {
  const std::int64_t n = particles.size();
  std::vector<WaveSums> parts(static_cast<std::size_t>((n + chunk - 1) / chunk));
  const double unit = physics::wave_number(1, box_side);
  parallel_chunks(threads, n, chunk, [&](std::int64_t begin, std::int64_t end) {
    WaveSums& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const double m = particles.mass[i];
      part.mass += m;
      const std::complex<double> axis[3] = {std::polar(1.0, -unit * particles.x[i]),
                                            std::polar(1.0, -unit * particles.y[i]),
                                            std::polar(1.0, -unit * particles.z[i])};
      for (std::size_t k = 0; k < large_wave_count; ++k) {
        std::complex<double> wave = m;
        for (int d = 0; d < 3; ++d)
          if (vectors[k][d] != 0) wave *= vectors[k][d] > 0 ? axis[d] : std::conj(axis[d]);
        part.waves[k] += wave;
      }
    }
  });
  return parts;
}

LargeWaves contrasts_of(const std::vector<WaveSums>& parts) {
  WaveSums sum;
  for (const WaveSums& part : parts) sum.add(part);
  LargeWaves contrasts = sum.waves;
  for (auto& wave : contrasts) wave /= sum.mass;
  return contrasts;
}

/// With a piece of the particles in memory at a time.
std::vector<WaveSums> chunk_waves(ParticleSource& particles, double box_side, int threads) {
  constexpr std::int64_t piece_particles = 8 * chunk;
  std::vector<WaveSums> parts;
  Particles piece;
  for (std::int64_t first = 0; first < particles.count(); first += piece_particles) {
    particles.read(first, std::min(piece_particles, particles.count() - first), piece);
    const auto more = chunk_waves(piece, box_side, threads);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  return parts;
}

}  // namespace

LargeWaves large_waves(const Particles& particles, double box_side, int threads) {
  return contrasts_of(chunk_waves(particles, box_side, threads));
}

LargeWaves large_waves(ParticleSource& particles, double box_side, int threads) {
  return contrasts_of(chunk_waves(particles, box_side, threads));
}

LargeWaves spread_large_waves(Communicator& ranks, std::int64_t total, const ShownParticles& own, double box_side) {
  const ShownChunks shown(ranks, ChunkShares({total, ranks.size()}, chunk), own);
  FetchedParticles here(shown);
  const auto parts = gather_on_root(ranks, chunk_waves(here, box_side, own.device().threads()));
  return share_value(ranks, ranks.is_root() ? contrasts_of(parts) : LargeWaves{});
}

LargeWaveGrowth wave_growth(const LargeWaves& before, const LargeWaves& after, double linear_growth) {
  LargeWaveGrowth growth;
  double common = 0, square = 0, left = 0;
  for (std::size_t k = 0; k < large_wave_count; ++k) {
    growth.ratio[k] = std::abs(after[k]) / std::abs(before[k]) / linear_growth;
    common += (after[k] * std::conj(before[k])).real();
    square += std::norm(before[k]);
  }
  growth.mean = common / square / linear_growth;
  const double factor = growth.mean * linear_growth;
  for (std::size_t k = 0; k < large_wave_count; ++k) left += std::norm(after[k] - factor * before[k]);
  growth.scatter = std::sqrt(left / square) / std::abs(factor);
  return growth;
}

double WaveWatch::largest_at_start() const {
  double largest = 0;
  for (const auto& wave : start) largest = std::max(largest, std::abs(wave));
  return largest;
}

}  // namespace pergola

#include "analysis/large_waves.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/parallel.hpp"
#include "physics/green.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 16384;
constexpr int vectors[large_wave_count][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {1, 1, 0},  {1, -1, 0},
                                              {1, 0, 1},  {1, 0, -1}, {0, 1, 1}, {0, 1, -1}, {1, 1, 1},
                                              {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};

}  // namespace

LargeWaves large_waves(const Particles& particles, double box_side, int threads) {
  struct Part {
    LargeWaves waves{};
    double mass = 0;
  };
  const std::int64_t n = particles.size();
  std::vector<Part> parts(static_cast<std::size_t>((n + chunk - 1) / chunk));
  const double unit = physics::wave_number(1, box_side);
  parallel_chunks(threads, n, chunk, [&](std::int64_t begin, std::int64_t end) {
    Part& part = parts[static_cast<std::size_t>(begin / chunk)];
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
  Part sum;
  for (const Part& part : parts) {
    sum.mass += part.mass;
    for (std::size_t k = 0; k < large_wave_count; ++k) sum.waves[k] += part.waves[k];
  }
  for (auto& wave : sum.waves) wave /= sum.mass;
  return sum.waves;
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

#include "analysis/large_waves.hpp"
#include "analysis/energy_sums.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "domain/chunk_shares.hpp"
#include "domain/shown_chunks.hpp"
#include "physics/green.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pergola {

namespace {

constexpr std::int64_t wave_chunk = 16 * sum_chunk;

using WaveSums = Terms<WaveTerms::count>;

/// The sums of all chunks, in order. Each piece of the particles is a whole number of chunks, so that the sums do not
/// depend on it.
std::vector<WaveSums> chunk_waves(const ShownParticles& shown, double box_side) {
  static_assert(least_summed_at_once % wave_chunk == 0);
  std::vector<WaveSums> parts;
  each_piece<double>(shown, false, [&](std::int64_t, std::int64_t n, const ShownArrays<double>& to) {
    const WaveTerms terms{to.x, to.y, to.z, to.mass, physics::wave_number(1, box_side)};
    const auto sums = chunk_terms(shown.device(), n, terms);
    for (std::size_t i = 0; i < sums.size(); i += wave_chunk / sum_chunk)
      add_parts({sums.begin() + i, std::min(sums.begin() + i + wave_chunk / sum_chunk, sums.end())},
                parts.emplace_back());
  });
  return parts;
}

LargeWaves contrasts_of(const std::vector<WaveSums>& parts) {
  WaveSums sum;
  add_parts(parts, sum);
  LargeWaves contrasts;
  for (std::size_t k = 0; k < large_wave_count; ++k)
    contrasts[k] = std::complex<double>(sum.value[2 * k], sum.value[2 * k + 1]) / sum.value[WaveTerms::mass_at];
  return contrasts;
}

}  // namespace

LargeWaves large_waves(const ShownParticles& particles, double box_side) {
  return contrasts_of(chunk_waves(particles, box_side));
}

LargeWaves distributed_large_waves(Communicator& ranks, std::int64_t total, const ShownParticles& own,
                                   double box_side) {
  const ShownChunks shown(ranks, ChunkShares({total, ranks.size()}, wave_chunk), own);
  const auto parts = gather_on_root(ranks, chunk_waves(shown, box_side));
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

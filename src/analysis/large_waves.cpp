#include "analysis/large_waves.hpp"
#include "analysis/energy_sums.hpp"
#include "physics/green.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pergola {

LargeWaves large_waves(const ShownParticles& here, double box_side, Communicator& ranks) {
  ExactTerms<WaveTerms::count> own;
  each_piece<double>(here, PieceOrder::any, false, [&](std::int64_t, std::int64_t n, const ShownArrays<double>& to) {
    add_terms(here.device(), n, WaveTerms{to.x, to.y, to.z, to.mass, physics::wave_number(1, box_side)}, own);
  });
  const auto sum = over_ranks(ranks, own);
  LargeWaves contrasts;
  for (int k = 0; k < static_cast<int>(large_wave_count); ++k)
    contrasts[static_cast<std::size_t>(k)] =
        std::complex<double>(sum.value(2 * k), sum.value(2 * k + 1)) / sum.value(WaveTerms::mass_at);
  return contrasts;
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

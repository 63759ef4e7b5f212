#include "analysis/distance.hpp"

#include <algorithm>
#include <ranges>

#include "comm/collectives.hpp"

namespace pergola {

std::vector<std::size_t> counts_by_distance(Communicator& ranks, std::size_t count,
                                            const std::function<Distance(std::size_t)>& distance) {
  constexpr std::size_t samples_for_each = 16;
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<Distance> samples;
  for (std::size_t k = 0; k < samples_for_each * size && count > 0; ++k)
    samples.push_back(distance(k * count / (samples_for_each * size)));
  samples = gather_lists_on_all(ranks, samples);
  std::sort(samples.begin(), samples.end());
  std::vector<std::size_t> counts;
  std::size_t begin = 0;
  for (std::size_t r = 1; r < size; ++r) {
    const auto is_nearer = [&](std::size_t k) { return distance(k) < samples[r * samples.size() / size]; };
    const auto rest = std::views::iota(begin, count);
    const auto end = begin + static_cast<std::size_t>(std::ranges::partition_point(rest, is_nearer) - rest.begin());
    counts.push_back(end - begin);
    begin = end;
  }
  counts.push_back(count - begin);
  return counts;
}

}  // namespace pergola

#include "comm/ranked_values.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace pergola {

namespace {

/// Whole numbers that rise as doubles do, and back.
std::uint64_t rising(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}
double from_rising(std::uint64_t key) {
  return std::bit_cast<double>(key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key);
}

}  // namespace

RankedValues::RankedValues(Communicator& ranks, const std::vector<double>& values,
                           const std::vector<std::int64_t>& weights)
    : ranks_(ranks), up_to_{0} {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  for (const std::size_t i : order) {
    values_.push_back(values[i] + 0.0);  // no -0
    up_to_.push_back(up_to_.back() + (weights.empty() ? 1 : weights[i]));
  }
  total_ = up_to_.back();
  ranks_.all_reduce(&total_, 1, Reduction::sum);
}

std::vector<double> RankedValues::reaching(const std::vector<std::int64_t>& weights) const {
  // The lowest key up to which there is enough, searched by halves for all at once.
  std::vector<std::uint64_t> low(weights.size(), 0), high(weights.size(), ~std::uint64_t{0});
  std::vector<std::int64_t> there(weights.size());
  const auto middle = [&](std::size_t k) { return low[k] + (high[k] - low[k]) / 2; };
  while (low != high) {
    for (std::size_t k = 0; k < weights.size(); ++k)
      there[k] = up_to_[static_cast<std::size_t>(
          std::upper_bound(values_.begin(), values_.end(), middle(k),
                           [](std::uint64_t key, double value) { return key < rising(value); }) -
          values_.begin())];
    ranks_.all_reduce(there.data(), there.size(), Reduction::sum);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      if (low[k] == high[k]) continue;
      if (there[k] >= weights[k])
        high[k] = middle(k);
      else
        low[k] = middle(k) + 1;
    }
  }
  std::vector<double> found;
  for (const std::uint64_t key : low) found.push_back(from_rising(key));
  return found;
}

}  // namespace pergola

#include "comm/collectives.hpp"

#include <bit>

namespace pergola {

namespace {

/// Whole numbers in the same order as doubles, and back.
std::uint64_t rising(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}
double from_rising(std::uint64_t key) {
  return std::bit_cast<double>(key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key);
}

}  // namespace

std::vector<std::int64_t> tell_counts(Communicator& ranks, const std::vector<std::int64_t>& to_each) {
  const auto size = static_cast<std::size_t>(ranks.size()), own = static_cast<std::size_t>(ranks.rank());
  // on_way[k]: a number that goes k ranks further in all, in steps by the bits of k.
  std::vector<std::int64_t> on_way(size), told(size), out, in;
  for (std::size_t k = 0; k < size; ++k) on_way[k] = to_each[(own + k) % size];
  for (std::size_t far = 1; far < size; far *= 2) {
    out.clear();
    for (std::size_t k = 0; k < size; ++k)
      if (k & far) out.push_back(on_way[k]);
    in.resize(out.size());
    const std::size_t bytes = out.size() * sizeof out[0];
    ranks.exchange({{static_cast<int>((own + far) % size), out.data(), bytes}},
                   {{static_cast<int>((own + size - far) % size), in.data(), bytes}});
    std::size_t next = 0;
    for (std::size_t k = 0; k < size; ++k)
      if (k & far) on_way[k] = in[next++];
  }
  for (std::size_t k = 0; k < size; ++k) told[(own + size - k) % size] = on_way[k];
  return told;
}

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
  // The lowest key that reaches each weight, searched by halves for all weights at once.
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

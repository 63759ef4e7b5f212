#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Some of many things that stand in a fixed order.
struct Stretch {
  std::int64_t first = 0, count = 0;

  std::int64_t end() const { return first + count; }
  /// What both have; count 0 where there is nothing.
  Stretch common(const Stretch& other) const {
    const std::int64_t begin = std::max(first, other.first);
    return {begin, std::max<std::int64_t>(std::min(end(), other.end()) - begin, 0)};
  }
};

/// Values that stand in a fixed order, from those who have them to those who want them: rank r has those of `has[r]`,
/// each value once, and gets those of `wants[r]`. All ranks call it.
template <class V>
std::vector<V> fetch_stretch(Communicator& ranks, const std::vector<Stretch>& has, const std::vector<Stretch>& wants,
                             const V* own) {
  const Stretch here = has[static_cast<std::size_t>(ranks.rank())];
  const Stretch wanted = wants[static_cast<std::size_t>(ranks.rank())];
  std::vector<V> values(static_cast<std::size_t>(wanted.count));
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  const auto bytes = [](const Stretch& part) { return static_cast<std::size_t>(part.count) * sizeof(V); };
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Stretch given = here.common(wants[static_cast<std::size_t>(rank)]);
    if (given.count > 0) out.push_back({rank, own + (given.first - here.first), bytes(given)});
    const Stretch taken = wanted.common(has[static_cast<std::size_t>(rank)]);
    if (taken.count > 0) in.push_back({rank, values.data() + (taken.first - wanted.first), bytes(taken)});
  }
  ranks.exchange(out, in);
  return values;
}

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// The partition of `total` indices over ranks: rank r of K has those from total r / K on.
struct Shares {
  std::int64_t total = 0;
  int ranks = 1;

  /// The first index of a rank; for rank = `ranks` the end.
  std::int64_t first(int rank) const { return total * rank / ranks; }
  std::int64_t count(int rank) const { return first(rank + 1) - first(rank); }
};

/// A range of indices.
struct Stretch {
  std::int64_t first = 0, count = 0;

  std::int64_t end() const { return first + count; }
  /// The intersection; count 0 if it is empty.
  Stretch common(const Stretch& other) const {
    const std::int64_t begin = std::max(first, other.first);
    return {begin, std::max<std::int64_t>(std::min(end(), other.end()) - begin, 0)};
  }
};

/// Values of an array from the ranks that have them to the ranks that want them: rank r has the range has[r], each
/// value is on one rank, and rank r gets the range wants[r].
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

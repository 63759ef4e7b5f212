#pragma once
#include <cstdint>

namespace pergola {

/// Who has which of n things that stand in a fixed order: rank r of K those from n r / K on.
struct Shares {
  std::int64_t total = 0;
  int ranks = 1;

  /// The first one of a rank; of rank K the end.
  std::int64_t first(int rank) const { return total * rank / ranks; }
  std::int64_t count(int rank) const { return first(rank + 1) - first(rank); }
};

}  // namespace pergola

#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"

namespace pergola {

/// Who sums which of the fixed chunks of things that stand in a fixed order and are spread over ranks: a chunk belongs
/// to the rank that keeps its first one. What is then missing of a rank's last chunk later ranks keep.
class PERGOLA_API ChunkShares {
 public:
  ChunkShares(const Shares& shares, std::int64_t chunk) : shares_(shares), chunk_(chunk) {}

  /// The things of a rank's chunks, counted over all ranks; of rank K the end.
  std::int64_t first(int rank) const;
  std::int64_t count(int rank) const { return first(rank + 1) - first(rank); }
  /// Of these the rank keeps so many itself, the first ones, from this one of its own on.
  std::int64_t kept(int rank) const;
  std::int64_t kept_from(int rank) const { return first(rank) - shares_.first(rank); }

  /// Writes rows of this rank, `first` counted from its own first.
  using Give = std::function<void(std::int64_t first, std::int64_t count, std::byte* to)>;
  /// Gets rows at … at + count − 1 of those that are missing here, as a rank has written them.
  using Take = std::function<void(std::int64_t at, std::int64_t count, const std::byte* rows)>;
  /// All ranks call it.
  void fetch_missing(Communicator& ranks, std::int64_t row_bytes, const Give& give, const Take& take) const;

 private:
  Shares shares_;
  std::int64_t chunk_;
};

}  // namespace pergola

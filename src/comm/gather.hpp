#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"

namespace pergola {

/// Every rank's values, in the order of ranks, on rank 0; nothing on the others. All ranks call it.
template <class V>
std::vector<V> gather_on_root(Communicator& ranks, const std::vector<V>& own) {
  const auto size = static_cast<std::size_t>(ranks.size()), rank = static_cast<std::size_t>(ranks.rank());
  std::vector<std::size_t> bytes(size), sent(size), received(size);
  bytes[rank] = own.size() * sizeof(V);
  ranks.all_gather_in_place(bytes.data(), std::vector<std::size_t>(size, sizeof(std::size_t)));
  sent[0] = bytes[rank];
  if (rank == 0) received = bytes;
  std::vector<V> all(std::accumulate(received.begin(), received.end(), std::size_t{0}) / sizeof(V));
  ranks.all_to_all(own.data(), sent, all.data(), received);
  return all;
}

/// What ranks add to a sum one after the other, in their order: add(sum) of each. All ranks call it and get the sum,
/// with the bits of one process that adds it all.
template <class V, class Add>
V add_in_turn(Communicator& ranks, V sum, const Add& add) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) add(sum);
    ranks.broadcast(&sum, sizeof sum, rank);
  }
  return sum;
}

/// All of what stands in a fixed order, of which each rank has its share. All ranks call it.
template <class V>
std::vector<V> gather_on_all(Communicator& ranks, const Shares& shares, const V* own) {
  std::vector<V> all(static_cast<std::size_t>(shares.total));
  std::vector<std::size_t> bytes;
  for (int rank = 0; rank < ranks.size(); ++rank)
    bytes.push_back(static_cast<std::size_t>(shares.count(rank)) * sizeof(V));
  std::copy_n(own, shares.count(ranks.rank()), all.begin() + shares.first(ranks.rank()));
  ranks.all_gather_in_place(all.data(), bytes);
  return all;
}

}  // namespace pergola

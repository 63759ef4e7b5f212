#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Lists of any length: lists[r] goes to rank r, and what comes back is what rank r has for this one. All ranks call
/// it.
template <class V>
std::vector<std::vector<V>> exchange_lists(Communicator& ranks, const std::vector<std::vector<V>>& lists) {
  const std::size_t size = lists.size();
  std::vector<std::size_t> sent(size), arriving(size);
  for (std::size_t r = 0; r < size; ++r) sent[r] = lists[r].size();
  const std::vector<std::size_t> one(size, sizeof(std::size_t));
  ranks.all_to_all(sent.data(), one, arriving.data(), one);
  std::vector<std::vector<V>> arrived(size);
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (std::size_t r = 0; r < size; ++r) {
    arrived[r].resize(arriving[r]);
    if (sent[r] > 0) out.push_back({static_cast<int>(r), lists[r].data(), sent[r] * sizeof(V)});
    if (arriving[r] > 0) in.push_back({static_cast<int>(r), arrived[r].data(), arriving[r] * sizeof(V)});
  }
  ranks.exchange(out, in);
  return arrived;
}

/// Every rank's values, in the order of ranks, on all of them. All ranks call it.
template <class V>
std::vector<V> gather_lists_on_all(Communicator& ranks, const std::vector<V>& own) {
  const auto size = static_cast<std::size_t>(ranks.size()), rank = static_cast<std::size_t>(ranks.rank());
  std::vector<std::size_t> bytes(size);
  bytes[rank] = own.size() * sizeof(V);
  ranks.all_gather_in_place(bytes.data(), std::vector<std::size_t>(size, sizeof(std::size_t)));
  const auto before = static_cast<std::ptrdiff_t>(rank);
  std::vector<V> all(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) / sizeof(V));
  const std::size_t first = std::accumulate(bytes.begin(), bytes.begin() + before, std::size_t{0}) / sizeof(V);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  ranks.all_gather_in_place(all.data(), bytes);
  return all;
}

/// Sums, as many on all ranks, to which ranks add one after the other, in their order: add(sums) of each. All ranks
/// call it and get the sums, with the bits of one process that adds it all.
template <class V, class Add>
std::vector<V> add_lists_in_turn(Communicator& ranks, std::vector<V> sums, const Add& add) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) add(sums);
    ranks.broadcast(sums.data(), sums.size() * sizeof(V), rank);
  }
  return sums;
}

}  // namespace pergola

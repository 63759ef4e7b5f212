#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"

// What ranks often do together, in terms of a Communicator: gathers, lists of any length, sums in the order of ranks,
// and ranked values.
//
// All functions that take a Communicator are collective: every rank calls them. Results of sums and searches have the
// same bits on every rank and for any number of ranks, because terms are whole numbers or are added in the order of
// ranks.
namespace pergola {

/// One value of every rank, in the order of ranks, on all ranks.
template <class V>
std::vector<V> gather_values(Communicator& ranks, const V& own) {
  std::vector<V> all(static_cast<std::size_t>(ranks.size()));
  all[static_cast<std::size_t>(ranks.rank())] = own;
  ranks.all_gather_in_place(all.data(), std::vector<std::size_t>(all.size(), sizeof(V)));
  return all;
}

/// The values of all ranks, in the order of ranks, on rank 0; nothing on the others.
template <class V>
std::vector<V> gather_on_root(Communicator& ranks, const std::vector<V>& own) {
  const std::vector<std::size_t> bytes = gather_values(ranks, own.size() * sizeof(V));
  std::vector<std::size_t> sent(bytes.size()), received(bytes.size());
  sent[0] = own.size() * sizeof(V);
  if (ranks.is_root()) received = bytes;
  std::vector<V> all(std::accumulate(received.begin(), received.end(), std::size_t{0}) / sizeof(V));
  ranks.all_to_all(own.data(), sent, all.data(), received);
  return all;
}

/// The values of all ranks, in the order of ranks, on all ranks.
template <class V>
std::vector<V> gather_lists_on_all(Communicator& ranks, const std::vector<V>& own) {
  const std::vector<std::size_t> bytes = gather_values(ranks, own.size() * sizeof(V));
  const auto here = bytes.begin() + ranks.rank();
  std::vector<V> all(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) / sizeof(V));
  const std::size_t first = std::accumulate(bytes.begin(), here, std::size_t{0}) / sizeof(V);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  ranks.all_gather_in_place(all.data(), bytes);
  return all;
}

/// All of an array that is divided over the ranks as `shares` says, on all ranks.
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

/// A sum to which ranks add one after the other, in their order, each by add(sum). All ranks get the sum, with the bits
/// of one process that adds everything.
template <class V, class Add>
V add_in_turn(Communicator& ranks, V sum, const Add& add) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) add(sum);
    ranks.broadcast(&sum, sizeof sum, rank);
  }
  return sum;
}

/// The same for a list of sums, of the same length on all ranks.
template <class V, class Add>
std::vector<V> add_lists_in_turn(Communicator& ranks, std::vector<V> sums, const Add& add) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) add(sums);
    ranks.broadcast(sums.data(), sums.size() * sizeof(V), rank);
  }
  return sums;
}

/// Lists of any length: lists[r] goes to rank r. Returns the list that each rank had for this one.
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

/// Sends number to_each[r] to rank r and returns the number that every rank has sent to this one. Numbers pass from
/// rank to rank, so each rank sends log2 K messages instead of K − 1: Bruck, Ho, Kipnis, Upfal & Weathersby 1997, IEEE
/// Trans. Parallel Distrib. Syst. 8, 1143.
PERGOLA_API std::vector<std::int64_t> tell_counts(Communicator& ranks, const std::vector<std::int64_t>& to_each);

/// Weighted values of all ranks, in rising order: finds the value at which a given weight is reached.
///
/// Each rank sorts its own values; a search by halves over all doubles adds up over ranks how much weight lies below.
/// Weights are whole numbers, so the result does not depend on the number of ranks. No NaN.
class PERGOLA_API RankedValues {
 public:
  /// Without `weights` every value has weight 1. Collective.
  RankedValues(Communicator& ranks, const std::vector<double>& values, const std::vector<std::int64_t>& weights = {});

  /// The weight of all values of all ranks.
  std::int64_t total() const { return total_; }
  /// For each weight, from 1 to the total: the lowest value such that all values up to it have at least that weight.
  /// Never −0. Collective.
  std::vector<double> reaching(const std::vector<std::int64_t>& weights) const;

 private:
  Communicator& ranks_;
  std::vector<double> values_;       // rising
  std::vector<std::int64_t> up_to_;  // up_to_[k]: weight of the values before the k-th
  std::int64_t total_ = 0;
};

}  // namespace pergola

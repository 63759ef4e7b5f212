#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "device/parallel.hpp"

namespace pergola {

/// Values of particles that go from the ranks that keep them to those that work on them, and back. What goes from a
/// rank to another one is in the same order both ways.
class Routing {
 public:
  Routing() = default;
  /// All ranks make it together. `order`: the places of this rank's particles as they are sent, first those for rank 0,
  /// sent[0] of them.
  Routing(Communicator& ranks, int threads, std::vector<std::uint32_t> order, std::vector<std::int64_t> sent)
      : ranks_(&ranks), threads_(threads), order_(std::move(order)), sent_(std::move(sent)), arriving_(sent_.size()) {
    const std::vector<std::size_t> one(sent_.size(), sizeof(std::int64_t));
    ranks_->all_to_all(sent_.data(), one, arriving_.data(), one);
  }

  /// Particles that arrive here; those of rank 0 come first.
  std::int64_t arriving() const { return std::accumulate(arriving_.begin(), arriving_.end(), std::int64_t{0}); }

  /// From values by the particles' places to those of the arriving particles.
  template <class V>
  std::vector<V> there(const V* kept) const {
    std::vector<V> out(order_.size()), in(static_cast<std::size_t>(arriving()));
    each([&](std::size_t k) { out[k] = kept[order_[k]]; });
    ranks_->all_to_all(out.data(), bytes_of<V>(sent_), in.data(), bytes_of<V>(arriving_));
    return in;
  }
  /// From values of the arrived particles to the places of their keepers.
  template <class V>
  void back(const V* arrived, V* kept) const {
    std::vector<V> in(order_.size());
    ranks_->all_to_all(arrived, bytes_of<V>(arriving_), in.data(), bytes_of<V>(sent_));
    each([&](std::size_t k) { kept[order_[k]] = in[k]; });
  }

 private:
  static constexpr std::int64_t chunk = 8192;
  template <class Body>
  void each(const Body& body) const {
    parallel_chunks(threads_, std::ssize(order_), chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) body(static_cast<std::size_t>(k));
    });
  }
  template <class V>
  static std::vector<std::size_t> bytes_of(const std::vector<std::int64_t>& counts) {
    std::vector<std::size_t> bytes;
    for (const std::int64_t count : counts) bytes.push_back(static_cast<std::size_t>(count) * sizeof(V));
    return bytes;
  }

  Communicator* ranks_ = nullptr;
  int threads_ = 1;
  std::vector<std::uint32_t> order_;
  std::vector<std::int64_t> sent_, arriving_;
};

}  // namespace pergola

#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "device/parallel.hpp"
#include "domain/particle_way.hpp"

namespace pergola {

/// Particles at consecutive places.
struct PlaceRun {
  std::int64_t first = 0, count = 0;
};

/// Values of particles that go from the ranks that keep them to those that work on them, and back. What goes from a
/// rank to another one is in the same order both ways; what stays on a rank is copied straight to its place and not
/// sent. The memory of a message serves the next ones too.
class Routing final : public ParticleWay {
 public:
  Routing() = default;
  /// All ranks make it together. `order`: the places of this rank's particles as they are sent, first those for rank 0,
  /// sent[0] of them.
  Routing(Communicator& ranks, int threads, std::vector<std::uint32_t> order, std::vector<std::int64_t> sent) {
    plan(ranks, threads, order, std::move(sent), std::vector<PlaceRun>(static_cast<std::size_t>(ranks.size())));
  }
  /// The same for another time, with the memory of the last one: `order`, of which no more than the sum of `sent` is
  /// looked at, is exchanged for the one before. `runs`: to each rank goes a run of particles too, before the listed
  /// ones, straight from where it lies and back to there.
  void plan(Communicator& ranks, int threads, std::vector<std::uint32_t>& order, std::vector<std::int64_t> sent,
            std::vector<PlaceRun> runs) {
    ranks_ = &ranks, threads_ = threads;
    std::swap(order_, order);
    runs_ = std::move(runs);
    const std::size_t size = sent.size();
    std::vector<std::int64_t> counts(2 * size), there(2 * size);
    for (std::size_t r = 0; r < size; ++r) counts[2 * r] = runs_[r].count, counts[2 * r + 1] = sent[r];
    const std::vector<std::size_t> two(size, 2 * sizeof(std::int64_t));
    ranks_->all_to_all(counts.data(), two, there.data(), two);
    listed_.assign(size, {}), leaving_.assign(size, {});
    arriving_run_.assign(size, {}), arriving_listed_.assign(size, {});
    listed_count_ = leaving_count_ = arriving_ = 0;
    for (std::size_t r = 0; r < size; ++r) {
      listed_[r] = {std::exchange(listed_count_, listed_count_ + sent[r]), sent[r]};
      if (r != own()) leaving_[r] = {std::exchange(leaving_count_, leaving_count_ + sent[r]), sent[r]};
      arriving_run_[r] = {std::exchange(arriving_, arriving_ + there[2 * r]), there[2 * r]};
      arriving_listed_[r] = {std::exchange(arriving_, arriving_ + there[2 * r + 1]), there[2 * r + 1]};
    }
  }

  /// Listed particles, which are kept here: their number, their places as they are sent, and how many go to others.
  std::int64_t kept() const override { return listed_count_; }
  const std::vector<std::uint32_t>& order() const { return order_; }
  std::int64_t leaving() const override { return leaving_count_; }
  /// Particles that arrive here; those of rank 0 come first.
  std::int64_t arriving() const override { return arriving_; }
  void carry(const std::vector<Field>& fields, std::size_t value_bytes) override {
    with_value_type(value_bytes, [&]<class V>(V) {
      for (const Field& field : fields)
        there<V, 1>({reinterpret_cast<const V*>(field.kept)}, {reinterpret_cast<V*>(field.arrived)});
    });
  }
  void carry_back(const std::byte* arrived, std::byte* kept, std::size_t value_bytes) override {
    with_value_type(value_bytes, [&]<class V>(V) {
      back<V, 1>({reinterpret_cast<const V*>(arrived)}, {reinterpret_cast<V*>(kept)});
    });
  }
  std::unique_ptr<ParticleWay> in_order(const std::vector<std::int64_t>& sent) const override {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(std::reduce(sent.begin(), sent.end())));
    std::iota(order.begin(), order.end(), 0u);
    return std::make_unique<Routing>(*ranks_, threads_, std::move(order), sent);
  }

  /// From values by the particles' places to those of the arriving particles, of several fields at once.
  template <class V, std::size_t fields>
  void there(const std::array<const V*, fields>& kept, const std::array<V*, fields>& arrived) const {
    V* const listed = message<V>(fields);
    each_leaving([&](std::int64_t k, std::uint32_t place) {
      for (std::size_t f = 0; f < fields; ++f) listed[of_field(f) + k] = kept[f][place];
    });
    Messages messages;
    for (std::size_t f = 0; f < fields; ++f) {
      add(messages, kept[f], runs_, arrived[f], arriving_run_);
      copy_own(kept[f], runs_, arrived[f], arriving_run_);
      add(messages, static_cast<const V*>(listed + of_field(f)), leaving_, arrived[f], arriving_listed_);
    }
    ranks_->exchange(messages.out, messages.in);
    each_staying([&](std::int64_t k, std::uint32_t place) {
      for (std::size_t f = 0; f < fields; ++f) arrived[f][k] = kept[f][place];
    });
  }
  template <class V>
  std::vector<V> there(const V* kept) const {
    std::vector<V> arrived(static_cast<std::size_t>(arriving()));
    there<V, 1>({kept}, {arrived.data()});
    return arrived;
  }
  /// From values of the arrived particles to the places of their keepers.
  template <class V, std::size_t fields>
  void back(const std::array<const V*, fields>& arrived, const std::array<V*, fields>& kept) const {
    V* const listed = message<V>(fields);
    Messages messages;
    for (std::size_t f = 0; f < fields; ++f) {
      add(messages, arrived[f], arriving_run_, kept[f], runs_);
      copy_own(arrived[f], arriving_run_, kept[f], runs_);
      add(messages, arrived[f], arriving_listed_, listed + of_field(f), leaving_);
    }
    ranks_->exchange(messages.out, messages.in);
    each_staying([&](std::int64_t k, std::uint32_t place) {
      for (std::size_t f = 0; f < fields; ++f) kept[f][place] = arrived[f][k];
    });
    each_leaving([&](std::int64_t k, std::uint32_t place) {
      for (std::size_t f = 0; f < fields; ++f) kept[f][place] = listed[of_field(f) + k];
    });
  }
  template <class V>
  void back(const V* arrived, V* kept) const {
    back<V, 1>({arrived}, {kept});
  }
  /// Of the list and a message of so many fields, where that many particles are listed.
  template <class V>
  static std::int64_t bytes(std::int64_t particles, std::int64_t fields) {
    return particles *
           static_cast<std::int64_t>(fields * std::int64_t{sizeof(V)} + std::int64_t{sizeof(std::uint32_t)});
  }

 private:
  static constexpr std::int64_t chunk = 8192;
  std::size_t own() const { return static_cast<std::size_t>(ranks_->rank()); }
  /// body(k, place) for the listed particles that go to others, the k-th in a message to all of them.
  template <class Body>
  void each_leaving(const Body& body) const {
    const PlaceRun& stay = listed_[own()];
    parallel_chunks(threads_, leaving_count_, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        body(k, order_[static_cast<std::size_t>(k < stay.first ? k : k + stay.count)]);
    });
  }
  /// The same for those that stay, the k-th of all that arrive.
  template <class Body>
  void each_staying(const Body& body) const {
    const PlaceRun& stay = listed_[own()];
    const std::int64_t first = arriving_listed_[own()].first;
    parallel_chunks(threads_, stay.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) body(first + k, order_[static_cast<std::size_t>(stay.first + k)]);
    });
  }
  /// Where a message of several fields has this one.
  std::int64_t of_field(std::size_t field) const { return static_cast<std::int64_t>(field) * leaving_count_; }
  /// Room for so many values of each particle that leaves.
  template <class V>
  V* message(std::size_t fields) const {
    const std::size_t bytes = fields * static_cast<std::size_t>(leaving_count_) * sizeof(V);
    if (message_bytes_ < bytes) {
      message_.reset();
      message_bytes_ = bytes + bytes / 16;
      message_.reset(new std::byte[message_bytes_]);  // not cleared
    }
    return reinterpret_cast<V*>(message_.get());
  }
  struct Messages {
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
  };
  template <class V>
  static std::size_t bytes_of(const PlaceRun& run) {
    return static_cast<std::size_t>(run.count) * sizeof(V);
  }
  /// A run of values to each other rank, and one from each.
  template <class V>
  void add(Messages& to_send, const V* from, const std::vector<PlaceRun>& sent, V* to,
           const std::vector<PlaceRun>& got) const {
    for (std::size_t r = 0; r < sent.size(); ++r) {
      if (r == own()) continue;
      if (sent[r].count > 0) to_send.out.push_back({static_cast<int>(r), from + sent[r].first, bytes_of<V>(sent[r])});
      if (got[r].count > 0) to_send.in.push_back({static_cast<int>(r), to + got[r].first, bytes_of<V>(got[r])});
    }
  }
  /// The run that stays.
  template <class V>
  void copy_own(const V* from, const std::vector<PlaceRun>& sent, V* to, const std::vector<PlaceRun>& got) const {
    parallel_chunks(threads_, sent[own()].count, chunk, [&](std::int64_t begin, std::int64_t end) {
      std::copy_n(from + sent[own()].first + begin, end - begin, to + got[own()].first + begin);
    });
  }

  Communicator* ranks_ = nullptr;
  int threads_ = 1;
  std::vector<std::uint32_t> order_;
  std::vector<PlaceRun> runs_, listed_;                   // by rank: places of particles, numbers in the order
  std::vector<PlaceRun> leaving_;                         // of the listed ones, numbers in a message to others
  std::vector<PlaceRun> arriving_run_, arriving_listed_;  // among the arriving ones
  std::int64_t listed_count_ = 0, leaving_count_ = 0, arriving_ = 0;
  mutable std::unique_ptr<std::byte[]> message_;
  mutable std::size_t message_bytes_ = 0;
};

}  // namespace pergola

#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "domain/device_messages.hpp"
#include "domain/particle_way.hpp"
#include "domain/routing.hpp"

namespace pergola {

/// Routing (domain/routing.hpp) of values that lie on a CUDA device: they are packed and unpacked there, and what stays
/// on a rank never leaves it. In domain/device_routing_cuda.cu; present where cuda_built is true.
class DeviceRouting final : public ParticleWay {
 public:
  DeviceRouting(const Device& device, std::shared_ptr<Communicator> ranks);
  /// With rooms that are somebody else's, too.
  explicit DeviceRouting(std::shared_ptr<DeviceMessages> messages);

  /// Where plan() is exported, by the place in a list, which particle it is and which rank it goes to.
  struct Listing {
    std::uint32_t *rank = nullptr, *particle = nullptr;
  };
  /// Memory on the device for a listing of so many particles and for what plan() does with it; free afterwards.
  std::int64_t work_bytes(std::int64_t count) const;
  Listing listing(std::int64_t count, void* work) const;
  /// All ranks make it together, each with the listing of all its particles in `work`. Those for a rank go in the order
  /// of the list. Waits for the device. `lent`: for a number of each particle, as long as this plan is used, in place
  /// of its own memory.
  void plan(std::int64_t count, void* work, std::uint32_t* borrowed = nullptr);
  /// All that are kept here go as they stand, the first sent[0] of them to rank 0. All ranks make it together.
  void plan_in_order(const std::vector<std::int64_t>& sent);
  /// Whose rooms others may use, too.
  const std::shared_ptr<DeviceMessages>& messages() const { return messages_; }
  /// Particles that are kept here, and those that arrive here, the ones of rank 0 first.
  std::int64_t kept() const override { return kept_; }
  std::int64_t arriving() const override { return arriving_; }
  /// Of the kept ones, those that go to other ranks.
  std::int64_t leaving() const override { return listed_.empty() ? 0 : kept_ - listed_[messages_->own_rank()].count; }
  void carry(const std::vector<Field>& fields, std::size_t value_bytes) override {
    Fields all;
    for (const Field& field : fields) {
      all.kept[all.count] = const_cast<std::byte*>(field.kept);
      all.arrived[all.count++] = field.arrived;
    }
    carry(all, value_bytes, true);
  }
  void carry_back(const std::byte* arrived, std::byte* kept, std::size_t value_bytes) override {
    Fields one;
    one.kept[0] = kept, one.arrived[0] = const_cast<std::byte*>(arrived);
    one.count = 1;
    carry(one, value_bytes, false);
  }
  std::unique_ptr<ParticleWay> in_order(const std::vector<std::int64_t>& sent) const override {
    auto way = std::make_unique<DeviceRouting>(messages_);
    way->plan_in_order(sent);
    return way;
  }
  /// Of the device's memory, where that many particles are kept, with rooms of messages that are its own; lists: of
  /// plan() and plan_back() without memory that is lent.
  std::int64_t own_bytes(std::int64_t particles, bool lists = true) const {
    Arena count;
    room(*this, count, lists ? particles : 0);
    return count.bytes() + (shares_rooms_ ? 0 : messages_->bytes(message_bytes(particles)));
  }
  /// Of an exchange, out or in, where that many particles are kept: of a size whatever the particles, where they are
  /// many.
  std::int64_t message_bytes(std::int64_t particles) const { return std::min(messages_->most_bytes(), 32 * particles); }

  /// From values by the particles' places to those of the arriving particles, of several fields at once; all ranks
  /// together. V has 1, 4 or 8 bytes.
  template <class V, std::size_t fields>
  void there(const std::array<const V*, fields>& kept, const std::array<V*, fields>& arrived) {
    Fields all;
    static_assert(fields <= most_fields);
    for (std::size_t f = 0; f < fields; ++f) all.kept[f] = const_cast<V*>(kept[f]), all.arrived[f] = arrived[f];
    all.count = static_cast<int>(fields);
    carry(all, sizeof(V), true);
  }
  /// From values of the arrived particles to the places of their keepers.
  template <class V, std::size_t fields>
  void back(const std::array<const V*, fields>& arrived, const std::array<V*, fields>& kept) {
    Fields all;
    static_assert(fields <= most_fields);
    for (std::size_t f = 0; f < fields; ++f) all.kept[f] = kept[f], all.arrived[f] = const_cast<V*>(arrived[f]);
    all.count = static_cast<int>(fields);
    carry(all, sizeof(V), false);
  }

  /// Arrays of the same type, by the places of kept particles and of arriving ones.
  struct Fields {
    void *kept[most_fields] = {}, *arrived[most_fields] = {};
    int count = 0;
  };

 private:
  template <class Self>
  static void room(Self& self, Arena& arena, std::int64_t particles) {
    arena.room(self.order_, particles, particles / 16);
    room_for_begins(self, arena);
  }
  template <class Self>
  static void room_for_begins(Self& self, Arena& arena) {
    arena.room(self.begin_, static_cast<std::int64_t>(self.messages_->size()) + 1);
  }
  int rank_bits() const;
  void make_list(std::int64_t particles);
  void tell_counts(const std::vector<std::int64_t>& sent);
  void carry(const Fields& fields, std::size_t value_bytes, bool there);
  template <class Word>
  void carry_words(const Fields& fields, bool there);
  struct Round;
  Round round(std::int64_t q, std::int64_t rounds, const std::vector<PlaceRun>& sent,
              const std::vector<PlaceRun>& got) const;

  Device device_;
  std::shared_ptr<DeviceMessages> messages_;
  bool shares_rooms_ = false;
  Buffer<std::uint32_t> order_;              // where no memory is lent
  std::uint32_t* list_ = nullptr;            // particles as they are sent, by rank; null: they go as they stand
  Buffer<std::int64_t> begin_;               // of each rank's in it, and the end
  std::vector<PlaceRun> listed_, arrivals_;  // by rank: numbers in the order, and among the arriving ones
  std::int64_t kept_ = 0, arriving_ = 0;
  std::int64_t most_ = 0;  // that the rank with most sends or gets
};

}  // namespace pergola

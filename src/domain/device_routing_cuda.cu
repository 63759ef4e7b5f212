#include <utility>

#include "device/launch.cuh"
#include "device/sort.cuh"
#include "domain/device_routing.hpp"

namespace pergola {

namespace {

using RankSort = cuda::RadixSort<std::uint32_t, std::uint32_t>;

/// What a listing and its sort take.
struct SortMemory {
  std::uint32_t *keys, *other_keys, *values, *other_values;
  std::byte* scratch;
  std::int64_t bytes;

  SortMemory(void* work, std::int64_t count, std::size_t scratch_bytes) {
    MemoryParts parts(static_cast<std::byte*>(work));
    keys = parts.take<std::uint32_t>(count), values = parts.take<std::uint32_t>(count);
    other_keys = parts.take<std::uint32_t>(count), other_values = parts.take<std::uint32_t>(count);
    scratch = parts.take<std::byte>(static_cast<std::int64_t>(scratch_bytes));
    bytes = parts.used();
  }
};

/// Of sorted keys: where those of each rank begin.
struct FindBegins {
  const std::uint32_t* keys;
  std::int64_t count;
  std::int64_t* begin;
  __device__ void operator()(std::int64_t rank) const {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (static_cast<std::int64_t>(keys[middle]) < rank)
        low = middle + 1;
      else
        high = middle;
    }
    begin[rank] = low;
  }
};

/// Between the places of kept particles and, for those of this rank, the places of arriving ones, for others a
/// message.
template <class Word>
struct CarryListed {
  DeviceRouting::Fields fields;
  const std::uint32_t* order;
  PlaceRun own;                // in the order
  std::int64_t own_arrival;    // the first among the arriving ones
  Word* message;               // of one field after the other
  std::int64_t message_count;  // of a field
  bool there;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t place = order[k], from_own = k - own.first;
    const bool stays = from_own >= 0 && from_own < own.count;
    const std::int64_t other = k < own.first ? k : k - own.count;
    for (int f = 0; f < fields.count; ++f) {
      Word* const kept = static_cast<Word*>(fields.kept[f]) + place;
      Word* const away =
          stays ? static_cast<Word*>(fields.arrived[f]) + own_arrival + from_own : message + f * message_count + other;
      if (there)
        *away = *kept;
      else
        *kept = *away;
    }
  }
};

/// The messages of a field: values for each rank, or from it, stand one after the other but for the own ones, which are
/// left out.
struct Messages {
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;

  void add(const std::vector<PlaceRun>& sent, const std::byte* from, const std::vector<PlaceRun>& got, std::byte* to,
           std::size_t own, std::size_t value_bytes) {
    for (std::size_t r = 0; r < sent.size(); ++r) {
      if (r == own) continue;
      const std::size_t out_bytes = static_cast<std::size_t>(sent[r].count) * value_bytes,
                        in_bytes = static_cast<std::size_t>(got[r].count) * value_bytes;
      if (out_bytes > 0) out.push_back({static_cast<int>(r), from, out_bytes});
      if (in_bytes > 0) in.push_back({static_cast<int>(r), to, in_bytes});
      from += out_bytes, to += in_bytes;
    }
  }
};

}  // namespace

DeviceRouting::DeviceRouting(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), messages_(device, std::move(ranks)) {}

int DeviceRouting::rank_bits() const {
  int bits = 1;
  while ((messages_.size() - 1) >> bits) ++bits;
  return bits;
}

std::int64_t DeviceRouting::work_bytes(std::int64_t count) const {
  device_.make_current();
  const RankSort sort{static_cast<std::uint32_t>(count), 0, rank_bits()};
  return SortMemory(nullptr, count, sort.scratch_bytes()).bytes;
}

DeviceRouting::Listing DeviceRouting::listing(std::int64_t count, void* work) const {
  const SortMemory memory(work, count, 0);
  return {memory.keys, memory.values};
}

void DeviceRouting::plan(std::int64_t count, void* work) {
  device_.make_current();
  const std::size_t size = messages_.size();
  Arena arena(device_);
  if (order_.size() < count) arena.room(order_, count, count / 16);
  room(*this, arena, count);
  std::vector<std::int64_t> begin(size + 1, 0);
  if (count > 0) {
    const RankSort sort{static_cast<std::uint32_t>(count), 0, rank_bits()};
    const std::size_t scratch_bytes = sort.scratch_bytes();
    SortMemory memory(work, count, scratch_bytes);
    sort.sort(memory.scratch, scratch_bytes, memory.keys, memory.other_keys, memory.values, memory.other_values,
              device_.stream());
    device_.memory().copy(order_.data(), memory.values, static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    cuda::launch("particles by rank", static_cast<std::int64_t>(size + 1), device_.stream(),
                 FindBegins{memory.keys, count, begin_.data()});
    begin_.to_host(begin.data());
  }
  std::vector<std::int64_t> sent(size), there(size);
  for (std::size_t r = 0; r < size; ++r) sent[r] = begin[r + 1] - begin[r];
  const std::vector<std::size_t> one(size, sizeof(std::int64_t));
  messages_.ranks().all_to_all(sent.data(), one, there.data(), one);
  listed_.assign(size, {}), arrivals_.assign(size, {});
  arriving_ = 0, kept_ = count;
  for (std::size_t r = 0; r < size; ++r) {
    listed_[r] = {begin[r], sent[r]};
    arrivals_[r] = {std::exchange(arriving_, arriving_ + there[r]), there[r]};
  }
}

template <class Word>
void DeviceRouting::carry_there(const Fields& fields) {
  const std::size_t own = messages_.own_rank();
  const PlaceRun stays = listed_[own], arrival = arrivals_[own];
  const std::int64_t sent = kept_ - stays.count, got = arriving_ - arrival.count;
  constexpr auto word = static_cast<std::int64_t>(sizeof(Word));
  std::byte* const out_room = messages_.outgoing(fields.count * sent * word);
  std::byte* const in_room = messages_.incoming(fields.count * got * word);
  cuda::launch(
      "pack particles", kept_, device_.stream(),
      CarryListed<Word>{fields, order_.data(), stays, arrival.first, reinterpret_cast<Word*>(out_room), sent, true});
  Messages all;
  for (int f = 0; f < fields.count; ++f)
    all.add(listed_, out_room + f * sent * word, arrivals_, in_room + f * got * word, own, sizeof(Word));
  messages_.exchange(all.out, all.in);
  const std::int64_t before = arrival.first, after = got - before;
  for (int f = 0; f < fields.count; ++f) {
    const std::byte* const of_field = in_room + f * got * word;
    auto* const to = static_cast<std::byte*>(fields.arrived[f]);
    messages_.unload(to, of_field, before * word);
    messages_.unload(to + (before + arrival.count) * word, of_field + before * word, after * word);
  }
}

template <class Word>
void DeviceRouting::carry_back(const Fields& fields) {
  const std::size_t own = messages_.own_rank();
  const PlaceRun stays = listed_[own], arrival = arrivals_[own];
  const std::int64_t sent = arriving_ - arrival.count, got = kept_ - stays.count;
  constexpr auto word = static_cast<std::int64_t>(sizeof(Word));
  std::byte* const out_room = messages_.outgoing(fields.count * sent * word);
  std::byte* const in_room = messages_.incoming(fields.count * got * word);
  const std::int64_t before = arrival.first, after = sent - before;
  Messages all;
  for (int f = 0; f < fields.count; ++f) {
    std::byte* const of_field = out_room + f * sent * word;
    const auto* const from = static_cast<const std::byte*>(fields.arrived[f]);
    messages_.load(of_field, from, before * word);
    messages_.load(of_field + before * word, from + (before + arrival.count) * word, after * word);
    all.add(arrivals_, of_field, listed_, in_room + f * got * word, own, sizeof(Word));
  }
  messages_.exchange(all.out, all.in);
  cuda::launch(
      "unpack particles", kept_, device_.stream(),
      CarryListed<Word>{fields, order_.data(), stays, arrival.first, reinterpret_cast<Word*>(in_room), got, false});
}

void DeviceRouting::carry(const Fields& fields, std::size_t value_bytes, bool there) {
  device_.make_current();
  const auto with = [&](auto word) {
    there ? carry_there<decltype(word)>(fields) : carry_back<decltype(word)>(fields);
  };
  value_bytes == 8 ? with(std::uint64_t{}) : value_bytes == 4 ? with(std::uint32_t{}) : with(std::uint8_t{});
}

}  // namespace pergola

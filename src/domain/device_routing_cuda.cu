#include <algorithm>
#include <utility>

#include "comm/collectives.hpp"
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

/// Between the places of kept particles, as they are listed, and values that stand one after the other, those of each
/// field for themselves.
template <class Word>
struct CarryListed {
  DeviceRouting::Fields fields;
  const std::uint32_t* list;  // null: as they stand
  std::int64_t first;         // of them, in the list
  Word* away[DeviceRouting::most_fields];
  bool there;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t place = list ? list[first + k] : first + k;
    for (int f = 0; f < fields.count; ++f) {
      Word* const kept = static_cast<Word*>(fields.kept[f]) + place;
      if (there)
        away[f][k] = *kept;
      else
        *kept = away[f][k];
    }
  }
};

/// Between arrived particles that stand one after the other and a message with their values, field by field.
template <class Word>
struct CarryArrived {
  DeviceRouting::Fields fields;
  PlaceRun run;
  Word* message;
  bool there;
  __device__ void operator()(std::int64_t k) const {
    for (int f = 0; f < fields.count; ++f) {
      Word& arrived = static_cast<Word*>(fields.arrived[f])[run.first + k];
      Word& away = message[f * run.count + k];
      if (there)
        arrived = away;
      else
        away = arrived;
    }
  }
};

}  // namespace

DeviceRouting::DeviceRouting(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), messages_(std::make_shared<DeviceMessages>(device, std::move(ranks))) {}

DeviceRouting::DeviceRouting(std::shared_ptr<DeviceMessages> messages)
    : device_(messages->device()), messages_(std::move(messages)), shares_rooms_(true) {}

int DeviceRouting::rank_bits() const {
  int bits = 1;
  while ((messages_->size() - 1) >> bits) ++bits;
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

void DeviceRouting::plan(std::int64_t count, void* work, std::uint32_t* borrowed) {
  device_.make_current();
  const std::size_t size = messages_->size();
  Arena arena(device_);
  room_for_begins(*this, arena);
  if (borrowed)
    list_ = borrowed;
  else
    make_list(count);
  std::vector<std::int64_t> begin(size + 1, 0);
  if (count > 0) {
    const RankSort sort{static_cast<std::uint32_t>(count), 0, rank_bits()};
    const std::size_t scratch_bytes = sort.scratch_bytes();
    SortMemory memory(work, count, scratch_bytes);
    sort.sort(memory.scratch, scratch_bytes, memory.keys, memory.other_keys, memory.values, memory.other_values,
              device_.stream());
    device_.memory().copy(list_, memory.values, static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    cuda::launch("particles by rank", static_cast<std::int64_t>(size + 1), device_.stream(),
                 FindBegins{memory.keys, count, begin_.data()});
    begin_.to_host(begin.data());
  }
  std::vector<std::int64_t> sent(size);
  for (std::size_t r = 0; r < size; ++r) sent[r] = begin[r + 1] - begin[r];
  tell_counts(sent);
}

void DeviceRouting::make_list(std::int64_t particles) {
  Arena arena(device_);
  room(*this, arena, particles);
  list_ = order_.data();
}

/// The list has so many for each rank, those for rank 0 first.
void DeviceRouting::tell_counts(const std::vector<std::int64_t>& sent) {
  const std::size_t size = messages_->size();
  const std::vector<std::int64_t> there = pergola::tell_counts(messages_->ranks(), sent);
  listed_.assign(size, {}), arrivals_.assign(size, {});
  arriving_ = 0, kept_ = 0;
  for (std::size_t r = 0; r < size; ++r) {
    listed_[r] = {std::exchange(kept_, kept_ + sent[r]), sent[r]};
    arrivals_[r] = {std::exchange(arriving_, arriving_ + there[r]), there[r]};
  }
  most_ = std::max(kept_, arriving_) - sent[messages_->own_rank()];
  messages_->ranks().all_reduce(&most_, 1, Reduction::maximum);
}

void DeviceRouting::plan_in_order(const std::vector<std::int64_t>& sent) {
  list_ = nullptr;
  tell_counts(sent);
}

/// Values that go to each rank, and come from it, in one of several rounds: a message for each rank, its fields one
/// after the other.
struct DeviceRouting::Round {
  std::vector<PlaceRun> out, in;            // by rank: numbers in a list
  std::vector<std::int64_t> out_at, in_at;  // where their messages begin, in values of one field
  std::int64_t all_out = 0, all_in = 0;
};

/// Round q of so many, in which each rank sends each its part.
DeviceRouting::Round DeviceRouting::round(std::int64_t q, std::int64_t rounds, const std::vector<PlaceRun>& sent,
                                          const std::vector<PlaceRun>& got) const {
  Round found;
  const auto part = [&](const PlaceRun& run, bool own) {
    const std::int64_t begin = run.count * q / rounds, end = run.count * (q + 1) / rounds;
    return PlaceRun{run.first + begin, own ? 0 : end - begin};
  };
  for (std::size_t r = 0; r < sent.size(); ++r) {
    const bool own = r == messages_->own_rank();
    found.out.push_back(part(sent[r], own)), found.in.push_back(part(got[r], own));
    found.out_at.push_back(found.all_out), found.in_at.push_back(found.all_in);
    found.all_out += found.out[r].count, found.all_in += found.in[r].count;
  }
  return found;
}

/// What stays goes straight. The rest goes in rounds, so that the rooms of messages need not hold all of it.
template <class Word>
void DeviceRouting::carry_words(const Fields& fields, bool there) {
  constexpr auto word = static_cast<std::int64_t>(sizeof(Word));
  const auto carry_listed = [&](const PlaceRun& run, const auto& away_of) {
    CarryListed<Word> carry{fields, list_, run.first, {}, there};
    for (int f = 0; f < fields.count; ++f) carry.away[f] = away_of(f);
    cuda::launch("carry particles", run.count, device_.stream(), carry);
  };
  const auto carry_arrived = [&](const PlaceRun& run, Word* message) {
    cuda::launch("carry particles", run.count, device_.stream(), CarryArrived<Word>{fields, run, message, there});
  };
  const std::size_t own = messages_->own_rank();
  carry_listed(listed_[own], [&](int f) { return static_cast<Word*>(fields.arrived[f]) + arrivals_[own].first; });

  const std::int64_t most = messages_->most_bytes(), rounds = (most_ * fields.count * word + most - 1) / most;
  for (std::int64_t q = 0; q < rounds; ++q) {
    const Round now = round(q, rounds, there ? listed_ : arrivals_, there ? arrivals_ : listed_);
    Word* const out_room = reinterpret_cast<Word*>(messages_->outgoing(fields.count * now.all_out * word));
    Word* const in_room = reinterpret_cast<Word*>(messages_->incoming(fields.count * now.all_in * word));
    const auto out_of = [&](std::size_t r) { return out_room + fields.count * now.out_at[r]; };
    const auto in_of = [&](std::size_t r) { return in_room + fields.count * now.in_at[r]; };
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    for (std::size_t r = 0; r < listed_.size(); ++r) {
      const PlaceRun& run = now.out[r];
      if (run.count == 0) continue;
      if (there)
        carry_listed(run, [&](int f) { return out_of(r) + f * run.count; });
      else
        carry_arrived(run, out_of(r));
      out.push_back({static_cast<int>(r), out_of(r), static_cast<std::size_t>(fields.count * run.count * word)});
    }
    for (std::size_t r = 0; r < listed_.size(); ++r)
      if (now.in[r].count > 0)
        in.push_back({static_cast<int>(r), in_of(r), static_cast<std::size_t>(fields.count * now.in[r].count * word)});
    messages_->exchange(out, in);
    for (std::size_t r = 0; r < listed_.size(); ++r) {
      const PlaceRun& run = now.in[r];
      if (run.count == 0) continue;
      if (there)
        carry_arrived(run, in_of(r));
      else
        carry_listed(run, [&](int f) { return in_of(r) + f * run.count; });
    }
  }
}

void DeviceRouting::carry(const Fields& fields, std::size_t value_bytes, bool there) {
  device_.make_current();
  with_value_type(value_bytes, [&]<class Word>(Word) { carry_words<Word>(fields, there); });
}

}  // namespace pergola

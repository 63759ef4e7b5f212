#include "domain/device_stretches.hpp"

namespace pergola {

namespace {

/// Where in a room the values of an array, or what one rank sends of it, stand.
struct InRoom {
  std::size_t array = 0, rank = 0;
  Stretch part;
  std::int64_t at = 0;  // in bytes
};

/// The smallest stretch that has both.
Stretch hull(const Stretch& a, const Stretch& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const std::int64_t first = std::min(a.first, b.first);
  return {first, std::max(a.end(), b.end()) - first};
}

/// Takes the place of so many bytes in a room.
std::int64_t take(std::int64_t& used, std::int64_t bytes) {
  constexpr std::int64_t unit = 16;
  const std::int64_t at = used;
  used += (bytes + unit - 1) / unit * unit;
  return at;
}

}  // namespace

void fetch_stretches(const Device& device, DeviceMessages& messages, const std::vector<StretchedArray>& arrays) {
  const std::size_t own = messages.own_rank();
  std::vector<InRoom> leaving, given, taken;  // what leaves of each array; to each rank; from each rank
  std::int64_t out_bytes = 0, in_bytes = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const StretchedArray& array = arrays[a];
    const Stretch here = (*array.has)[own], wanted = (*array.wants)[own];
    InRoom& all = leaving.emplace_back(InRoom{a, own, {}, 0});
    const std::size_t first_given = given.size();
    for (std::size_t rank = 0; rank < messages.size(); ++rank) {
      if (rank == own) continue;
      if (const Stretch part = here.common((*array.wants)[rank]); part.count > 0) {
        all.part = hull(all.part, part);
        given.push_back({a, rank, part, 0});
      }
      if (const Stretch part = wanted.common((*array.has)[rank]); part.count > 0)
        taken.push_back({a, rank, part, take(in_bytes, part.count * array.value_bytes)});
    }
    all.at = take(out_bytes, all.part.count * array.value_bytes);
    for (std::size_t k = first_given; k < given.size(); ++k)
      given[k].at = all.at + (given[k].part.first - all.part.first) * array.value_bytes;
  }
  std::byte *const out = messages.outgoing(out_bytes), *const in = messages.incoming(in_bytes);
  const auto bytes_of = [&](const InRoom& one) { return one.part.count * arrays[one.array].value_bytes; };
  const auto here_of = [&](const InRoom& one) {
    const StretchedArray& array = arrays[one.array];
    return static_cast<const std::byte*>(array.own) + (one.part.first - (*array.has)[own].first) * array.value_bytes;
  };
  const auto there_of = [&](const InRoom& one) {
    const StretchedArray& array = arrays[one.array];
    return static_cast<std::byte*>(array.to) + (one.part.first - (*array.wants)[own].first) * array.value_bytes;
  };
  for (const InRoom& one : leaving) messages.load(out + one.at, here_of(one), bytes_of(one));
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  for (const InRoom& one : given)
    sent.push_back({static_cast<int>(one.rank), out + one.at, static_cast<std::size_t>(bytes_of(one))});
  for (const InRoom& one : taken)
    got.push_back({static_cast<int>(one.rank), in + one.at, static_cast<std::size_t>(bytes_of(one))});
  messages.exchange(sent, got);
  for (const InRoom& one : taken) messages.unload(there_of(one), in + one.at, bytes_of(one));
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const InRoom stays{a, own, (*arrays[a].has)[own].common((*arrays[a].wants)[own]), 0};
    if (stays.part.count > 0)
      device.memory().copy(there_of(stays), here_of(stays), static_cast<std::size_t>(bytes_of(stays)));
  }
}

}  // namespace pergola

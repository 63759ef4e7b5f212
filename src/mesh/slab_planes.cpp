// Planes of a mesh over ranks on the CPU: who owns which plane, and the exchange of ghost planes. A slab is the range
// of planes of one rank, in whole units. Lists of what to send and receive are made once, by every rank for itself,
// from the same rule: what rank A wants of B and what B gives to A are in the same order.
#include "mesh/slab_planes.hpp"

#include <cstring>

namespace pergola {

SlabPlanes::SlabPlanes(const Communicator& ranks, int planes, int unit)
    : units_{(planes + unit - 1) / unit, ranks.size()}, planes_(planes), unit_(unit), rank_(ranks.rank()) {
  for (int rank = 0; rank < ranks.size(); ++rank)
    owner_.insert(owner_.end(), static_cast<std::size_t>(count(rank)), rank);
}

template <class Around>
void PlanesAround::list(const Communicator& ranks, const SlabPlanes& slab, const Around& around) {
  const auto size = static_cast<std::size_t>(ranks.size());
  from_.resize(size), to_.resize(size);
  const int own = ranks.rank();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<Wanted> wanted = around(own, rank), given = around(rank, own);
    for (const Wanted& one : wanted) wanted_.push_back(one.place);
    for (const Wanted& one : given) owned_.push_back(one.plane - slab.first());
    from_[static_cast<std::size_t>(rank)] = wanted.size();
    to_[static_cast<std::size_t>(rank)] = given.size();
  }
}

namespace {

/// Turns a place, counted from the first plane of the mesh, into the number of its plane; false if there is none.
bool is_anywhere(int& plane, int planes, BeyondPlanes beyond) {
  const int next = beyond == BeyondPlanes::one ? 1 : 0;
  if (beyond == BeyondPlanes::wrap) plane = (plane % planes + planes) % planes;
  return plane >= -next && plane < planes + next;
}

}  // namespace

// Ghost planes next to the slab of each rank: `below` before and `above` after it. `beyond` says what lies beyond the
// mesh: its other end, nothing, or one plane more.
PlanesAround::PlanesAround(const Communicator& ranks, const SlabPlanes& slab, int below, int above, BeyondPlanes beyond)
    : below_(below), above_(above), own_planes_(slab.count()) {
  const int planes = slab.planes();
  // The planes around those of a rank that `owner` has.
  list(ranks, slab, [&](int rank, int owner) {
    std::vector<Wanted> found;
    const int first = slab.first(rank), count = slab.count(rank);
    if (count == 0) return found;
    for (int place = -below; place < count + above; ++place) {
      if (place >= 0 && place < count) continue;
      int plane = first + place;
      if (!is_anywhere(plane, planes, beyond)) continue;
      const int has_it = slab.owner(std::clamp(plane, 0, planes - 1));
      const bool is_there = has_it == rank && (plane < 0 || plane >= planes);
      if (has_it == owner && !is_there) found.push_back({place, plane});
    }
    return found;
  });
}

// Planes that ranks work on, which need not be those that they own: places begin … end - 1 of each range, with `above`
// ghost planes.
PlanesAround::PlanesAround(const Communicator& ranks, const SlabPlanes& slab, const std::vector<PlaneRange>& worked_on,
                           int above, BeyondPlanes beyond, int begin, int end)
    : below_(-begin), above_(above) {
  const int planes = slab.planes();
  list(ranks, slab, [&](int rank, int owner) {
    std::vector<Wanted> found;
    const PlaneRange& range = worked_on[static_cast<std::size_t>(rank)];
    const int last = range.count == 0 ? begin : std::min(end, range.count + above);
    for (int place = begin; place < last; ++place) {
      int plane = range.first + place;
      if (is_anywhere(plane, planes, beyond) && slab.owner(std::clamp(plane, 0, planes - 1)) == owner)
        found.push_back({place, plane});
    }
    return found;
  });
}

std::vector<std::size_t> PlanesAround::times(const std::vector<std::size_t>& counts, std::size_t bytes) {
  std::vector<std::size_t> all(counts);
  for (std::size_t& one : all) one *= bytes;
  return all;
}

void PlanesAround::fetch(Communicator& ranks, const Device& device, const std::byte* owned_first, std::byte* first,
                         std::size_t plane_bytes) {
  const auto at = [&](auto* from, int plane) { return from + static_cast<std::ptrdiff_t>(plane_bytes) * plane; };
  if (!device.is_cuda()) {
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    auto owned = owned_.begin(), wanted = wanted_.begin();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      for (std::size_t k = 0; k < to_[static_cast<std::size_t>(rank)]; ++k)
        out.push_back({rank, at(owned_first, *owned++), plane_bytes});
      for (std::size_t k = 0; k < from_[static_cast<std::size_t>(rank)]; ++k)
        in.push_back({rank, at(first, *wanted++), plane_bytes});
    }
    return ranks.exchange(out, in);
  }
  make_room(plane_bytes);
  for (std::size_t k = 0; k < owned_.size(); ++k)
    device.memory().to_host(near_.data() + k * plane_bytes, at(owned_first, owned_[k]), plane_bytes);
  ranks.all_to_all(near_.data(), times(to_, plane_bytes), far_.data(), times(from_, plane_bytes));
  for (std::size_t k = 0; k < wanted_.size(); ++k)
    device.memory().from_host(at(first, wanted_[k]), far_.data() + k * plane_bytes, plane_bytes);
}

// The reverse of fetch(): ghost planes go back to their owners. Returns them in the order of the list, one after the
// other; the caller adds them to the planes that it owns.
const std::byte* PlanesAround::give(Communicator& ranks, const std::byte* around, std::size_t plane_bytes) {
  near_.resize(owned_.size() * plane_bytes);
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  auto wanted = wanted_.begin();
  std::byte* to = near_.data();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t k = 0; k < from_[static_cast<std::size_t>(rank)]; ++k, ++wanted) {
      const int place = *wanted < 0 ? *wanted + below_ : *wanted - own_planes_ + below_;
      out.push_back({rank, around + static_cast<std::size_t>(place) * plane_bytes, plane_bytes});
    }
    for (std::size_t k = 0; k < to_[static_cast<std::size_t>(rank)]; ++k, to += plane_bytes)
      in.push_back({rank, to, plane_bytes});
  }
  ranks.exchange(out, in);
  return near_.data();
}

// Fetches in rounds of a few planes, so that no rank needs more than about most_bytes for messages. If one rank owns
// most of the wanted planes, rounds are halved until its part is small as well.
PlanesWorkedOn::PlanesWorkedOn(const Communicator& ranks, const SlabPlanes& slab,
                               const std::vector<PlaneRange>& worked_on, int below, int above, BeyondPlanes beyond,
                               std::size_t plane_bytes, std::int64_t most_bytes) {
  int end = -below;
  for (const PlaneRange& range : worked_on)
    if (range.count > 0) end = std::max(end, range.count + above);
  // Planes that one rank has for all others in a round: those of a disc are all in few slabs.
  const auto most_of_an_owner = [&](int at_once) {
    const int rounds = (end + below + at_once - 1) / at_once;
    std::vector<std::int64_t> planes(static_cast<std::size_t>(rounds) * static_cast<std::size_t>(ranks.size()));
    for (const PlaneRange& range : worked_on)
      for (int place = -below; range.count > 0 && place < range.count + above; ++place) {
        int plane = range.first + place;
        if (!is_anywhere(plane, slab.planes(), beyond)) continue;
        const int owner = slab.owner(std::clamp(plane, 0, slab.planes() - 1));
        ++planes[static_cast<std::size_t>((place + below) / at_once * ranks.size() + owner)];
      }
    return *std::max_element(planes.begin(), planes.end());
  };
  const std::int64_t most = std::max<std::int64_t>(1, most_bytes / static_cast<std::int64_t>(plane_bytes));
  at_once_ = static_cast<int>(std::min<std::int64_t>(most, end + below));
  while (at_once_ > 1 && most_of_an_owner(at_once_) > 2 * most) at_once_ = (at_once_ + 1) / 2;
  for (int begin = -below; begin < end; begin += at_once_)
    rounds_.push_back({begin, begin + at_once_,
                       PlanesAround(ranks, slab, worked_on, above, beyond, begin, std::min(end, begin + at_once_))});
}

std::int64_t PlanesWorkedOn::message_bytes(std::size_t plane_bytes) const {
  std::int64_t most = 0;
  for (const Round& round : rounds_) most = std::max(most, round.planes.message_bytes(plane_bytes));
  return most;
}

}  // namespace pergola

#include "mesh/slab_planes.hpp"

#include <cstring>

namespace pergola {

SlabPlanes::SlabPlanes(const Communicator& ranks, int planes, int unit)
    : units_{(planes + unit - 1) / unit, ranks.size()}, planes_(planes), unit_(unit), rank_(ranks.rank()) {
  for (int rank = 0; rank < ranks.size(); ++rank)
    owner_.insert(owner_.end(), static_cast<std::size_t>(count(rank)), rank);
}

PlanesAround::PlanesAround(const Communicator& ranks, const SlabPlanes& slab, int below, int above, BeyondPlanes beyond)
    : below_(below),
      above_(above),
      from_(static_cast<std::size_t>(ranks.size())),
      to_(static_cast<std::size_t>(ranks.size())),
      own_planes_(slab.count()) {
  struct Wanted {
    int place, plane;  // from the first of the rank that wants it, and of the mesh
  };
  const int planes = slab.planes(), next = beyond == BeyondPlanes::one ? 1 : 0;
  // The planes around those of a rank that `owner` has.
  const auto around = [&](int rank, int owner) {
    std::vector<Wanted> found;
    const int first = slab.first(rank), count = slab.count(rank);
    if (count == 0) return found;
    for (int place = -below; place < count + above; ++place) {
      if (place >= 0 && place < count) continue;
      int plane = first + place;
      if (beyond == BeyondPlanes::wrap) plane = (plane % planes + planes) % planes;
      if (plane < -next || plane >= planes + next) continue;
      const int has_it = slab.owner(std::clamp(plane, 0, planes - 1));
      const bool is_there = has_it == rank && (plane < 0 || plane >= planes);
      if (has_it == owner && !is_there) found.push_back({place, plane});
    }
    return found;
  };
  const int own = ranks.rank();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto wanted = around(own, rank), given = around(rank, own);
    for (const Wanted& one : wanted) wanted_.push_back(one.place);
    for (const Wanted& one : given) owned_.push_back(one.plane - slab.first());
    from_[static_cast<std::size_t>(rank)] = wanted.size();
    to_[static_cast<std::size_t>(rank)] = given.size();
  }
}

std::vector<std::size_t> PlanesAround::times(const std::vector<std::size_t>& counts, std::size_t bytes) {
  std::vector<std::size_t> all(counts);
  for (std::size_t& one : all) one *= bytes;
  return all;
}

void PlanesAround::fetch(Communicator& ranks, const Device& device, std::byte* first, std::size_t plane_bytes) {
  const auto at = [&](int plane) { return first + static_cast<std::ptrdiff_t>(plane_bytes) * plane; };
  if (!device.is_cuda()) {
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    auto owned = owned_.begin(), wanted = wanted_.begin();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      for (std::size_t k = 0; k < to_[static_cast<std::size_t>(rank)]; ++k)
        out.push_back({rank, at(*owned++), plane_bytes});
      for (std::size_t k = 0; k < from_[static_cast<std::size_t>(rank)]; ++k)
        in.push_back({rank, at(*wanted++), plane_bytes});
    }
    return ranks.exchange(out, in);
  }
  make_room(plane_bytes);
  for (std::size_t k = 0; k < owned_.size(); ++k)
    device.memory().to_host(near_.data() + k * plane_bytes, at(owned_[k]), plane_bytes);
  ranks.all_to_all(near_.data(), times(to_, plane_bytes), far_.data(), times(from_, plane_bytes));
  for (std::size_t k = 0; k < wanted_.size(); ++k)
    device.memory().from_host(at(wanted_[k]), far_.data() + k * plane_bytes, plane_bytes);
}

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

}  // namespace pergola

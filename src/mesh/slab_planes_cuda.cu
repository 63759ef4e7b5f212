// Ghost planes of fields on GPUs. Planes are gathered into one message per rank (DeviceMessages), sent in one exchange,
// and written to their places. Planes that a rank wants of itself are copied on the device.
#include <numeric>
#include <utility>

#include "domain/device_messages.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

namespace {

std::int64_t bytes_of(const std::vector<int>& planes, std::size_t plane_bytes) {
  return std::ssize(planes) * static_cast<std::int64_t>(plane_bytes);
}

/// body(plane, count) for planes from the begin-th on that follow one another in memory.
template <class Body>
void each_stretch(const std::vector<int>& planes, std::size_t begin, std::size_t count, const Body& body) {
  for (std::size_t k = begin; k < begin + count;) {
    std::size_t length = 1;
    while (k + length < begin + count && planes[k + length] == planes[k] + static_cast<int>(length)) ++length;
    body(planes[k], static_cast<int>(length));
    k += length;
  }
}

/// Planes, or bytes, of ranks before this one.
std::size_t before(const std::vector<std::size_t>& counts, std::size_t rank) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
}

template <class Byte>
Byte* plane_at(Byte* first, int plane, std::size_t plane_bytes) {
  return first + static_cast<std::ptrdiff_t>(plane_bytes) * plane;
}

}  // namespace

DevicePlanes::DevicePlanes(const Device& device, std::shared_ptr<Communicator> ranks)
    : DevicePlanes(std::make_shared<DeviceMessages>(device, std::move(ranks))) {}

DevicePlanes::DevicePlanes(std::shared_ptr<DeviceMessages> messages)
    : device_(messages->device()), messages_(std::move(messages)) {}

/// What is for this rank itself stays out of the messages, and has its room in both.
void DevicePlanes::exchange(const std::byte* out, const std::vector<std::size_t>& leaving, std::byte* in,
                            const std::vector<std::size_t>& coming, std::size_t plane_bytes) {
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  for (std::size_t r = 0; r < messages_->size(); ++r) {
    const std::size_t gone = leaving[r] * plane_bytes, come = coming[r] * plane_bytes;
    if (r != messages_->own_rank() && gone > 0) sent.push_back({static_cast<int>(r), out, gone});
    if (r != messages_->own_rank() && come > 0) got.push_back({static_cast<int>(r), in, come});
    out += gone, in += come;
  }
  messages_->exchange(sent, got);
}

/// All fields in one exchange: (1) copy what others want into messages, (2) exchange, (3) copy what came to its places.
void DevicePlanes::fetch(const std::vector<Wanted>& fields) {
  std::int64_t leaving = 0, coming = 0;
  for (const Wanted& field : fields) {
    leaving += bytes_of(field.around->arriving(), field.plane_bytes);
    coming += bytes_of(field.around->wanted(), field.plane_bytes);
  }
  std::byte* out = messages_->outgoing(leaving);
  std::byte* in = messages_->incoming(coming);
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  struct Arrival {
    std::byte* to;
    const std::byte* message;
    std::int64_t bytes;
  };
  std::vector<Arrival> arrivals;
  for (const Wanted& field : fields) {
    const PlanesAround& around = *field.around;
    const auto at = [&](int plane) { return plane_at(field.first, plane, field.plane_bytes); };
    const auto owned_at = [&](int plane) {
      return plane_at(field.owned ? field.owned : field.first, plane, field.plane_bytes);
    };
    std::size_t owned = 0, wanted = 0;
    for (std::size_t r = 0; r < messages_->size(); ++r) {
      const std::size_t gone = around.owned_for()[r], come = around.wanted_of()[r];
      if (r == messages_->own_rank()) {  // both lists name the same planes
        for (std::size_t k = 0; k < come; ++k)
          device_.memory().copy(at(around.wanted()[wanted + k]), owned_at(around.arriving()[owned + k]),
                                field.plane_bytes);
      } else {
        if (gone > 0) sent.push_back({static_cast<int>(r), out, gone * field.plane_bytes});
        if (come > 0) got.push_back({static_cast<int>(r), in, come * field.plane_bytes});
        each_stretch(around.arriving(), owned, gone, [&](int plane, int count) {
          const std::int64_t bytes = count * static_cast<std::int64_t>(field.plane_bytes);
          messages_->load(out, owned_at(plane), bytes);
          out += bytes;
        });
        each_stretch(around.wanted(), wanted, come, [&](int plane, int count) {
          const std::int64_t bytes = count * static_cast<std::int64_t>(field.plane_bytes);
          arrivals.push_back({at(plane), in, bytes});
          in += bytes;
        });
      }
      owned += gone, wanted += come;
    }
  }
  messages_->exchange(sent, got);
  for (const Arrival& one : arrivals) messages_->unload(one.to, one.message, one.bytes);
}

/// Returns device memory with the planes of this rank, as received from each rank; valid until the next exchange.
const std::byte* DevicePlanes::give(const PlanesAround& around, const std::byte* first, std::size_t plane_bytes) {
  const auto &owned = around.arriving(), &wanted = around.wanted();
  const auto bytes = static_cast<std::int64_t>(plane_bytes);
  std::byte* const out = messages_->outgoing(bytes_of(wanted, plane_bytes));
  std::byte* const in = messages_->incoming(bytes_of(owned, plane_bytes));
  for (std::size_t k = 0; k < wanted.size(); ++k)
    messages_->load(out + k * plane_bytes, plane_at(first, wanted[k], plane_bytes), bytes);
  exchange(out, around.wanted_of(), in, around.owned_for(), plane_bytes);
  const std::size_t own = messages_->own_rank(), from = before(around.wanted_of(), own),
                    stay = before(around.owned_for(), own);
  for (std::size_t k = 0; k < around.wanted_of()[own]; ++k)
    messages_->load(in + (stay + k) * plane_bytes, plane_at(first, wanted[from + k], plane_bytes), bytes);
  return in;
}

/// All ranks get all pieces, which stand in `all` in the order of ranks. This rank's own piece is there before.
void DevicePlanes::gather(std::byte* all, const std::vector<std::size_t>& piece_bytes) {
  const std::size_t rank = messages_->own_rank(), own = piece_bytes[rank], start = before(piece_bytes, rank),
                    others = before(piece_bytes, piece_bytes.size()) - own;
  std::byte* const out = messages_->outgoing(static_cast<std::int64_t>(own));
  std::byte* const in = messages_->incoming(static_cast<std::int64_t>(others));
  messages_->load(out, all + start, static_cast<std::int64_t>(own));
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  std::byte* next = in;
  for (std::size_t r = 0; r < messages_->size(); ++r) {
    if (r == rank) continue;
    if (own > 0) sent.push_back({static_cast<int>(r), out, own});
    if (piece_bytes[r] > 0) got.push_back({static_cast<int>(r), next, piece_bytes[r]});
    next += piece_bytes[r];
  }
  messages_->exchange(sent, got);
  messages_->unload(all, in, static_cast<std::int64_t>(start));
  messages_->unload(all + start + own, in + start, static_cast<std::int64_t>(others - start));
}

}  // namespace pergola

#include <numeric>
#include <utility>

#include "mesh/device_planes.hpp"

namespace pergola {

namespace {

std::int64_t bytes_of(const std::vector<int>& planes, std::size_t plane_bytes) {
  return std::ssize(planes) * static_cast<std::int64_t>(plane_bytes);
}

/// Planes of ranks before this one.
std::size_t before(const std::vector<std::size_t>& counts, std::size_t rank) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
}

template <class Byte>
Byte* plane_at(Byte* first, int plane, std::size_t plane_bytes) {
  return first + static_cast<std::ptrdiff_t>(plane_bytes) * plane;
}

}  // namespace

DevicePlanes::DevicePlanes(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), messages_(device, std::move(ranks)) {}

/// What is for this rank itself stays out of the messages, and has its room in both.
void DevicePlanes::exchange(const std::byte* out, const std::vector<std::size_t>& leaving, std::byte* in,
                            const std::vector<std::size_t>& coming, std::size_t plane_bytes) {
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  for (std::size_t r = 0; r < messages_.size(); ++r) {
    const std::size_t gone = leaving[r] * plane_bytes, come = coming[r] * plane_bytes;
    if (r != messages_.own_rank() && gone > 0) sent.push_back({static_cast<int>(r), out, gone});
    if (r != messages_.own_rank() && come > 0) got.push_back({static_cast<int>(r), in, come});
    out += gone, in += come;
  }
  messages_.exchange(sent, got);
}

void DevicePlanes::fetch(const PlanesAround& around, std::byte* first, std::size_t plane_bytes) {
  const auto &owned = around.arriving(), &wanted = around.wanted();
  const auto bytes = static_cast<std::int64_t>(plane_bytes);
  std::byte* const out = messages_.outgoing(bytes_of(owned, plane_bytes));
  std::byte* const in = messages_.incoming(bytes_of(wanted, plane_bytes));
  for (std::size_t k = 0; k < owned.size(); ++k)
    messages_.load(out + k * plane_bytes, plane_at(first, owned[k], plane_bytes), bytes);
  exchange(out, around.owned_for(), in, around.wanted_of(), plane_bytes);
  const std::size_t own = messages_.own_rank(), stay = before(around.wanted_of(), own),
                    end = stay + around.wanted_of()[own], from = before(around.owned_for(), own);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    std::byte* const to = plane_at(first, wanted[k], plane_bytes);
    if (k >= stay && k < end)
      device_.memory().copy(to, plane_at(first, owned[from + k - stay], plane_bytes), plane_bytes);
    else
      messages_.unload(to, in + k * plane_bytes, bytes);
  }
}

const std::byte* DevicePlanes::give(const PlanesAround& around, const std::byte* first, std::size_t plane_bytes) {
  const auto &owned = around.arriving(), &wanted = around.wanted();
  const auto bytes = static_cast<std::int64_t>(plane_bytes);
  std::byte* const out = messages_.outgoing(bytes_of(wanted, plane_bytes));
  std::byte* const in = messages_.incoming(bytes_of(owned, plane_bytes));
  for (std::size_t k = 0; k < wanted.size(); ++k)
    messages_.load(out + k * plane_bytes, plane_at(first, wanted[k], plane_bytes), bytes);
  exchange(out, around.wanted_of(), in, around.owned_for(), plane_bytes);
  const std::size_t own = messages_.own_rank(), from = before(around.wanted_of(), own),
                    stay = before(around.owned_for(), own);
  for (std::size_t k = 0; k < around.wanted_of()[own]; ++k)
    messages_.load(in + (stay + k) * plane_bytes, plane_at(first, wanted[from + k], plane_bytes), bytes);
  return in;
}

}  // namespace pergola

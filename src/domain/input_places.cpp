#include "domain/input_places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "device/parallel.hpp"
#include "device/sort.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 16384;

std::vector<std::int64_t> counts_below(const Device& device, const Buffer<std::uint64_t>& rising,
                                       const std::vector<std::uint64_t>& bounds) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return counts_below_cuda(device, rising, bounds);
  }
  std::vector<std::int64_t> below;
  const std::uint64_t* const begin = rising.data();
  for (const std::uint64_t bound : bounds)
    below.push_back(std::lower_bound(begin, begin + rising.size(), bound) - begin);
  return below;
}

/// Places below `limit`, which four bytes hold.
RisingPlaces sorted_by_words(const Device& device, const Buffer<std::uint64_t>& places, std::uint64_t limit) {
  const std::int64_t n = places.size();
  Buffer<std::byte> work(device, order_by_key_bytes(n));
  auto* const words = reinterpret_cast<std::uint32_t*>(work.data());
  RisingPlaces rising{Buffer<std::uint64_t>(device, n), Buffer<std::uint32_t>(device, n)};
  for (std::int64_t k = 0; k < n; ++k) words[k] = static_cast<std::uint32_t>(places.data()[k]);
  if (n > 0) order_by_key(device.threads(), n, static_cast<std::int64_t>(limit), rising.order.data(), words);
  for (std::int64_t k = 0; k < n; ++k) rising.places.data()[k] = places.data()[rising.order.data()[k]];
  return rising;
}

}  // namespace

Buffer<std::uint64_t> places_from(const Device& device, std::int64_t first, std::int64_t count) {
  Buffer<std::uint64_t> places(device, count);
  if constexpr (cuda_built) {
    if (device.is_cuda()) {
      fill_places_cuda(device, first, places);
      return places;
    }
  }
  std::iota(places.data(), places.data() + count, static_cast<std::uint64_t>(first));
  return places;
}

RisingPlaces sorted(const Device& device, Buffer<std::uint64_t> places) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return sorted_cuda(device, std::move(places));
  }
  const std::int64_t n = places.size();
  const std::uint64_t limit = n > 0 ? *std::max_element(places.data(), places.data() + n) + 1 : 1;
  if (limit <= std::numeric_limits<std::uint32_t>::max()) return sorted_by_words(device, places, limit);
  SortBuffers sort{std::move(places), Buffer<std::uint64_t>(device, n), Buffer<std::uint32_t>(device, n),
                   Buffer<std::uint32_t>(device, n)};
  std::iota(sort.values.data(), sort.values.data() + n, 0u);
  if (n > 0) sort_by_key_cpu(device, n, sort);
  return {std::move(sort.keys), std::move(sort.values)};
}

std::vector<std::int64_t> counts_by_share(const Device& device, const Buffer<std::uint64_t>& rising,
                                          const Shares& shares) {
  std::vector<std::uint64_t> ends;
  for (int rank = 0; rank < shares.ranks; ++rank) ends.push_back(static_cast<std::uint64_t>(shares.first(rank + 1)));
  std::vector<std::int64_t> counts = counts_below(device, rising, ends);
  std::adjacent_difference(counts.begin(), counts.end(), counts.begin());
  return counts;
}

void places_in_share(const Device& device, const Buffer<std::uint64_t>& places, std::int64_t first, std::uint32_t* to) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return places_in_share_cuda(device, places, first, to);
  }
  parallel_chunks(device.threads(), places.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      to[k] = static_cast<std::uint32_t>(places.data()[k] - static_cast<std::uint64_t>(first));
  });
}

}  // namespace pergola

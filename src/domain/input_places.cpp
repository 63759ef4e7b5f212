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

template <class Place>
std::vector<std::int64_t> counts_below(const Device& device, const Place* rising, std::int64_t count,
                                       const std::vector<std::uint64_t>& bounds) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return counts_below_cuda(device, rising, count, bounds);
  }
  std::vector<std::int64_t> below;
  for (const std::uint64_t bound : bounds) below.push_back(std::lower_bound(rising, rising + count, bound) - rising);
  return below;
}

/// Of more places than four bytes tell apart.
void sort_long_places(const Device& device, std::int64_t count, std::uint64_t* places, std::uint32_t* order) {
  SortBuffers sort{Buffer<std::uint64_t>(device, count), Buffer<std::uint64_t>(device, count),
                   Buffer<std::uint32_t>(device, count), Buffer<std::uint32_t>(device, count)};
  std::copy(places, places + count, sort.keys.data());
  std::iota(sort.values.data(), sort.values.data() + count, 0u);
  sort_by_key_cpu(device, count, sort);
  std::copy(sort.keys.data(), sort.keys.data() + count, places);
  std::copy(sort.values.data(), sort.values.data() + count, order);
}

}  // namespace

template <class Place>
void fill_places(const Device& device, std::int64_t first, std::int64_t count, Place* places) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return fill_places_cuda(device, first, count, places);
  }
  std::iota(places, places + count, static_cast<Place>(first));
}

template <class Place>
std::int64_t places_work_bytes(const Device& device, std::int64_t count) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return places_work_bytes_cuda<Place>(device, count);
  }
  return std::max(order_by_key_bytes(count), count * std::int64_t{sizeof(Place)});
}

template <class Place>
void sort_places(const Device& device, std::int64_t count, Place* places, std::uint32_t* order, std::byte* work) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return sort_places_cuda(device, count, places, order, work);
  }
  if (count == 0) return;
  const std::uint64_t limit = std::uint64_t{*std::max_element(places, places + count)} + 1;
  if constexpr (sizeof(Place) > sizeof(std::uint32_t)) {
    if (limit > std::numeric_limits<std::uint32_t>::max()) return sort_long_places(device, count, places, order);
  }
  auto* const words = reinterpret_cast<std::uint32_t*>(work);
  for (std::int64_t k = 0; k < count; ++k) words[k] = static_cast<std::uint32_t>(places[k]);
  order_by_key(device.threads(), count, static_cast<std::int64_t>(limit), order, work);
  auto* const before = reinterpret_cast<Place*>(work);
  std::copy(places, places + count, before);
  for (std::int64_t k = 0; k < count; ++k) places[k] = before[order[k]];
}

template <class Place>
std::vector<std::int64_t> counts_by_share(const Device& device, const Place* rising, std::int64_t count,
                                          const Shares& shares) {
  std::vector<std::uint64_t> ends;
  for (int rank = 0; rank < shares.ranks; ++rank) ends.push_back(static_cast<std::uint64_t>(shares.first(rank + 1)));
  std::vector<std::int64_t> counts = counts_below(device, rising, count, ends);
  std::adjacent_difference(counts.begin(), counts.end(), counts.begin());
  return counts;
}

template <class Place>
void places_in_share(const Device& device, const Place* places, std::int64_t count, std::int64_t first,
                     std::uint32_t* to) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return places_in_share_cuda(device, places, count, first, to);
  }
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      to[k] = static_cast<std::uint32_t>(places[k] - static_cast<Place>(first));
  });
}

#define PERGOLA_INPUT_PLACES_OF(Place)                                                                          \
  template void fill_places(const Device&, std::int64_t, std::int64_t, Place*);                                 \
  template void sort_places(const Device&, std::int64_t, Place*, std::uint32_t*, std::byte*);                   \
  template std::int64_t places_work_bytes<Place>(const Device&, std::int64_t);                                  \
  template std::vector<std::int64_t> counts_by_share(const Device&, const Place*, std::int64_t, const Shares&); \
  template void places_in_share(const Device&, const Place*, std::int64_t, std::int64_t, std::uint32_t*);
PERGOLA_INPUT_PLACES_OF(std::uint32_t)
PERGOLA_INPUT_PLACES_OF(std::uint64_t)
#undef PERGOLA_INPUT_PLACES_OF

}  // namespace pergola

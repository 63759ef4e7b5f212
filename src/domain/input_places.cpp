#include "domain/input_places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "device/parallel.hpp"
#include "device/sort.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 16384;

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

void fill_places(const Device& device, std::int64_t first, std::int64_t count, std::uint64_t* places) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return fill_places_cuda(device, first, count, places);
  }
  std::iota(places, places + count, static_cast<std::uint64_t>(first));
}

std::int64_t places_work_bytes(const Device& device, std::int64_t count, std::int64_t limit) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return places_work_bytes_cuda(device, count, limit);
  }
  return std::max(order_by_key_bytes(count), count * std::int64_t{sizeof(std::uint64_t)});
}

void sort_places(const Device& device, std::int64_t count, std::int64_t limit, std::uint64_t* places,
                 std::uint32_t* order, std::byte* work) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return sort_places_cuda(device, count, limit, places, order, work);
  }
  if (count == 0) return;
  if (limit > std::numeric_limits<std::uint32_t>::max()) return sort_long_places(device, count, places, order);
  auto* const words = reinterpret_cast<std::uint32_t*>(work);
  for (std::int64_t k = 0; k < count; ++k) words[k] = static_cast<std::uint32_t>(places[k]);
  order_by_key(device.threads(), count, limit, order, work);
  auto* const before = reinterpret_cast<std::uint64_t*>(work);
  std::copy(places, places + count, before);
  for (std::int64_t k = 0; k < count; ++k) places[k] = before[order[k]];
}

std::vector<std::int64_t> counts_below(const Device& device, const std::uint64_t* rising, std::int64_t count,
                                       const std::vector<std::int64_t>& bounds) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return counts_below_cuda(device, rising, count, bounds);
  }
  std::vector<std::int64_t> below;
  for (const std::int64_t bound : bounds)
    below.push_back(std::lower_bound(rising, rising + count, static_cast<std::uint64_t>(bound)) - rising);
  return below;
}

void places_from(const Device& device, const std::uint64_t* places, std::int64_t count, std::int64_t first,
                 std::uint32_t* to) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return places_from_cuda(device, places, count, first, to);
  }
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      to[k] = static_cast<std::uint32_t>(places[k] - static_cast<std::uint64_t>(first));
  });
}

}  // namespace pergola

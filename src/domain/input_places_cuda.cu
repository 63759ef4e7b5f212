#include <bit>

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "device/sort.cuh"
#include "domain/input_places.hpp"

namespace pergola {

namespace {

cuda::RadixSort<std::uint64_t, std::int64_t> sort_below(std::int64_t count, std::int64_t limit) {
  return {count, 0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limit)))};
}

/// What a sort takes beside its places and their order.
struct SortMemory {
  std::uint64_t* other_places;
  std::uint32_t* other_order;
  std::byte* scratch;
  std::int64_t bytes;

  SortMemory(std::byte* work, std::int64_t count, std::size_t scratch_bytes) {
    MemoryParts parts(work);
    other_places = parts.take<std::uint64_t>(count), other_order = parts.take<std::uint32_t>(count);
    scratch = parts.take<std::byte>(static_cast<std::int64_t>(scratch_bytes));
    bytes = parts.used();
  }
};

}  // namespace

void fill_places_cuda(const Device& device, std::int64_t first, std::int64_t count, std::uint64_t* places) {
  device.make_current();
  cuda::launch("places", count, device.stream(),
               [places, first] __device__(std::int64_t k) { places[k] = static_cast<std::uint64_t>(first + k); });
}

std::int64_t places_work_bytes_cuda(const Device& device, std::int64_t count, std::int64_t limit) {
  device.make_current();
  return SortMemory(nullptr, count, count > 0 ? sort_below(count, limit).scratch_bytes() : 0).bytes;
}

void sort_places_cuda(const Device& device, std::int64_t count, std::int64_t limit, std::uint64_t* places,
                      std::uint32_t* order, std::byte* work) {
  if (count == 0) return;
  device.make_current();
  const auto sort = sort_below(count, limit);
  const std::size_t bytes = sort.scratch_bytes();
  const SortMemory memory(work, count, bytes);
  cuda::launch("places", count, device.stream(),
               [order] __device__(std::int64_t k) { order[k] = static_cast<std::uint32_t>(k); });
  std::uint64_t* keys = places;
  std::uint32_t* values = order;
  sort.sort(memory.scratch, bytes, keys, memory.other_places, values, memory.other_order, device.stream());
  const auto n = static_cast<std::size_t>(count);
  if (keys != places) device.memory().copy(places, keys, n * sizeof *keys);
  if (values != order) device.memory().copy(order, values, n * sizeof *values);
}

std::vector<std::int64_t> counts_below_cuda(const Device& device, const std::uint64_t* rising, std::int64_t count,
                                            const std::vector<std::int64_t>& bounds) {
  device.make_current();
  const Buffer<std::int64_t> all(device, bounds);
  Buffer<std::int64_t> below(device, all.size());
  cuda::launch("places below", all.size(), device.stream(),
               [rising, count, bound = all.data(), to = below.data()] __device__(std::int64_t b) {
                 std::int64_t low = 0, high = count;
                 while (low < high) {
                   const std::int64_t middle = (low + high) / 2;
                   if (rising[middle] < static_cast<std::uint64_t>(bound[b]))
                     low = middle + 1;
                   else
                     high = middle;
                 }
                 to[b] = low;
               });
  return below.to_host();
}

void places_from_cuda(const Device& device, const std::uint64_t* places, std::int64_t count, std::int64_t first,
                      std::uint32_t* to) {
  device.make_current();
  cuda::launch("places", count, device.stream(), [places, to, first] __device__(std::int64_t k) {
    to[k] = static_cast<std::uint32_t>(places[k] - static_cast<std::uint64_t>(first));
  });
}

}  // namespace pergola

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "device/sort.cuh"
#include "domain/input_places.hpp"

namespace pergola {

namespace {

/// All their bits.
template <class Place>
cuda::RadixSort<Place, std::int64_t> sort_of(std::int64_t count) {
  return {count, 0, 8 * static_cast<int>(sizeof(Place))};
}

/// What a sort takes beside its places and their order.
template <class Place>
struct SortMemory {
  Place* other_places;
  std::uint32_t* other_order;
  std::byte* scratch;
  std::int64_t bytes;

  SortMemory(std::byte* work, std::int64_t count, std::size_t scratch_bytes) {
    MemoryParts parts(work);
    other_places = parts.take<Place>(count), other_order = parts.take<std::uint32_t>(count);
    scratch = parts.take<std::byte>(static_cast<std::int64_t>(scratch_bytes));
    bytes = parts.used();
  }
};

}  // namespace

template <class Place>
void fill_places_cuda(const Device& device, std::int64_t first, std::int64_t count, Place* places) {
  device.make_current();
  cuda::launch("places", count, device.stream(),
               [places, first = static_cast<Place>(first)] __device__(std::int64_t k) {
                 places[k] = first + static_cast<Place>(k);
               });
}

template <class Place>
std::int64_t places_work_bytes_cuda(const Device& device, std::int64_t count) {
  device.make_current();
  return SortMemory<Place>(nullptr, count, count > 0 ? sort_of<Place>(count).scratch_bytes() : 0).bytes;
}

template <class Place>
void sort_places_cuda(const Device& device, std::int64_t count, Place* places, std::uint32_t* order, std::byte* work) {
  if (count == 0) return;
  device.make_current();
  const auto sort = sort_of<Place>(count);
  const std::size_t bytes = sort.scratch_bytes();
  const SortMemory<Place> memory(work, count, bytes);
  cuda::launch("places", count, device.stream(),
               [order] __device__(std::int64_t k) { order[k] = static_cast<std::uint32_t>(k); });
  Place* keys = places;
  std::uint32_t* values = order;
  sort.sort(memory.scratch, bytes, keys, memory.other_places, values, memory.other_order, device.stream());
  const auto n = static_cast<std::size_t>(count);
  if (keys != places) device.memory().copy(places, keys, n * sizeof *keys);
  if (values != order) device.memory().copy(order, values, n * sizeof *values);
}

template <class Place>
std::vector<std::int64_t> counts_below_cuda(const Device& device, const Place* rising, std::int64_t count,
                                            const std::vector<std::uint64_t>& bounds) {
  device.make_current();
  const Buffer<std::uint64_t> all(device, bounds);
  Buffer<std::int64_t> below(device, all.size());
  cuda::launch("places below", all.size(), device.stream(),
               [rising, count, bound = all.data(), to = below.data()] __device__(std::int64_t b) {
                 std::int64_t low = 0, high = count;
                 while (low < high) {
                   const std::int64_t middle = (low + high) / 2;
                   if (rising[middle] < bound[b])
                     low = middle + 1;
                   else
                     high = middle;
                 }
                 to[b] = low;
               });
  return below.to_host();
}

template <class Place>
void places_in_share_cuda(const Device& device, const Place* places, std::int64_t count, std::int64_t first,
                          std::uint32_t* to) {
  device.make_current();
  cuda::launch("places", count, device.stream(),
               [places, to, first = static_cast<Place>(first)] __device__(std::int64_t k) {
                 to[k] = static_cast<std::uint32_t>(places[k] - first);
               });
}

void widen_places_cuda(const Device& device, const std::uint32_t* places, std::int64_t count, std::uint64_t* to) {
  device.make_current();
  cuda::launch("places", count, device.stream(), [places, to] __device__(std::int64_t k) { to[k] = places[k]; });
}

#define PERGOLA_INPUT_PLACES_OF(Place)                                                             \
  template void fill_places_cuda(const Device&, std::int64_t, std::int64_t, Place*);               \
  template void sort_places_cuda(const Device&, std::int64_t, Place*, std::uint32_t*, std::byte*); \
  template std::int64_t places_work_bytes_cuda<Place>(const Device&, std::int64_t);                \
  template std::vector<std::int64_t> counts_below_cuda(const Device&, const Place*, std::int64_t,  \
                                                       const std::vector<std::uint64_t>&);         \
  template void places_in_share_cuda(const Device&, const Place*, std::int64_t, std::int64_t, std::uint32_t*);
PERGOLA_INPUT_PLACES_OF(std::uint32_t)
PERGOLA_INPUT_PLACES_OF(std::uint64_t)
#undef PERGOLA_INPUT_PLACES_OF

}  // namespace pergola

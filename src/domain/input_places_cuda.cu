#include <algorithm>
#include <utility>

#include "device/launch.cuh"
#include "device/sort.cuh"
#include "domain/input_places.hpp"

namespace pergola {

void fill_places_cuda(const Device& device, std::int64_t first, Buffer<std::uint64_t>& places) {
  device.make_current();
  cuda::launch("places", places.size(), device.stream(),
               [to = places.data(), first = static_cast<std::uint64_t>(first)] __device__(std::int64_t k) {
                 to[k] = first + static_cast<std::uint64_t>(k);
               });
}

RisingPlaces sorted_cuda(const Device& device, Buffer<std::uint64_t> places) {
  device.make_current();
  const std::int64_t n = places.size();
  Buffer<std::uint64_t> other_places(device, n);
  Buffer<std::uint32_t> order(device, n), other_order(device, n);
  if (n == 0) return {std::move(places), std::move(order)};
  const cuda::RadixSort<std::uint64_t, std::int64_t> sort{n, 0, 64};
  const std::size_t bytes = sort.scratch_bytes();
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(bytes));
  cuda::launch("places", n, device.stream(),
               [to = order.data()] __device__(std::int64_t k) { to[k] = static_cast<std::uint32_t>(k); });
  std::uint64_t* keys = places.data();
  std::uint32_t* values = order.data();
  sort.sort(scratch.data(), bytes, keys, other_places.data(), values, other_order.data(), device.stream());
  if (keys != places.data()) places.swap(other_places);
  if (values != order.data()) order.swap(other_order);
  return {std::move(places), std::move(order)};
}

std::vector<std::int64_t> counts_below_cuda(const Device& device, const Buffer<std::uint64_t>& rising,
                                            const std::vector<std::uint64_t>& bounds) {
  device.make_current();
  const Buffer<std::uint64_t> all(device, bounds);
  Buffer<std::int64_t> below(device, all.size());
  cuda::launch("places below", all.size(), device.stream(),
               [rising = rising.data(), count = rising.size(), bound = all.data(),
                to = below.data()] __device__(std::int64_t b) {
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

void places_in_share_cuda(const Device& device, const Buffer<std::uint64_t>& places, std::int64_t first,
                          std::uint32_t* to) {
  device.make_current();
  cuda::launch("places", places.size(), device.stream(),
               [from = places.data(), to, first = static_cast<std::uint64_t>(first)] __device__(std::int64_t k) {
                 to[k] = static_cast<std::uint32_t>(from[k] - first);
               });
}

}  // namespace pergola

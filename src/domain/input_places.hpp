#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/shares.hpp"
#include "device/buffer.hpp"

namespace pergola {

// Places in the input of the particles that a rank has, on its device, and what is found from them. Place:
// std::uint64_t, or std::uint32_t where all have room there. None waits for the device but those that return something.

/// `count` places from `first` on.
template <class Place>
void fill_places(const Device& device, std::int64_t first, std::int64_t count, Place* places);
/// Sorts places, the lowest one first; order: where each of them stood. `work` has places_work_bytes().
template <class Place>
void sort_places(const Device& device, std::int64_t count, Place* places, std::uint32_t* order, std::byte* work);
template <class Place>
std::int64_t places_work_bytes(const Device& device, std::int64_t count);
/// How many of them each rank keeps as its share.
template <class Place>
std::vector<std::int64_t> counts_by_share(const Device& device, const Place* rising, std::int64_t count,
                                          const Shares& shares);
/// to[k] = places[k] − first.
template <class Place>
void places_in_share(const Device& device, const Place* places, std::int64_t count, std::int64_t first,
                     std::uint32_t* to);

/// The same on a CUDA device; in domain/input_places_cuda.cu, present where cuda_built is true.
template <class Place>
void fill_places_cuda(const Device& device, std::int64_t first, std::int64_t count, Place* places);
template <class Place>
void sort_places_cuda(const Device& device, std::int64_t count, Place* places, std::uint32_t* order, std::byte* work);
template <class Place>
std::int64_t places_work_bytes_cuda(const Device& device, std::int64_t count);
/// For each of the bounds the number of places below it.
template <class Place>
std::vector<std::int64_t> counts_below_cuda(const Device& device, const Place* rising, std::int64_t count,
                                            const std::vector<std::uint64_t>& bounds);
template <class Place>
void places_in_share_cuda(const Device& device, const Place* places, std::int64_t count, std::int64_t first,
                          std::uint32_t* to);
/// to[k] = places[k].
void widen_places_cuda(const Device& device, const std::uint32_t* places, std::int64_t count, std::uint64_t* to);

}  // namespace pergola

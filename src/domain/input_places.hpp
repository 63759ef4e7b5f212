#pragma once
#include <cstdint>
#include <vector>

#include "comm/shares.hpp"
#include "device/buffer.hpp"

namespace pergola {

/// Places in the input of the particles that a rank has, on its device, and what is found from them. None waits for the
/// device but those that return something.
struct RisingPlaces {
  Buffer<std::uint64_t> places;  // the lowest one first
  Buffer<std::uint32_t> order;   // where each of them stood
};

/// `count` places from `first` on.
Buffer<std::uint64_t> places_from(const Device& device, std::int64_t first, std::int64_t count);
RisingPlaces sorted(const Device& device, Buffer<std::uint64_t> places);
/// How many of them each rank keeps as its share.
std::vector<std::int64_t> counts_by_share(const Device& device, const Buffer<std::uint64_t>& rising,
                                          const Shares& shares);
/// to[k] = places[k] − first.
void places_in_share(const Device& device, const Buffer<std::uint64_t>& places, std::int64_t first, std::uint32_t* to);

/// The same on a CUDA device; in domain/input_places_cuda.cu, present where cuda_built is true.
void fill_places_cuda(const Device& device, std::int64_t first, Buffer<std::uint64_t>& places);
RisingPlaces sorted_cuda(const Device& device, Buffer<std::uint64_t> places);
/// For each of the bounds the number of places below it.
std::vector<std::int64_t> counts_below_cuda(const Device& device, const Buffer<std::uint64_t>& rising,
                                            const std::vector<std::uint64_t>& bounds);
void places_in_share_cuda(const Device& device, const Buffer<std::uint64_t>& places, std::int64_t first,
                          std::uint32_t* to);

}  // namespace pergola

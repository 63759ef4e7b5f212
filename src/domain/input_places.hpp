#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"

namespace pergola {

// Places in the input of the particles that a rank has, on its device, and what is found from them. None waits for the
// device but what returns something.

/// `count` places from `first` on.
void fill_places(const Device& device, std::int64_t first, std::int64_t count, std::uint64_t* places);
/// Sorts places below `limit`, the lowest one first; order: where each of them stood. `work` has places_work_bytes().
void sort_places(const Device& device, std::int64_t count, std::int64_t limit, std::uint64_t* places,
                 std::uint32_t* order, std::byte* work);
std::int64_t places_work_bytes(const Device& device, std::int64_t count, std::int64_t limit);
/// For each of the bounds the number of places below it.
std::vector<std::int64_t> counts_below(const Device& device, const std::uint64_t* rising, std::int64_t count,
                                       const std::vector<std::int64_t>& bounds);
/// to[k] = places[k] − first.
void places_from(const Device& device, const std::uint64_t* places, std::int64_t count, std::int64_t first,
                 std::uint32_t* to);

// The same on a CUDA device; in domain/input_places_cuda.cu, present where cuda_built is true.
void fill_places_cuda(const Device& device, std::int64_t first, std::int64_t count, std::uint64_t* places);
void sort_places_cuda(const Device& device, std::int64_t count, std::int64_t limit, std::uint64_t* places,
                      std::uint32_t* order, std::byte* work);
std::int64_t places_work_bytes_cuda(const Device& device, std::int64_t count, std::int64_t limit);
std::vector<std::int64_t> counts_below_cuda(const Device& device, const std::uint64_t* rising, std::int64_t count,
                                            const std::vector<std::int64_t>& bounds);
void places_from_cuda(const Device& device, const std::uint64_t* places, std::int64_t count, std::int64_t first,
                      std::uint32_t* to);

}  // namespace pergola

#pragma once
#include <cstdint>

#include "device/buffer.hpp"

namespace pergola::tree {

/// Keys of up to 63 bits with a value each, and the room that a radix sort moves them into.
struct SortBuffers {
  Buffer<std::uint64_t> keys, other_keys;
  Buffer<std::uint32_t> values, other_values;
};

/// Sorts the first `count` keys with their values; equal keys keep their order. The same on any number of threads.
void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers);

}  // namespace pergola::tree

#pragma once
#include <cstdint>

#include "device/buffer.hpp"

// Sorts by key on the CPU: stable, and the same on any number of threads.
namespace pergola {

/// Keys of up to 63 bits with a value each, and the room that a radix sort moves them into.
struct SortBuffers {
  Buffer<std::uint64_t> keys, other_keys;
  Buffer<std::uint32_t> values, other_values;
};

/// Sorts the first `count` keys with their values; equal keys keep their order.
void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers);

/// Bytes of work memory that order_by_key() needs.
std::int64_t order_by_key_bytes(std::int64_t count);

/// The stable order of keys below `key_limit`: keys[order[k]] rises with k, and equal keys keep their order. The keys
/// stand at the beginning of `work`, count numbers of four bytes, and are overwritten.
void order_by_key(int threads, std::int64_t count, std::int64_t key_limit, std::uint32_t* order, void* work);

}  // namespace pergola

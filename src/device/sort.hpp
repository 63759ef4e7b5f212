#pragma once
#include <cstdint>

#include "device/buffer.hpp"

// Orders of particles: stable sorts by key on the CPU, the same on any number of threads, and permutations on both
// kinds of device. device/sort.cuh has the sorts for CUDA.
namespace pergola {

/// Keys of up to 63 bits with a value each, and the buffers into which a radix sort moves them.
struct SortBuffers {
  Buffer<std::uint64_t> keys, other_keys;
  Buffer<std::uint32_t> values, other_values;
};

/// Sorts the first `count` keys with their values; equal keys keep their order.
void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers);

/// Bytes of work memory that order_by_key() needs.
std::int64_t order_by_key_bytes(std::int64_t count);

/// The stable order of keys below `key_limit`: keys[order[k]] rises with k, and equal keys keep their order. `work`
/// begins with the keys, `count` numbers of four bytes, and is overwritten.
void order_by_key(int threads, std::int64_t count, std::int64_t key_limit, std::uint32_t* order, void* work);

/// inverse[order[k]] = k on the device. Does not wait.
void invert(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse);

/// to[k] = from[order[k]] on the device, for values of `bytes` bytes: 1, 4 or 8. Does not wait.
void permute_bytes(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                   int bytes);

template <class T>
void permute(const Device& device, std::int64_t count, const std::uint32_t* order, const T* from, T* to) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8);
  permute_bytes(device, count, order, from, to, static_cast<int>(sizeof(T)));
}

// The CUDA side (device/sort_cuda.cu); present where cuda_built is true. Bits: an unsigned number of 1, 4 or 8 bytes.
template <class Bits>
void permute_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, const Bits* from, Bits* to);
void invert_cuda(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse);

}  // namespace pergola

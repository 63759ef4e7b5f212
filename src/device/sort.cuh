#pragma once
// CUDA only: sorts by key on the GPU, stable as those of device/sort.hpp.
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

#include "device/launch.cuh"

namespace pergola::cuda {

/// Sorts keys with 32-bit values by the bits first_bit … end_bit − 1 of the keys. Count: the type of the number of
/// keys.
template <class Key, class Count>
struct RadixSort {
  static constexpr int pass_bits = 8;  // the arrays change places once per pass
  Count count;
  int first_bit, end_bit;

  /// What sort() wants of scratch memory.
  std::size_t scratch_bytes() const {
    cub::DoubleBuffer<Key> keys;
    cub::DoubleBuffer<std::uint32_t> values;
    std::size_t bytes = 0;
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, count, first_bit, end_bit), "sort by key");
    return bytes;
  }
  /// Of the two arrays each, `keys` and `values` are afterwards the ones that hold the sorted numbers.
  void sort(void* scratch, std::size_t bytes, Key*& keys, Key* other_keys, std::uint32_t*& values,
            std::uint32_t* other_values, Stream stream) const {
    cub::DoubleBuffer<Key> key_pair(keys, other_keys);
    cub::DoubleBuffer<std::uint32_t> value_pair(values, other_values);
    check(cub::DeviceRadixSort::SortPairs(scratch, bytes, key_pair, value_pair, count, first_bit, end_bit,
                                          handle(stream)),
          "sort by key");
    keys = key_pair.Current(), values = value_pair.Current();
  }
};

/// A sort of 32-bit keys whose values end in a given array, in one piece of work memory: two arrays of keys, one of
/// values beside that of the result, and what the sort itself needs.
class KeySort {
 public:
  KeySort(std::int64_t count, int bits)
      : sort_{static_cast<std::uint32_t>(count), 0, bits}, scratch_bytes_(sort_.scratch_bytes()) {}
  std::int64_t bytes() const { return 3 * array_bytes() + static_cast<std::int64_t>(scratch_bytes_); }

  std::uint32_t* keys(void* work) const { return array(work, 0); }
  /// Where the values must stand before the sort, so that it usually ends in `order`.
  std::uint32_t* values(void* work, std::uint32_t* order) const { return odd_passes() ? array(work, 2) : order; }

  void sort(std::uint32_t* order, void* work, Stream stream) const {
    std::uint32_t *keys = array(work, 0), *values = this->values(work, order);
    sort_.sort(array(work, 3), scratch_bytes_, keys, array(work, 1), values, odd_passes() ? order : array(work, 2),
               stream);
    if (values != order)
      check(
          cudaMemcpyAsync(order, values, sort_.count * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice, handle(stream)),
          "copy the order");
  }

 private:
  bool odd_passes() const { return (sort_.end_bit + sort_.pass_bits - 1) / sort_.pass_bits % 2 == 1; }
  std::int64_t array_bytes() const { return (std::int64_t{sort_.count} * 4 + 255) / 256 * 256; }
  std::uint32_t* array(void* work, int k) const {
    return reinterpret_cast<std::uint32_t*>(static_cast<char*>(work) + k * array_bytes());
  }

  RadixSort<std::uint32_t, std::uint32_t> sort_;
  std::size_t scratch_bytes_;
};

}  // namespace pergola::cuda

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "device/parallel.hpp"
#include "device/sort.hpp"

namespace pergola {

namespace {

constexpr int key_bits = 63;
constexpr std::int64_t most_chunks = 64, least_chunk = 4096, permuted_chunk = 1024;

/// The passes of a radix sort, each by one digit of the keys. Threads count and move chunks of keys at the same time; a
/// chunk's keys go behind those of the chunks before it.
template <int digit_bits, class Key>
class RadixPasses {
 public:
  RadixPasses(int threads, std::int64_t count, std::int64_t chunk)
      : threads_(threads),
        count_(count),
        chunk_(chunk),
        places_(static_cast<std::size_t>((count + chunk - 1) / chunk)) {}

  /// Finds where the keys go by the digit from bit `shift` on. False if all have the same digit and can stay.
  bool find_places(const Key* keys, int shift) {
    parallel_chunks(threads_, count_, chunk_, [&](std::int64_t begin, std::int64_t end) {
      Places counts{};
      for (std::int64_t i = begin; i < end; ++i) ++counts[digit(keys[i], shift)];
      places_[static_cast<std::size_t>(begin / chunk_)] = counts;
    });
    std::uint32_t at = 0;
    bool several = true;
    for (std::size_t d = 0; d < digits; ++d) {
      const std::uint32_t before = at;
      for (Places& places : places_) at += std::exchange(places[d], at);
      if (at - before == count_) several = false;
    }
    return several;
  }
  /// Moves the keys there with their values: value(i) is the value of key i.
  template <class Value>
  void move(const Key* keys, int shift, const Value& value, Key* to_keys, std::uint32_t* to_values) {
    parallel_chunks(threads_, count_, chunk_, [&](std::int64_t begin, std::int64_t end) {
      Places& next = places_[static_cast<std::size_t>(begin / chunk_)];
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t place = next[digit(keys[i], shift)]++;
        to_keys[place] = keys[i];
        to_values[place] = value(i);
      }
    });
  }

 private:
  static constexpr std::size_t digits = std::size_t{1} << digit_bits;
  using Places = std::array<std::uint32_t, digits>;
  static std::size_t digit(Key key, int shift) { return static_cast<std::size_t>(key >> shift & (digits - 1)); }

  int threads_;
  std::int64_t count_, chunk_;
  std::vector<Places> places_;  // by chunk
};

constexpr int long_digit_bits = 9;

/// Passes over the digits from `first_bit` on.
void sort_digits(int threads, std::int64_t count, int first_bit, SortBuffers& buffers) {
  RadixPasses<long_digit_bits, std::uint64_t> passes(threads, count,
                                                     std::max(least_chunk, (count + most_chunks - 1) / most_chunks));
  for (int shift = first_bit; shift < key_bits; shift += long_digit_bits) {
    if (!passes.find_places(buffers.keys.data(), shift)) continue;
    const std::uint32_t* const values = buffers.values.data();
    passes.move(
        buffers.keys.data(), shift, [values](std::int64_t i) { return values[i]; }, buffers.other_keys.data(),
        buffers.other_values.data());
    buffers.keys.swap(buffers.other_keys);
    buffers.values.swap(buffers.other_values);
  }
}

/// Sorts each run of keys with the same bits from `first_bit` on, by insertion. False if there is a long run; then some
/// runs may not be sorted.
bool sort_runs(int threads, std::int64_t count, int first_bit, SortBuffers& buffers) {
  constexpr std::int64_t longest = 64;
  std::uint64_t* const keys = buffers.keys.data();
  std::uint32_t* const values = buffers.values.data();
  const auto end_of_run = [=](std::int64_t first) {
    std::int64_t last = first + 1;
    while (last < count && keys[last] >> first_bit == keys[first] >> first_bit && last - first <= longest) ++last;
    return last;
  };
  // Parts begin where a run does.
  std::vector<std::int64_t> begins{0};
  for (std::int64_t at = least_chunk; at < count; at += least_chunk) {
    begins.push_back(end_of_run(at - 1));
    if (begins.back() - at >= longest) return false;
  }
  begins.push_back(count);
  std::atomic<bool> all_short = true;
  parallel_for(threads, std::ssize(begins) - 1, [&](std::int64_t part) {
    const std::int64_t end = begins[static_cast<std::size_t>(part) + 1];
    for (std::int64_t first = begins[static_cast<std::size_t>(part)], last; first < end; first = last) {
      last = end_of_run(first);
      if (last - first > longest) all_short = false;
      for (std::int64_t i = first + 1; i < last; ++i) {
        const std::uint64_t key = keys[i];
        const std::uint32_t value = values[i];
        std::int64_t to = i;
        for (; to > first && keys[to - 1] > key; --to) keys[to] = keys[to - 1], values[to] = values[to - 1];
        keys[to] = key, values[to] = value;
      }
    }
  });
  return all_short;
}

template <class Bits>
void permute_bits(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to) {
  const Bits* const source = static_cast<const Bits*>(from);
  Bits* const target = static_cast<Bits*>(to);
  if constexpr (cuda_built) {
    if (device.is_cuda()) return permute_cuda(device, count, order, source, target);
  }
  parallel_chunks(device.threads(), count, permuted_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) target[k] = source[order[k]];
  });
}

}  // namespace

void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers) {
  if (count <= 1) return;
  // Enough upper bits that few keys agree in them, if particles do not crowd.
  int bits = 16;
  for (std::int64_t n = count; n > 0; n /= 2) ++bits;
  const int first_bit = std::max(0, key_bits - (bits + long_digit_bits - 1) / long_digit_bits * long_digit_bits);
  sort_digits(device.threads(), count, first_bit, buffers);
  if (!sort_runs(device.threads(), count, first_bit, buffers)) sort_digits(device.threads(), count, 0, buffers);
}

std::int64_t order_by_key_bytes(std::int64_t count) { return count * 3 * std::int64_t{sizeof(std::uint32_t)}; }

void order_by_key(int threads, std::int64_t count, std::int64_t key_limit, std::uint32_t* order, void* work) {
  constexpr int digit_bits = 11;
  std::uint32_t* keys = static_cast<std::uint32_t*>(work);
  std::uint32_t* sorted_keys = keys + count;
  std::uint32_t* from = sorted_keys + count;
  std::uint32_t* to = order;
  int passes = 1;
  while ((key_limit - 1) >> (passes * digit_bits)) ++passes;
  if (passes % 2 == 0) std::swap(from, to);  // the last pass writes `order`
  RadixPasses<digit_bits, std::uint32_t> radix(threads, count, 1 << 16);
  for (int pass = 0; pass < passes; ++pass) {
    radix.find_places(keys, pass * digit_bits);
    if (pass == 0)
      radix.move(
          keys, 0, [](std::int64_t i) { return static_cast<std::uint32_t>(i); }, sorted_keys, to);
    else
      radix.move(
          keys, pass * digit_bits, [from](std::int64_t i) { return from[i]; }, sorted_keys, to);
    std::swap(keys, sorted_keys);
    std::swap(from, to);
  }
}

void permute_bytes(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                   int bytes) {
  switch (bytes) {
    case 1:
      return permute_bits<std::uint8_t>(device, count, order, from, to);
    case 4:
      return permute_bits<std::uint32_t>(device, count, order, from, to);
    default:
      return permute_bits<std::uint64_t>(device, count, order, from, to);
  }
}

void invert(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return invert_cuda(device, count, order, inverse);
  }
  parallel_chunks(device.threads(), count, permuted_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) inverse[order[k]] = static_cast<std::uint32_t>(k);
  });
}

}  // namespace pergola

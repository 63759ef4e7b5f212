#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "device/parallel.hpp"
#include "tree/sort.hpp"

namespace pergola::tree {

namespace {

constexpr int digit_bits = 9, digits = 1 << digit_bits, key_bits = 63;
constexpr std::int64_t most_chunks = 64, least_chunk = 4096;

using Histogram = std::array<std::int64_t, digits>;

struct Pass {
  int shift;
  std::int64_t count, chunk;
  std::int64_t chunks() const { return (count + chunk - 1) / chunk; }
  static int digit(std::uint64_t key, int shift) { return static_cast<int>(key >> shift & (digits - 1)); }
};

void count_digits(int threads, const Pass& pass, const std::uint64_t* keys, std::vector<Histogram>& histograms) {
  parallel_chunks(threads, pass.count, pass.chunk, [&](std::int64_t begin, std::int64_t end) {
    Histogram counts{};
    for (std::int64_t i = begin; i < end; ++i) ++counts[static_cast<std::size_t>(Pass::digit(keys[i], pass.shift))];
    histograms[static_cast<std::size_t>(begin / pass.chunk)] = counts;
  });
}

/// Counts become the places where each chunk puts its first key of each digit. False when one digit has all keys.
bool places_from_counts(const Pass& pass, std::vector<Histogram>& histograms) {
  std::int64_t at = 0;
  for (std::size_t digit = 0; digit < digits; ++digit) {
    const std::int64_t before = at;
    for (auto& histogram : histograms) {
      const std::int64_t counted = histogram[digit];
      histogram[digit] = at;
      at += counted;
    }
    if (at - before == pass.count) return false;
  }
  return true;
}

void move_keys(int threads, const Pass& pass, std::vector<Histogram>& histograms, SortBuffers& buffers) {
  const std::uint64_t* const keys = buffers.keys.data();
  const std::uint32_t* const values = buffers.values.data();
  std::uint64_t* const to_keys = buffers.other_keys.data();
  std::uint32_t* const to_values = buffers.other_values.data();
  parallel_chunks(threads, pass.count, pass.chunk, [&](std::int64_t begin, std::int64_t end) {
    Histogram& next = histograms[static_cast<std::size_t>(begin / pass.chunk)];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t place = next[static_cast<std::size_t>(Pass::digit(keys[i], pass.shift))]++;
      to_keys[place] = keys[i];
      to_values[place] = values[i];
    }
  });
}

/// Passes over the digits from `first_bit` on.
void sort_digits(int threads, std::int64_t count, int first_bit, SortBuffers& buffers) {
  Pass pass{first_bit, count, std::max(least_chunk, (count + most_chunks - 1) / most_chunks)};
  std::vector<Histogram> histograms(static_cast<std::size_t>(pass.chunks()));
  for (; pass.shift < key_bits; pass.shift += digit_bits) {
    count_digits(threads, pass, buffers.keys.data(), histograms);
    if (!places_from_counts(pass, histograms)) continue;
    move_keys(threads, pass, histograms, buffers);
    buffers.keys.swap(buffers.other_keys);
    buffers.values.swap(buffers.other_values);
  }
}

/// Sorts the keys of each run with the same bits from `first_bit` on, by insertion. False when there is a long run, and
/// then some runs may not be sorted.
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

}  // namespace

void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers) {
  if (count <= 1) return;
  // So many upper bits that, where particles do not crowd, few keys agree in them.
  int bits = 16;
  for (std::int64_t n = count; n > 0; n /= 2) ++bits;
  const int first_bit = std::max(0, key_bits - (bits + digit_bits - 1) / digit_bits * digit_bits);
  sort_digits(device.threads(), count, first_bit, buffers);
  if (!sort_runs(device.threads(), count, first_bit, buffers)) sort_digits(device.threads(), count, 0, buffers);
}

}  // namespace pergola::tree

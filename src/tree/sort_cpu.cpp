#include <algorithm>
#include <array>
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

}  // namespace

void sort_by_key_cpu(const Device& device, std::int64_t count, SortBuffers& buffers) {
  if (count <= 1) return;
  Pass pass{0, count, std::max(least_chunk, (count + most_chunks - 1) / most_chunks)};
  std::vector<Histogram> histograms(static_cast<std::size_t>(pass.chunks()));
  for (; pass.shift < key_bits; pass.shift += digit_bits) {
    count_digits(device.threads(), pass, buffers.keys.data(), histograms);
    if (!places_from_counts(pass, histograms)) continue;
    move_keys(device.threads(), pass, histograms, buffers);
    buffers.keys.swap(buffers.other_keys);
    buffers.values.swap(buffers.other_values);
  }
}

}  // namespace pergola::tree

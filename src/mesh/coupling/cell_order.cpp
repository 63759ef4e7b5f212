#include "mesh/coupling/cell_order.hpp"

#include <array>
#include <utility>
#include <vector>

#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr int digit_bits = 11;
constexpr std::uint32_t digits = 1U << digit_bits;
constexpr std::int64_t chunk = 1 << 16;

using Places = std::array<std::uint32_t, digits>;

/// From how often each digit occurs in each chunk to where its first one goes: by digit, then by chunk.
void counts_to_places(std::vector<Places>& chunks) {
  std::uint32_t next = 0;
  for (std::uint32_t digit = 0; digit < digits; ++digit)
    for (auto& places : chunks) {
      const std::uint32_t here = places[digit];
      places[digit] = next;
      next += here;
    }
}

}  // namespace

std::int64_t sort_bytes(std::int64_t count) { return count * 3 * std::int64_t{sizeof(std::uint32_t)}; }

void sort_by_key(int threads, std::int64_t count, std::int64_t key_limit, std::uint32_t* order, void* work) {
  std::uint32_t* keys = static_cast<std::uint32_t*>(work);
  std::uint32_t* sorted_keys = keys + count;
  std::uint32_t* from = sorted_keys + count;
  std::uint32_t* to = order;
  int passes = 1;
  while ((key_limit - 1) >> (passes * digit_bits)) ++passes;
  if (passes % 2 == 0) std::swap(from, to);  // the last pass writes `order`
  std::vector<Places> chunks(static_cast<std::size_t>((count + chunk - 1) / chunk));
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * digit_bits;
    const auto digit = [&](std::int64_t k) { return (keys[k] >> shift) & (digits - 1); };
    parallel_chunks(threads, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      Places& places = chunks[static_cast<std::size_t>(begin / chunk)];
      places.fill(0);
      for (std::int64_t k = begin; k < end; ++k) ++places[digit(k)];
    });
    counts_to_places(chunks);
    parallel_chunks(threads, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      Places& places = chunks[static_cast<std::size_t>(begin / chunk)];
      for (std::int64_t k = begin; k < end; ++k) {
        const std::uint32_t place = places[digit(k)]++;
        sorted_keys[place] = keys[k];
        to[place] = pass == 0 ? static_cast<std::uint32_t>(k) : from[k];
      }
    });
    std::swap(keys, sorted_keys);
    std::swap(from, to);
  }
}

}  // namespace pergola

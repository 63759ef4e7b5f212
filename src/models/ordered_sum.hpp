#pragma once
#include <cstdint>
#include <vector>

#include "device/parallel.hpp"

namespace pergola {

inline constexpr std::int64_t sum_chunk = 4096;

/// start + Σ over particles of value(i), in chunks whose order does not depend on the thread count. Particles in pieces
/// of whole chunks have the same sum, to the bit, when each piece starts from that of those before.
template <class Value>
double ordered_sum(std::int64_t n, int threads, const Value& value, double start = 0) {
  std::vector<double> partial(static_cast<std::size_t>((n + sum_chunk - 1) / sum_chunk));
  parallel_chunks(threads, n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += value(static_cast<std::size_t>(i));
    partial[static_cast<std::size_t>(begin / sum_chunk)] = sum;
  });
  double total = start;
  for (const double part : partial) total += part;
  return total;
}

}  // namespace pergola

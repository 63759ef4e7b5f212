#pragma once
#include <algorithm>
#include <cstdint>

namespace pergola::tree {

/// Masses are added up in chunks of so many, and the sums of the chunks in their order.
inline constexpr std::int64_t sum_chunk = 8192;

/// The sum of n equal numbers, as it is found in chunks.
inline double sum_of_equal(double value, std::int64_t n) {
  const auto sum_of = [](double one, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += one;
    return sum;
  };
  const double whole = sum_of(value, std::min(n, sum_chunk)), last = sum_of(value, n % sum_chunk);
  double sum = whole;
  for (std::int64_t begin = sum_chunk; begin < n; begin += sum_chunk) sum += n - begin >= sum_chunk ? whole : last;
  return sum;
}

}  // namespace pergola::tree

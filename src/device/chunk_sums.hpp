#pragma once
#include <cstdint>
#include <vector>

#include "device/parallel.hpp"

namespace pergola {

/// Sums over particles are made per chunk of this many, and chunks are added in their order: the same bits for any
/// number of threads, and from run to run on a GPU.
inline constexpr std::int64_t sum_chunk = 1024;

/// A few numbers that are summed together.
template <int count>
struct Terms {
  double value[count] = {};
};

template <int count>
void add_parts(const std::vector<Terms<count>>& parts, Terms<count>& total) {
  for (const auto& part : parts)
    for (int k = 0; k < count; ++k) total.value[k] += part.value[k];
}

/// The sums of body(i), which is Terms<Body::count>, for i = 0 … n − 1, chunk by chunk, on the CPU.
template <class Body>
std::vector<Terms<Body::count>> chunk_sums(int threads, std::int64_t n, const Body& body) {
  std::vector<Terms<Body::count>> parts(static_cast<std::size_t>((n + sum_chunk - 1) / sum_chunk));
  parallel_chunks(threads, n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& part = parts[static_cast<std::size_t>(begin / sum_chunk)];
    for (std::int64_t i = begin; i < end; ++i) {
      const auto one = body(i);
      for (int k = 0; k < Body::count; ++k) part.value[k] += one.value[k];
    }
  });
  return parts;
}

/// Adds all chunks to `total`. device/chunk_sums.cuh does the same for CUDA.
template <class Body>
void add_chunks(int threads, std::int64_t n, const Body& body, Terms<Body::count>& total) {
  add_parts(chunk_sums(threads, n, body), total);
}

}  // namespace pergola

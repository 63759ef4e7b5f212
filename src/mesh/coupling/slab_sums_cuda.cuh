#pragma once
// CUDA only: sums of a slab that go to other ranks.
#include <cstdint>

namespace pergola::cuda {

/// Sums that have come for a plane.
template <class Sum>
struct AddSums {
  const Sum* from;
  std::int64_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] += from[i]; }
};

/// Sums in half the bytes, and whether there is one that has no room there.
struct ShortenSums {
  const std::int64_t* from;
  std::int32_t* to;
  int* too_large;
  __device__ void operator()(std::int64_t i) const {
    to[i] = static_cast<std::int32_t>(from[i]);
    if (to[i] != from[i]) *too_large = 1;
  }
};

}  // namespace pergola::cuda

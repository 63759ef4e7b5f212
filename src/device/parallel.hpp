#pragma once
#include <cstdint>

#include "device/thread_team.hpp"

namespace pergola {

/// Calls body(index) for 0 … count−1 on up to `threads` threads; the work per index should be large (a chunk, not a
/// particle). The first exception is thrown again in the caller.
template <class Body>
void parallel_for(int threads, std::int64_t count, const Body& body) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  ThreadTeam::mine().run(
      threads, count, [](const void* one, std::int64_t i) { (*static_cast<const Body*>(one))(i); }, &body);
}

/// Calls body(begin, end) for consecutive ranges of at most `chunk` indices. The ranges do not depend on the thread
/// count, so sums made per range and added in order of the ranges have the same bits on any number of threads.
template <class Body>
void parallel_chunks(int threads, std::int64_t count, std::int64_t chunk, const Body& body) {
  parallel_for(threads, (count + chunk - 1) / chunk, [&](std::int64_t c) {
    const std::int64_t begin = c * chunk;
    body(begin, begin + chunk < count ? begin + chunk : count);
  });
}

}  // namespace pergola

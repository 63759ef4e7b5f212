#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// Threads that help their owner, the thread that made them, with a loop. Use parallel_for() and parallel_chunks().
///
/// Owner and helpers take indices from one counter until none is left. In the end the owner waits only for helpers that
/// have begun: on a busy machine a helper without a processor costs nothing. Idle helpers spin for some microseconds,
/// then sleep. What always holds: a loop inside a loop runs on the thread that calls it; which
/// thread takes which index is left to chance, so results must not depend on it; after fork() the owner has no helpers.
class PERGOLA_API ThreadTeam {
 public:
  using Call = void (*)(const void* body, std::int64_t index);

  /// The team of the calling thread; made on first use, ended with the thread.
  static ThreadTeam& mine();

  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls call(body, index) for 0 … count − 1 on up to `threads` threads. The first exception is thrown again.
  void run(int threads, std::int64_t count, Call call, const void* body);

 private:
  void help(int number);
  void work();
  bool enter();
  void leave();

  std::vector<std::thread> helpers_;
  pid_t process_;
  std::atomic<int> round_{0};  // rises with every loop; idle helpers wait for a change
  std::atomic<int> state_{0};  // open_bit while helpers may enter the loop, plus the number of helpers inside
  std::atomic<bool> stop_{false};

  // The loop. Written by the owner while no helper is inside.
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_ = 0;
  int threads_ = 1;
  Call call_ = nullptr;
  const void* body_ = nullptr;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

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

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

/// Threads that help the one that owns them with a loop. The owner takes part and waits, in the end, only for helpers
/// that have begun: on a machine with other work to do a helper that gets no processor costs nothing. Idle helpers spin
/// for some microseconds and then sleep. device/parallel.hpp is the way to use it.
class PERGOLA_API ThreadTeam {
 public:
  using Call = void (*)(const void* body, std::int64_t index);

  /// The team of the calling thread; made on first use, ended with the thread.
  static ThreadTeam& mine();

  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls call(body, index) for 0 … count − 1 on up to `threads` threads. The first exception is thrown again. Within
  /// a loop, a further one runs on the thread that asks for it.
  void run(int threads, std::int64_t count, Call call, const void* body);

 private:
  void help(int number);
  void work();
  bool enter();
  void leave();

  std::vector<std::thread> helpers_;
  pid_t process_;
  std::atomic<int> round_{0};  // rises with every loop; idle helpers wait for that
  std::atomic<int> state_{0};  // `open` while helpers may enter the loop, plus the number of those inside
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

}  // namespace pergola

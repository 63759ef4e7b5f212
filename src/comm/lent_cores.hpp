#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Loops of ranks that are processes of one machine and have one thread each: a rank that is done with its loop sleeps
/// and lends its core to the rank that has most left to do, of which a further thread works there then. So no more
/// threads work than there are ranks, and cores that are slower than others keep nobody waiting. Who does what is left
/// to chance: nothing may depend on it. domain/lent_loop.hpp is the way to use it.
class PERGOLA_API LentCores {
 public:
  using Call = void (*)(const void* body, std::int64_t index);

  /// `memory`: shared_bytes() for so many ranks, which all share, zero at first.
  LentCores(int rank, int ranks, std::shared_ptr<void> memory);
  ~LentCores();
  LentCores(const LentCores&) = delete;
  LentCores& operator=(const LentCores&) = delete;
  static std::size_t shared_bytes(int ranks);

  /// Calls call(body, index) for 0 … count − 1, each of which should take longer than a thread needs to wake up; a loop
  /// that is over soon gets no help. The first exception is thrown again. Pays where all ranks have such a loop at the
  /// same time, and meet after it.
  void run(std::int64_t count, Call call, const void* body);

 private:
  struct Place;

  void start_helpers();
  void work();
  void work_on(std::int64_t index);
  bool enter();
  void leave();
  void help(int number);
  bool lend(int lender);
  void sleep_while_lent();

  int rank_, ranks_;
  pid_t process_;
  std::shared_ptr<void> memory_;
  Place* places_;  // by rank
  std::vector<std::thread> helpers_;
  std::atomic<bool> stop_{false};
  std::atomic<int> state_{0};  // `open` while helpers may enter the loop, plus the number of those inside
  std::int64_t count_ = 0;
  Call call_ = nullptr;
  const void* body_ = nullptr;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace pergola

#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "app/context.hpp"

namespace pergola::app {

/// Making or reading the particles and their first forces cannot be interrupted in between, and may take minutes. While
/// a run does so nothing is written yet: where a signal to end waits, this ends the process within a second or two,
/// with exit code 130.
class StartGuard {
 public:
  explicit StartGuard(const Context& context);
  ~StartGuard();
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;

  /// The particles are being made; `undo` takes back the little that was done before.
  void begin(std::function<void()> undo);
  /// They stand: from here on the run looks for signals itself. Returns when the process is not about to end.
  void end();

 private:
  void watch();

  const Context& context_;
  std::mutex mutex_;
  std::function<void()> undo_;
  std::atomic<bool> making_{false}, over_{false};
  std::thread thread_;
};

}  // namespace pergola::app

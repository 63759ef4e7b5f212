#pragma once
/// Signals: how Ctrl-C, SIGTERM, a closed terminal and SIGUSR1 end or interrupt a command.
///
/// By default a signal removes unfinished files and ends the program with exit code 130. A command that can end in good
/// order catches signals itself (catch_interrupts() in app/context.hpp) and looks at `interrupted`; a run that still
/// makes its particles cannot, and is ended by StartGuard.
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "app/context.hpp"

namespace pergola::app {

/// From here on Ctrl-C, SIGTERM and a closed terminal remove unfinished files and end the program with exit code 130,
/// unless a command catches them or they were ignored before. `speaks`: this process prints a line. To be called once.
void end_on_signals(bool speaks);
/// This process has printed why it ends: a later signal (from mpirun, if another rank was faster) prints nothing.
void end_on_signals_silently();

/// Ends the process within a second or two, with exit code 130, if a signal comes while a run makes or reads its
/// particles and their first forces. That may take minutes and cannot be interrupted, but nothing is written yet.
class StartGuard {
 public:
  explicit StartGuard(const Context& context);
  ~StartGuard();
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;

  /// Particles are being made; `undo` reverts the little that was done before.
  void begin(std::function<void()> undo);
  /// Particles are made: from here on the run handles signals itself. Waits if the process is about to end.
  void end();

 private:
  void watch();

  const Context& context_;
  std::mutex mutex_;
  std::function<void()> undo_;
  std::atomic<bool> making_{false}, over_{false};
  std::thread thread_;
};

/// Set by SIGUSR1 after catch_checkpoint_requests(): write a checkpoint and continue. The handler does nothing else.
extern std::atomic<bool> checkpoint_asked;
void catch_checkpoint_requests();

}  // namespace pergola::app

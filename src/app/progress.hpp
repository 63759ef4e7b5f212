#pragma once
/// Progress on stderr: the bar of a run, and a line for other commands that take long.
///
/// ProgressBar draws what a run reports, from the run's own thread. WaitLine has a thread of its own, since its command
/// reports nothing while it works. Neither may fail a command: errors of stderr and of threads are ignored. Times are
/// seconds of wall clock.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/context.hpp"
#include "run/run.hpp"

namespace pergola::app {

/// A run's progress on stderr: a bar that is redrawn on a terminal, else a plain line every 5 % (and at most one a
/// second).
class ProgressBar {
 public:
  ProgressBar();
  /// To be called as often as the run reports; lines are left out if they come too fast.
  void show(const RunProgress& progress);
  /// Ends the line of the bar.
  void close();

 private:
  bool terminal_;
  bool open_ = false, spoke_ = false;
  int next_percent_ = 5;
  std::chrono::steady_clock::time_point last_line_;
};

/// "3.2 s", "4 min 10 s", "2 h 05 min".
std::string duration_text(double seconds);
/// "5.1 G" for 5.1e9.
std::string rate_text(double rate);

/// The present work of a command that cannot tell its progress: "ic: writing a.hdf5, 4.0 s so far". On a terminal a
/// line that is redrawn every second after the second; else a line after 5, 10, 20 s and so on. On rank 0, and not with
/// --quiet.
class WaitLine {
 public:
  WaitLine(const Context& context, std::string command);
  ~WaitLine() { end(); }
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

  /// Names the work that begins now.
  void begins(std::string part);
  /// Removes the line; nothing is printed afterwards.
  void end();

 private:
  void watch();
  void say(double seconds) const;

  std::string command_, part_;
  bool terminal_, over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;  // none if nothing is printed
};

}  // namespace pergola::app

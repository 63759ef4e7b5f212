#pragma once
#include <chrono>
#include <string>

#include "run/run.hpp"

namespace pergola::app {

/// A run's progress on stderr: a bar that is redrawn on a terminal, else a plain line every 5 % (and at most one a
/// second).
class ProgressBar {
 public:
  ProgressBar();
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

}  // namespace pergola::app

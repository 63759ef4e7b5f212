#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/context.hpp"

namespace pergola::app {

/// What a command is doing that takes a while and cannot say how far it is: "ic: writing a.hdf5, 4.0 s so far" on
/// stderr. On a terminal from two seconds on, a line that is drawn anew every second, else after 5, 10, 20 s and so on.
/// On rank 0, and not with --quiet.
class WaitLine {
 public:
  WaitLine(const Context& context, std::string command);
  ~WaitLine() { end(); }
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

  /// What begins now.
  void begins(std::string part);
  /// Nothing is said from here on, and the line is gone.
  void end();

 private:
  void watch();
  void say(double seconds) const;

  std::string command_, part_;
  bool terminal_, over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;  // none where nothing is said
};

}  // namespace pergola::app

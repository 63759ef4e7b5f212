#include "app/wait_line.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include "app/progress_bar.hpp"

namespace pergola::app {

WaitLine::WaitLine(const Context& context, std::string command)
    : command_(std::move(command)), terminal_(::isatty(STDERR_FILENO) != 0) {
  if (context.quiet || !context.speaks()) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Nobody needs it.
  }
}

void WaitLine::begins(std::string part) {
  const std::lock_guard lock(mutex_);
  part_ = std::move(part);
}

void WaitLine::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WaitLine::watch() {
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  bool drawn = false;
  for (auto next = std::chrono::seconds(terminal_ ? 2 : 5);
       !changed_.wait_until(lock, start + next, [this] { return over_; });
       next = terminal_ ? next + std::chrono::seconds(1) : 2 * next) {
    try {
      say(static_cast<double>(next.count()));
    } catch (const std::bad_alloc&) {
      break;  // the command will say so
    }
    drawn = terminal_;
  }
  if (drawn) std::fputs("\r\033[K", stderr);
}

void WaitLine::say(double seconds) const {
  const std::string text = fmt::format("{}{}: {}{}{} so far{}", terminal_ ? "\r\033[K" : "", command_, part_,
                                       part_.empty() ? "" : ", ", duration_text(seconds), terminal_ ? "" : "\n");
  std::fputs(text.c_str(), stderr);  // a closed stderr stops nothing
  std::fflush(stderr);
}

}  // namespace pergola::app

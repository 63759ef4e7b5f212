// Progress on stderr: see progress.hpp. Lines end with a newline if stderr is no terminal; on one they are redrawn.
#include "app/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

namespace pergola::app {

namespace {

constexpr int bar_width = 24;

/// The text beside the bar: time, rate, errors so far, and the time left.
std::string facts(const RunProgress& p) {
  const std::string rate = p.interactions_per_second > 0 ? rate_text(p.interactions_per_second) + "pairs/s"
                                                         : rate_text(p.particle_steps_per_second) + "particle steps/s";
  const std::string audit = p.force_error > 0 ? fmt::format("force error {:.1e}, ", p.force_error) : std::string();
  const std::string energy = p.energy_error ? fmt::format("dE/E {:.3e}, ", *p.energy_error) : std::string();
  const auto& [unit, factor] = p.time_unit;
  return fmt::format("t = {:.4g} of {:.6g}{}{}, {}, {}{}{} left", p.time * factor, p.end_time * factor,
                     unit.empty() ? "" : " ", unit, rate, energy, audit, duration_text(p.seconds_left));
}

}  // namespace

/// Two units at most: more digits would only seem to be known.
std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (const double years = seconds / (365.25 * 86400); years >= 1000) return fmt::format("{:.3g} years", years);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

/// Three digits and a prefix, so that the next prefix begins at 999.5.
std::string rate_text(double rate) {
  const char* prefix[] = {"", "k", "M", "G", "T", "P"};
  int k = 0;
  while (rate >= 999.5 && k < 5) rate /= 1000, ++k;
  return fmt::format("{:.3g} {}", rate, prefix[k]);
}

/// Whether stderr is a terminal is decided once, at the start.
ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) != 0), last_line_(std::chrono::steady_clock::now()) {}

void ProgressBar::show(const RunProgress& progress) {
  const double fraction = std::clamp(progress.fraction, 0.0, 1.0);
  if (terminal_) {
    const int filled = static_cast<int>(fraction * bar_width);
    fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} %  {}", std::string(static_cast<std::size_t>(filled), '='),
               std::string(static_cast<std::size_t>(bar_width - filled), ' '), 100 * fraction, facts(progress));
    std::fflush(stderr);
    open_ = true;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool last = fraction >= 1 && spoke_;  // with the energy error that the summary says
  if (!last && (100 * fraction < next_percent_ || now - last_line_ < std::chrono::seconds(1))) return;
  last_line_ = now;
  spoke_ = true;
  while (next_percent_ <= 100 * fraction) next_percent_ += 5;
  fmt::print(stderr, "{:3.0f} %  {}\n", 100 * fraction, facts(progress));
}

void ProgressBar::close() {
  if (open_) fmt::print(stderr, "\r\033[K");
  open_ = false;
}

WaitLine::WaitLine(const Context& context, std::string command)
    : command_(std::move(command)), terminal_(::isatty(STDERR_FILENO) != 0) {
  if (context.quiet || !context.speaks()) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Not essential.
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

/// The thread of the line. It sleeps until the next line is due or the command has ended.
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
      break;  // the command will report it
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

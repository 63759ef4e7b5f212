#include "app/run_control.hpp"

#include <fmt/core.h>

#include <csignal>
#include <string_view>

#include "base/text.hpp"

namespace pergola::app {

std::atomic<bool> checkpoint_asked{false};

void catch_checkpoint_requests() {
  struct sigaction action {};
  action.sa_handler = [](int) { checkpoint_asked.store(true); };
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

std::optional<double> seconds_in(const std::string& duration) {
  constexpr std::string_view units = "dhms";
  constexpr double lengths[] = {86400, 3600, 60, 1};
  double seconds = 0;
  std::size_t at = 0, next_unit = 0;
  while (at < duration.size()) {
    const auto end = duration.find_first_not_of("0123456789.", at);
    if (end == std::string::npos || end == at) return std::nullopt;
    const auto unit = units.find(duration[end]);
    const auto number = parse_real(std::string_view(duration).substr(at, end - at));
    if (unit == std::string_view::npos || unit < next_unit || !number) return std::nullopt;
    seconds += *number * lengths[unit];
    next_unit = unit + 1;
    at = end + 1;
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::string check_duration(const std::string& duration) {
  if (seconds_in(duration)) return "";
  return fmt::format("expected a time such as 3h50m, 90m or 45s, found {}", duration);
}

}  // namespace pergola::app

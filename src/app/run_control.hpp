#pragma once
#include <atomic>
#include <optional>
#include <string>

namespace pergola::app {

/// Set by SIGUSR1 once requests are caught: write a checkpoint and go on. The handler does nothing else.
extern std::atomic<bool> checkpoint_asked;
void catch_checkpoint_requests();

/// Seconds in "3h50m", "1d12h", "90m", "45s", "1.5h": numbers with units, each unit at most once, longest first.
std::optional<double> seconds_in(const std::string& duration);
/// For option->check().
std::string check_duration(const std::string& duration);

}  // namespace pergola::app

#pragma once
#include <functional>
#include <string_view>

namespace pergola {

enum class LogLevel { info, warning };

/// Where the library's remarks go. The library itself never prints: the owner of a system sets the sink.
class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;
  Log() = default;
  explicit Log(Sink sink) : sink_(std::move(sink)) {}
  void info(std::string_view text) const { say(LogLevel::info, text); }
  void warning(std::string_view text) const { say(LogLevel::warning, text); }

 private:
  void say(LogLevel level, std::string_view text) const {
    if (sink_) sink_(level, text);
  }
  Sink sink_;
};

}  // namespace pergola

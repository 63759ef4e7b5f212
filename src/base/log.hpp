#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace pergola {

enum class LogLevel { info, warning };

/// A sentence for the user, and how it is meant.
struct Remark {
  LogLevel level = LogLevel::warning;
  std::string text;
};

/// Where the library's remarks go. The library itself never prints: the owner of a system sets the sink.
class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;
  Log() = default;
  explicit Log(Sink sink) : sink_(std::move(sink)) {}
  void info(std::string_view text) const { say(LogLevel::info, text); }
  void warning(std::string_view text) const { say(LogLevel::warning, text); }
  void say(const Remark& remark) const { say(remark.level, remark.text); }

 private:
  void say(LogLevel level, std::string_view text) const {
    if (sink_) sink_(level, text);
  }
  Sink sink_;
};

}  // namespace pergola

#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pergola {

/// A part of a line of text: on the base line (0), raised (1) or lowered (−1).
struct TextRun {
  std::string text;
  int script = 0;
};

/// "10^{−3}" is "10" and a raised "−3". What is no UTF-8, and control characters, become U+FFFD, the mark of a
/// character that cannot be shown.
std::vector<TextRun> parse_markup(std::string_view text);

inline constexpr double script_size = 0.7;    // of a raised or lowered part, in sizes of the line
inline constexpr double script_raise = 0.38;  // of its base line
inline constexpr double script_lower = 0.18;

}  // namespace pergola

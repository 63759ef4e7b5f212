#include "picture/markup.hpp"

#include <cstdint>

namespace pergola {

namespace {

/// The bytes of the character at the start; 0: not UTF-8 (RFC 3629), or a control character.
std::size_t character_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xD800 && code < 0xE000, unassigned = (code & 0xFFFE) == 0xFFFE;
  return code < least || code > 0x10FFFF || surrogate || unassigned ? 0 : length;
}

}  // namespace

std::vector<TextRun> parse_markup(std::string_view text) {
  std::vector<TextRun> runs;
  int script = 0;
  const auto add = [&](std::string_view piece) {
    if (runs.empty() || runs.back().script != script) runs.push_back({"", script});
    runs.back().text += piece;
  };
  while (!text.empty()) {
    if (script == 0 && (text.starts_with("^{") || text.starts_with("_{"))) {
      script = text[0] == '^' ? 1 : -1;
      text.remove_prefix(2);
    } else if (script != 0 && text[0] == '}') {
      script = 0;
      text.remove_prefix(1);
    } else {
      const std::size_t length = character_length(text);
      add(length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD");
      text.remove_prefix(length > 0 ? length : 1);
    }
  }
  return runs;
}

}  // namespace pergola

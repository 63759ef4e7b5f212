// TOML as ConfigValue. The only source that sees the TOML library.
#include "config/value.hpp"

#include <fmt/core.h>

#include <toml++/toml.h>
#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

const std::string command_line = "--set";

/// Copies a node of the TOML library with its line. Dates are kept as such, because no key takes one.
ConfigValue convert(const toml::node& node, const std::string& source) {
  ConfigValue value;
  value.source = source;
  const auto line_of = [&](const toml::source_region& region) {
    return source == command_line ? 0 : static_cast<int>(region.begin.line);
  };
  value.line = line_of(node.source());
  if (const auto* table = node.as_table()) {
    ConfigValue::Table entries;
    for (const auto& [key, entry] : *table) {
      entries.push_back({std::string(key.str()), convert(entry, source)});
      // A table's own place is its header; a key's place is more useful than its value's.
      entries.back().value.line = line_of(key.source());
    }
    value.data = std::move(entries);
  } else if (const auto* array = node.as_array()) {
    ConfigValue::Array entries;
    for (const auto& entry : *array) entries.push_back(convert(entry, source));
    value.data = std::move(entries);
  } else if (const auto* flag = node.as_boolean()) {
    value.data = flag->get();
  } else if (const auto* integer = node.as_integer()) {
    value.data = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    value.data = real->get();
  } else if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else {
    value.data = ConfigValue::Date{};
  }
  return value;
}

/// No configuration has more levels, so recursive readers are safe.
constexpr int deepest_level = 32;

/// The line where `text` goes deeper than that, by brackets or by the dots of a key; 0: nowhere. Quoted text and
/// comments are passed over, multi-line text counts as several quoted texts.
int too_deep(std::string_view text) {
  int line = 1, brackets = 0, dots = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++line, dots = 0;
    if (c == '#') at = std::min(text.find('\n', at), text.size()) - 1;
    if (c == '"' || c == '\'') {
      for (++at; at < text.size() && text[at] != c && text[at] != '\n'; ++at)
        if (text[at] == '\\' && c == '"') ++at;
      if (at < text.size() && text[at] == '\n') --at;
    }
    if (c == '[' || c == '{') ++brackets, dots = 0;
    if (c == ']' || c == '}') brackets = std::max(0, brackets - 1);
    if (c == '=' || c == ',') dots = 0;
    if (c == '.') ++dots;
    if (brackets > deepest_level || dots >= deepest_level) return line;
  }
  return 0;
}

/// The value of "key=TEXT" where TEXT is one TOML value; nothing when it is not. Dates are left to be words.
bool parse_set_value(const std::string& text, ConfigValue& value) {
  if (too_deep(text) > 0) return false;
  try {
    const toml::table document = toml::parse("value = " + text);
    if (document.size() != 1) return false;
    value = convert(*document.get("value"), command_line);
  } catch (const toml::parse_error&) {
    return false;
  }
  return !value.get_if<ConfigValue::Date>();
}

}  // namespace

std::string ConfigValue::where() const { return line > 0 ? fmt::format("{}:{}", source, line) : source; }

/// Numbers and words as they are in TOML; tables and arrays by their kind only.
std::string ConfigValue::found() const {
  if (const auto* flag = get_if<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = get_if<std::int64_t>()) return std::to_string(*integer);
  if (const auto* real = get_if<double>()) return to_text(*real);
  if (const auto* text = get_if<std::string>()) return toml_string(*text);
  if (get_if<Table>()) return "a table";
  return get_if<Array>() ? "an array" : "a date";
}

const ConfigValue* find_in(const ConfigValue::Table& table, const std::string& name) {
  for (const auto& [key, value] : table)
    if (key == name) return &value;
  return nullptr;
}

/// The depth is checked first, because the library reads nested values recursively.
ConfigValue parse_toml(std::string_view text, const std::string& source) {
  if (const int line = too_deep(text); line > 0)
    throw Error(ErrorKind::input, fmt::format("{}:{}: expected at most {} levels of tables and arrays, found more",
                                              source, line, deepest_level));
  try {
    return convert(toml::parse(text), source);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::input,
                fmt::format("{}:{}: not valid TOML: {}", source, error.source().begin.line, error.description()));
  }
}

/// The right side is TOML if it can be, else a word: --set gravity.solver=tree needs no quotes.
std::pair<std::string, ConfigValue> parse_set(const std::string& text) {
  const auto equals = text.find('=');
  auto key = text.substr(0, equals);
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!key.empty() && is_space(key.back())) key.pop_back();
  while (!key.empty() && is_space(key.front())) key.erase(0, 1);
  if (equals == std::string::npos || key.empty())
    throw Error(ErrorKind::input, fmt::format("--set: expected key=value, found \"{}\"", text));
  const std::string right = text.substr(equals + 1);
  ConfigValue value;
  if (!parse_set_value(right, value)) {
    const auto first = right.find_first_not_of(" \t");
    if (first == std::string::npos || std::string_view("\"'[{").find(right[first]) != std::string_view::npos)
      throw Error(ErrorKind::input, fmt::format("--set: {}: expected a TOML value or a bare word, found {}", key,
                                                first == std::string::npos ? "nothing" : right));
    value.source = command_line;
    value.data = right;
  }
  return {key, value};
}

/// Escapes quotes, backslashes and control characters, as TOML asks.
std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace pergola
